//! Copies bytes between the client and the command, on a thread for each direction. What is copied is shown to the queue,
//! which never waits, and nothing else can hold it up.

use std::collections::VecDeque;
use std::io::{ErrorKind, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Error;
use crate::queue::{Item, Queue};
use crate::row::From;

/// How much is copied at a time.
const PIECE: usize = 64 * 1024;

/// How long a descriptor that another process has made non-blocking is left alone before it is tried again.
const GLANCE: Duration = Duration::from_millis(1);

/// How many lines of the page may wait for the command.
const MOST_PENDING: usize = 100;

const STACK: usize = 256 * 1024;

/// The command's stdin, which the client and the page write to.
#[derive(Debug)]
pub(crate) struct Input {
    queue: Arc<Queue>,
    pipe: Mutex<Pipe>,
    pending: Mutex<VecDeque<Vec<u8>>>,
    is_closing: AtomicBool,
}

#[derive(Debug)]
struct Pipe {
    /// Until it is closed.
    writer: Option<PipeWriter>,
    /// Whether the last byte was the end of a line, so that a line of the page may follow.
    is_between_lines: bool,
}

/// Why a line of the page was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The command's stdin is closed.
    Closed,
    /// Too many lines wait: the command does not read, or the client is within a line.
    Full,
}

impl Input {
    /// Returns the input for a pipe.
    pub fn new(writer: PipeWriter, queue: Arc<Queue>) -> Self {
        let pipe = Pipe { writer: Some(writer), is_between_lines: true };
        Self { queue, pipe: Mutex::new(pipe), pending: Mutex::default(), is_closing: AtomicBool::new(false) }
    }

    /// Takes a line of the page. It is written between two lines of the client, by whoever writes next.
    pub fn add_line(&self, mut line: Vec<u8>) -> Result<(), Refused> {
        match self.pipe.try_lock() {
            Ok(pipe) if pipe.writer.is_none() => return Err(Refused::Closed),
            _ => {}
        }
        let mut pending = lock(&self.pending);
        if pending.len() >= MOST_PENDING {
            return Err(Refused::Full);
        }
        line.push(b'\n');
        pending.push_back(line);
        Ok(())
    }

    /// Writes the lines of the page, unless somebody else is writing, who does it then. It may wait for the command.
    pub fn write_pending(&self) {
        while !lock(&self.pending).is_empty() {
            let mut pipe = match self.pipe.try_lock() {
                Ok(pipe) => pipe,
                Err(TryLockError::Poisoned(pipe)) => pipe.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            if !pipe.is_between_lines {
                return;
            }
            let Some(line) = lock(&self.pending).pop_front() else { return };
            // What the page sends to a command that has ended is lost, as the client's lines are.
            let _ = self.write(&mut pipe, From::Page, &line);
        }
    }

    /// Closes the pipe. If somebody is writing to a command that does not read, they close it afterwards.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        if let Ok(mut pipe) = self.pipe.try_lock() {
            pipe.writer = None;
        }
    }

    /// Passes on what the client has sent.
    fn pass_on(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut pipe = lock(&self.pipe);
        self.write(&mut pipe, From::Client, bytes)?;
        drop(pipe);
        self.write_pending();
        Ok(())
    }

    fn write(&self, pipe: &mut Pipe, from: From, bytes: &[u8]) -> std::io::Result<()> {
        let Some(writer) = &mut pipe.writer else { return Err(ErrorKind::BrokenPipe.into()) };
        // Before it is written, so that no answer is recorded before its command.
        self.queue.push_bytes(from, bytes);
        let written = writer.write_all(bytes);
        pipe.is_between_lines = bytes.last() == Some(&b'\n');
        if written.is_err() || self.is_closing.load(Ordering::SeqCst) {
            pipe.writer = None;
        }
        written
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on what the client sends until it ends, or the command does not take any more.
pub(crate) fn from_client(mut client: Box<dyn Read + Send>, input: Arc<Input>) -> Result<(), Error> {
    spawn("from client", move || {
        let mut piece = vec![0; PIECE];
        while let Some(count) = read(&mut client, &mut piece) {
            if input.pass_on(&piece[..count]).is_err() {
                break;
            }
        }
        input.close();
        input.queue.push(Item::End(From::Client));
    })
    .map(drop)
}

/// Passes on what the command writes until it ends. If nobody reads it, the command is told so as usual, by its pipe.
pub(crate) fn from_command(
    from: From,
    mut command: impl Read + Send + 'static,
    mut client: Option<Box<dyn Write + Send>>,
    queue: Arc<Queue>,
) -> Result<JoinHandle<()>, Error> {
    spawn("from command", move || {
        let mut piece = vec![0; PIECE];
        while let Some(count) = read(&mut command, &mut piece) {
            queue.push_bytes(from, &piece[..count]);
            let is_taken = client.as_mut().is_none_or(|client| write_all(client, &piece[..count]).is_ok());
            // A command whose errors nobody reads goes on; the page still shows them.
            if !is_taken && from == From::Stderr {
                client = None;
            } else if !is_taken {
                break;
            }
        }
        queue.push(Item::End(from));
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map_err(Error::Thread)
}

/// Reads some bytes. Nothing is returned at the end, and after an error, which ends a stream too.
fn read(stream: &mut impl Read, piece: &mut [u8]) -> Option<usize> {
    loop {
        match stream.read(piece) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(GLANCE),
            Err(_) => return None,
        }
    }
}

fn write_all(stream: &mut impl Write, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(GLANCE),
            Err(error) => return Err(error),
        }
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_page_go_between_lines_of_the_client() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let input = Input::new(writer, Arc::new(Queue::new()));
        input.pass_on(b"one\ntw").unwrap();
        input.add_line(b"page".to_vec()).unwrap();
        input.write_pending();
        input.pass_on(b"o\n").unwrap();
        input.add_line(b"last".to_vec()).unwrap();
        input.write_pending();
        input.close();
        assert_eq!(input.add_line(b"late".to_vec()), Err(Refused::Closed));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\npage\nlast\n");
    }

    #[test]
    fn lines_of_the_page_are_bounded() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let input = Input::new(writer, Arc::new(Queue::new()));
        input.pass_on(b"half").unwrap();
        for _ in 0..MOST_PENDING {
            input.add_line(b"x".to_vec()).unwrap();
        }
        assert_eq!(input.add_line(b"x".to_vec()), Err(Refused::Full));
    }
}
