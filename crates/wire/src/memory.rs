//! A bounded pipe in memory, and the pair of [`Input`] and [`Output`] that tests use in place of a process.
//!
//! The same pipe connects the stand-in threads with the main loop, so each end can be used both by a thread, which
//! blocks, and by a task, which awaits. Each end has one owner.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::stdio::{Input, Output, Sink, Source};

/// Creates an input and an output without a process, and the client that holds their other ends.
///
/// Each direction holds up to `capacity` bytes before its writer has to wait.
pub fn pair(capacity: usize) -> (Input, Output, Client) {
    let (to_agent, input) = pipe(capacity);
    let (output, from_agent) = pipe(capacity);
    let client = Client { sender: Sender { to_agent: Some(to_agent) }, receiver: Receiver { from_agent } };
    (Input::new(Source::Memory(input)), Output::new(Sink::Memory(output)), client)
}

/// The other ends of a [`pair`].
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    receiver: Receiver,
}

/// The end of a [`Client`] that sends. Dropping it ends the agent's input.
#[derive(Debug)]
pub struct Sender {
    to_agent: Option<Writer>,
}

/// The end of a [`Client`] that receives.
#[derive(Debug)]
pub struct Receiver {
    from_agent: Reader,
}

impl Client {
    /// Sends bytes, waiting for room as needed.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sender.send(bytes).await
    }

    /// Ends the agent's input.
    pub fn close(&mut self) {
        self.sender.to_agent = None;
    }

    /// Waits for output and appends it; returns 0 at its end.
    pub async fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.receiver.receive(buffer).await
    }

    /// Takes up to `at_most` bytes of the output without waiting.
    pub fn receive_now(&mut self, at_most: usize) -> Vec<u8> {
        self.receiver.from_agent.take(at_most)
    }

    /// Returns the two ends, so that different tasks can send and receive.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

impl Sender {
    /// Sends bytes, waiting for room as needed.
    pub async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let writer = self.to_agent.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        while !bytes.is_empty() {
            match writer.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => writer.writable().await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Receiver {
    /// Waits for output and appends it; returns 0 at its end.
    pub async fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.from_agent.read(buffer).await
    }
}

/// Creates a pipe that holds up to `capacity` bytes.
pub(crate) fn pipe(capacity: usize) -> (Writer, Reader) {
    let shared = Arc::new(Shared {
        capacity: capacity.max(1),
        state: Mutex::default(),
        changed: Condvar::new(),
        room: Notify::new(),
        arrival: Notify::new(),
    });
    (Writer { shared: Arc::clone(&shared) }, Reader { shared })
}

#[derive(Debug)]
struct Shared {
    capacity: usize,
    state: Mutex<State>,
    /// Wakes a blocked end.
    changed: Condvar,
    /// Wakes an awaiting writer.
    room: Notify,
    /// Wakes an awaiting reader.
    arrival: Notify,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    is_writer_gone: bool,
    is_reader_gone: bool,
    /// Why one end failed, for the other one to report.
    failure: Option<io::Error>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent after every statement, so a panic in the other thread cannot corrupt it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_reader(&self) {
        self.changed.notify_all();
        self.arrival.notify_one();
    }

    fn wake_writer(&self) {
        self.changed.notify_all();
        self.room.notify_one();
    }
}

/// The end that takes bytes in.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    /// Writes what fits.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        if state.is_reader_gone {
            return Err(state.failure.take().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(self.shared.capacity - state.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.bytes.extend_from_slice(&bytes[..count]);
        drop(state);
        self.shared.wake_reader();
        Ok(count)
    }

    /// Waits for room or for the reader to go.
    pub(crate) async fn writable(&mut self) {
        while !self.has_room() {
            self.shared.room.notified().await;
        }
    }

    /// Blocks until all bytes are written; returns whether there is still a reader.
    pub(crate) fn write_blocking(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut state = self.shared.lock();
                    while !state.is_reader_gone && state.bytes.len() >= self.shared.capacity {
                        state = self.shared.wait(state);
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Ends the stream, because of `failure` if given.
    pub(crate) fn close(&mut self, failure: Option<io::Error>) {
        let mut state = self.shared.lock();
        state.is_writer_gone = true;
        if failure.is_some() {
            state.failure = failure;
        }
        drop(state);
        self.shared.wake_reader();
    }

    /// Waits until the reader is gone and returns its failure, if any.
    pub(crate) async fn reader_gone(&mut self) -> io::Result<()> {
        while !self.shared.lock().is_reader_gone {
            self.shared.room.notified().await;
        }
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }

    fn has_room(&self) -> bool {
        let state = self.shared.lock();
        state.is_reader_gone || state.bytes.len() < self.shared.capacity
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close(None);
    }
}

/// The end that gives bytes out.
#[derive(Debug)]
pub(crate) struct Reader {
    shared: Arc<Shared>,
}

impl Reader {
    /// Waits for bytes and appends them; returns 0 once the writer is gone.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            if let Some(result) = self.try_read(buffer) {
                return result;
            }
            self.shared.arrival.notified().await;
        }
    }

    /// Blocks until there are bytes and appends them; returns 0 once the writer is gone.
    pub(crate) fn read_blocking(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            if let Some(result) = self.try_read(buffer) {
                return result;
            }
            let mut state = self.shared.lock();
            while state.bytes.is_empty() && !state.is_writer_gone {
                state = self.shared.wait(state);
            }
        }
    }

    /// Takes up to `at_most` available bytes.
    pub(crate) fn take(&mut self, at_most: usize) -> Vec<u8> {
        let mut state = self.shared.lock();
        let count = at_most.min(state.bytes.len());
        let taken = state.bytes.drain(..count).collect();
        drop(state);
        self.shared.wake_writer();
        taken
    }

    /// Stops reading because of an error that the writer should report.
    pub(crate) fn fail(&mut self, failure: io::Error) {
        let mut state = self.shared.lock();
        state.is_reader_gone = true;
        state.failure = Some(failure);
        drop(state);
        self.shared.wake_writer();
    }

    fn try_read(&mut self, buffer: &mut Vec<u8>) -> Option<io::Result<usize>> {
        let mut state = self.shared.lock();
        if state.bytes.is_empty() {
            return state.is_writer_gone.then(|| state.failure.take().map_or(Ok(0), Err));
        }
        let count = state.bytes.len();
        buffer.append(&mut state.bytes);
        drop(state);
        self.shared.wake_writer();
        Some(Ok(count))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.lock().is_reader_gone = true;
        self.shared.wake_writer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_pass_through_a_small_pipe_in_order() {
        let (mut input, _output, mut client) = pair(7);
        let sent: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let sending = async {
            client.send(&sent).await.unwrap();
            client.close();
        };
        let mut received = Vec::new();
        let receiving = async { while input.read(&mut received).await.unwrap() > 0 {} };
        tokio::join!(sending, receiving);
        assert_eq!(received, sent);
    }

    #[tokio::test]
    async fn client_that_left_breaks_the_pipe() {
        let (_input, mut output, client) = pair(7);
        drop(client);
        output.writable().await.unwrap();
        assert_eq!(output.try_write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
