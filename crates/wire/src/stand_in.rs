//! Threads that read or write what the runtime cannot poll, connected to the main loop by a pipe in memory.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use crate::KEPT_CAPACITY;
use crate::memory::{Reader, Writer, pipe};
use crate::stdio::READ_SIZE;

/// How many bytes may be in transit to or from a thread.
const CAPACITY: usize = 256 * 1024;

/// How long a thread sleeps before it retries on a terminal that another process has made non-blocking.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts a thread that reads a source that cannot be polled.
pub(crate) fn reader(mut source: impl Read + Send + 'static) -> io::Result<Reader> {
    let (mut writer, reader) = pipe(CAPACITY);
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
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(error) => return writer.close(Some(error)),
            }
        }
    })?;
    Ok(reader)
}

/// Starts a thread that writes to a sink that cannot be polled.
pub(crate) fn writer(mut sink: impl Write + Send + 'static) -> io::Result<Writer> {
    let (writer, mut reader) = pipe(CAPACITY);
    thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let mut buffer = Vec::new();
        while let Ok(1..) = reader.read_blocking(&mut buffer) {
            if let Err(error) = write_all(&mut sink, &buffer) {
                return reader.fail(error);
            }
            buffer.clear();
            buffer.shrink_to(KEPT_CAPACITY);
        }
    })?;
    Ok(writer)
}

/// Writes everything, even if another process has made the terminal non-blocking.
fn write_all(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::stdio::{Output, Sink};

    #[tokio::test]
    async fn reader_thread_reads_everything_and_reports_the_end() {
        let sent: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
        let mut reader = super::reader(io::Cursor::new(sent.clone())).unwrap();
        let mut received = Vec::new();
        while reader.read(&mut received).await.unwrap() > 0 {}
        assert!(received == sent);
    }

    /// Delays every write, and sends on what it received when it is flushed.
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
    async fn finish_waits_until_the_writer_thread_has_written_everything() {
        let (sender, receiver) = mpsc::channel();
        let writer = super::writer(SlowSink(Vec::new(), sender)).unwrap();
        let mut output = Output::new(Sink::StandIn(writer));
        let mut bytes = &*vec![b'x'; 1_000_000];
        while !bytes.is_empty() {
            output.writable().await.unwrap();
            bytes = &bytes[output.try_write(bytes).unwrap()..];
        }
        output.finish().await.unwrap();
        assert_eq!(receiver.try_iter().flatten().count(), 1_000_000);
    }

    #[tokio::test]
    async fn error_of_the_writer_thread_is_reported() {
        struct FullDisk;
        impl Write for FullDisk {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output::new(Sink::StandIn(super::writer(FullDisk).unwrap()));
        output.try_write(b"x").unwrap();
        assert_eq!(output.finish().await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
