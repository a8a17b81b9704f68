//! stdin and stdout, taken over: the protocol is reachable through [`Input`] and [`Output`] and through nothing else.
//!
//! Where stdin or stdout is a pipe or a socket, the runtime watches it. Anything else (a file, a terminal, a device, and
//! everything on Windows) cannot be watched, so a thread stands in and moves the bytes through a bounded pipe in memory.

use std::io::{self, IoSlice, Read, Write};
use std::thread;
use std::time::Duration;

use crate::KEPT_CAPACITY;
use crate::memory::{Reader, Writer, pipe};
#[cfg(unix)]
use crate::polled::Polled;

/// How much is read at once.
const READ_SIZE: usize = 64 * 1024;

/// How many bytes may be on their way to or from a stand-in thread.
const STAND_IN_CAPACITY: usize = 256 * 1024;

/// How long a stand-in thread rests when somebody else has made its terminal non-blocking.
const STAND_IN_PAUSE: Duration = Duration::from_millis(10);

/// The bytes that arrive.
#[derive(Debug)]
pub struct Input {
    source: Source,
}

#[derive(Debug)]
enum Source {
    #[cfg(unix)]
    Polled(Polled),
    Memory(Reader),
    Ended,
}

impl Input {
    pub(crate) fn from_memory(reader: Reader) -> Self {
        Self { source: Source::Memory(reader) }
    }

    /// Waits for bytes and appends them to `buffer`; returns 0 at the end of the input.
    ///
    /// Nothing is lost when this is cancelled: bytes move only after the wait.
    pub async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.source {
            #[cfg(unix)]
            Source::Polled(polled) => {
                buffer.reserve(READ_SIZE);
                polled.read(buffer).await
            }
            Source::Memory(reader) => reader.read(buffer).await,
            Source::Ended => Ok(0),
        }
    }

    /// Puts back the flags that other processes share, as dropping does. Nothing can be read afterwards.
    pub fn restore(&mut self) {
        self.source = Source::Ended;
    }
}

/// Where the bytes leave.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    #[cfg(unix)]
    Polled(Polled),
    Memory(Writer),
    /// The other end is a thread's, which may still be writing when we are done.
    StandIn(Writer),
    Closed,
}

impl Output {
    pub(crate) fn from_memory(writer: Writer) -> Self {
        Self { sink: Sink::Memory(writer) }
    }

    #[cfg(all(test, unix))]
    pub(crate) fn from_polled(polled: Polled) -> Self {
        Self { sink: Sink::Polled(polled) }
    }

    /// Writes what there is room for without waiting; `WouldBlock` says that there is none.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write_slices(&[IoSlice::new(bytes)])
    }

    /// Writes as much of the slices, one after the other, as there is room for without waiting.
    pub fn try_write_slices(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.sink {
            #[cfg(unix)]
            Sink::Polled(polled) => polled.try_write(slices),
            // The next ones are for the next call, so that an error is never met after a success.
            Sink::Memory(writer) | Sink::StandIn(writer) => {
                writer.try_write(slices.first().map_or(&[], |slice| &**slice))
            }
            Sink::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until there is room, or until a write would fail.
    pub async fn writable(&mut self) -> io::Result<()> {
        match &mut self.sink {
            #[cfg(unix)]
            Sink::Polled(polled) => polled.writable().await?,
            Sink::Memory(writer) | Sink::StandIn(writer) => writer.writable().await,
            Sink::Closed => {}
        }
        Ok(())
    }

    /// Waits until the reader has gone, and returns the error that a write would meet. Where only a write can tell,
    /// waits for ever.
    pub async fn reader_gone(&mut self) -> io::Result<()> {
        match &mut self.sink {
            #[cfg(unix)]
            Sink::Polled(polled) => polled.reader_gone().await?,
            Sink::Memory(writer) | Sink::StandIn(writer) => writer.reader_gone().await?,
            Sink::Closed => {}
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// Closes the output. Where a thread stands in, waits until it has written everything.
    ///
    /// Drain the outbox first: this does not know what is still queued there.
    pub async fn finish(&mut self) -> io::Result<()> {
        if let Sink::StandIn(mut writer) = std::mem::replace(&mut self.sink, Sink::Closed) {
            writer.close(None);
            return writer.reader_gone().await;
        }
        Ok(())
    }

    /// Puts back the flags that other processes share, as dropping does. Nothing can be written afterwards.
    pub fn restore(&mut self) {
        self.sink = Sink::Closed;
    }
}

/// Takes stdin and stdout away from the rest of the process.
///
/// Afterwards file descriptor 0 is `/dev/null` and file descriptor 1 is stderr, so neither a stray `println!` nor a
/// child can reach the protocol. Call it once, before anything else uses them, inside a tokio runtime.
///
/// Rust's runtime opens `/dev/null` in place of a stdin or stdout that is closed when the process starts, so a closed
/// stdin reads as ended. Where that has not happened, stdin reads as ended all the same, and a closed stdout is an
/// error.
#[cfg(unix)]
pub fn take_over() -> io::Result<(Input, Output)> {
    use rustix::fs::{Mode, OFlags, fcntl_getfl, open};
    use tokio::io::Interest;

    let output = take_private(rustix::stdio::stdout()).map_err(|error| {
        io::Error::new(error.kind(), format!("stdout cannot be used for the protocol: {error}"))
    })?;
    let input = match take_private(rustix::stdio::stdin()) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BADF.raw_os_error()) => None,
        input => Some(input?),
    };
    // Both flags are read before either is changed: stdin and stdout may be one socket.
    let output_flags = fcntl_getfl(&output)?;
    let input_flags = input.as_ref().map(fcntl_getfl).transpose()?;

    rustix::stdio::dup2_stdin(open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;

    let source = match (input, input_flags) {
        (Some(input), Some(flags)) if is_pollable(&input)? => {
            Source::Polled(Polled::new(input, flags, Interest::READABLE)?)
        }
        (Some(input), _) => Source::Memory(stand_in_reader(std::fs::File::from(input))?),
        (None, _) => Source::Ended,
    };
    let sink = if is_pollable(&output)? {
        Sink::Polled(Polled::new(output, output_flags, Interest::WRITABLE)?)
    } else {
        Sink::StandIn(stand_in_writer(std::fs::File::from(output))?)
    };
    Ok((Input { source }, Output { sink }))
}

/// Takes stdin and stdout away from the rest of the process, as far as the system allows.
#[cfg(not(unix))]
pub fn take_over() -> io::Result<(Input, Output)> {
    let source = Source::Memory(stand_in_reader(io::stdin())?);
    let sink = Sink::StandIn(stand_in_writer(io::stdout())?);
    Ok((Input { source }, Output { sink }))
}

/// Duplicates a descriptor above the three standard ones, closed in children.
#[cfg(unix)]
fn take_private(descriptor: std::os::fd::BorrowedFd<'_>) -> io::Result<std::os::fd::OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?)
}

/// Returns whether the runtime can watch this.
#[cfg(unix)]
fn is_pollable(descriptor: &std::os::fd::OwnedFd) -> io::Result<bool> {
    use rustix::fs::{FileType, fstat};
    let kind = FileType::from_raw_mode(fstat(descriptor)?.st_mode);
    Ok(matches!(kind, FileType::Fifo | FileType::Socket))
}

/// Starts a thread that reads what cannot be watched.
fn stand_in_reader(mut source: impl Read + Send + 'static) -> io::Result<Reader> {
    let (mut writer, reader) = pipe(STAND_IN_CAPACITY);
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    if !writer.write_blocking(&buffer[..count]) {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(STAND_IN_PAUSE),
                Err(error) => return writer.close(Some(error)),
            }
        }
    })?;
    Ok(reader)
}

/// Starts a thread that writes to what cannot be watched.
fn stand_in_writer(mut sink: impl Write + Send + 'static) -> io::Result<Writer> {
    let (writer, mut reader) = pipe(STAND_IN_CAPACITY);
    thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let mut buffer = Vec::new();
        while let Ok(1..) = reader.read_blocking(&mut buffer) {
            if let Err(error) = write_patiently(&mut sink, &buffer) {
                return reader.fail(error);
            }
            buffer.clear();
            buffer.shrink_to(KEPT_CAPACITY);
        }
    })?;
    Ok(writer)
}

/// Writes everything, also where somebody else has made the terminal non-blocking.
fn write_patiently(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(STAND_IN_PAUSE),
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_stand_in_reads_everything_and_reports_the_end() {
        let sent: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
        let mut reader = stand_in_reader(io::Cursor::new(sent.clone())).unwrap();
        let mut received = Vec::new();
        while reader.read(&mut received).await.unwrap() > 0 {}
        assert!(received == sent);
    }

    /// Takes a moment for every write, and tells what it got when it is dropped.
    struct SlowSink(Vec<u8>, mpsc::Sender<Vec<u8>>);

    impl Write for SlowSink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(1));
            let count = bytes.len().min(10_000);
            self.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.1.send(std::mem::take(&mut self.0)).map_err(io::Error::other)
        }
    }

    #[tokio::test]
    async fn finishing_waits_until_the_stand_in_has_written_everything() {
        let (sender, receiver) = mpsc::channel();
        let writer = stand_in_writer(SlowSink(Vec::new(), sender)).unwrap();
        let mut output = Output { sink: Sink::StandIn(writer) };
        let mut bytes = &*vec![b'x'; 1_000_000];
        while !bytes.is_empty() {
            output.writable().await.unwrap();
            bytes = &bytes[output.try_write(bytes).unwrap()..];
        }
        output.finish().await.unwrap();
        assert_eq!(receiver.try_iter().flatten().count(), 1_000_000);
    }

    #[tokio::test]
    async fn an_error_of_a_stand_in_is_reported() {
        struct FullDisk;
        impl Write for FullDisk {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output { sink: Sink::StandIn(stand_in_writer(FullDisk).unwrap()) };
        output.try_write(b"x").unwrap();
        assert_eq!(output.finish().await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
