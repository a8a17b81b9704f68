//! A pipe or a socket that the runtime polls, so that a round trip wakes no other thread.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor that never blocks. Dropping it restores its flags.
#[derive(Debug)]
pub(crate) struct Polled {
    descriptor: AsyncFd<OwnedFd>,
    /// The flags to restore, if they are shared with other processes and had to be changed.
    shared_flags: Option<OFlags>,
}

impl Polled {
    /// Makes a pipe or a socket non-blocking and registers it with the runtime.
    ///
    /// `flags` are its original flags. They belong to the open file description, not to the descriptor: if stdout and
    /// stderr are one pipe, a non-blocking stdout would make writes to stderr fail, here and in child processes. So a
    /// pipe is opened a second time, which gives it separate flags; a socket cannot be.
    #[expect(
        deprecated,
        reason = "the replacement is unsafe; an `OwnedFd` keeps the promise that it asks for"
    )]
    pub(crate) fn new(descriptor: OwnedFd, flags: OFlags, interest: Interest) -> io::Result<Self> {
        if let Some(own) = open_again(&descriptor, flags) {
            return Ok(Self { descriptor: AsyncFd::with_interest(own, interest)?, shared_flags: None });
        }
        rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        let shared_flags = (!flags.contains(OFlags::NONBLOCK)).then_some(flags);
        match AsyncFd::try_with_interest(descriptor, interest) {
            Ok(descriptor) => Ok(Self { descriptor, shared_flags }),
            Err(error) => {
                let (descriptor, error) = error.into_parts();
                rustix::fs::fcntl_setfl(&descriptor, flags)?;
                Err(error)
            }
        }
    }

    /// Waits for bytes and appends them; returns 0 at the end.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            let mut guard = self.descriptor.readable().await?;
            let room = buffer.capacity() - buffer.len();
            match rustix::io::read(self.descriptor.get_ref(), spare_capacity(buffer)) {
                Ok(count) => {
                    // A short read has emptied the pipe. epoll reports the next arrival, so there is no need to read
                    // until `AGAIN`. An end that epoll has reported stays reported.
                    if count < room && count > 0 && cfg!(target_os = "linux") {
                        guard.clear_ready();
                    }
                    return Ok(count);
                }
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes what fits.
    pub(crate) fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match write(self.descriptor.get_ref(), slices) {
            // The runtime must learn that the output is full, which takes an attempt made through it. The first
            // attempt bypasses it because it assumes no room until it has polled once.
            Err(rustix::io::Errno::AGAIN) => {
                self.descriptor.try_io(Interest::WRITABLE, |descriptor| Ok(write(descriptor, slices)?))
            }
            result => Ok(result?),
        }
    }

    /// Waits for room or for the reader to go.
    pub(crate) async fn writable(&mut self) -> io::Result<()> {
        self.descriptor.writable().await?.retain_ready();
        Ok(())
    }

    /// Waits until the reader of a pipe is gone. A socket reveals that only on a write.
    pub(crate) async fn reader_gone(&mut self) -> io::Result<()> {
        self.descriptor.ready(Interest::ERROR).await?.retain_ready();
        Ok(())
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        if let Some(flags) = self.shared_flags {
            // A failure cannot be reported from here, and there is nothing else to try.
            let _ = rustix::fs::fcntl_setfl(self.descriptor.get_ref(), flags);
        }
    }
}

fn write(descriptor: &OwnedFd, slices: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
    match slices {
        [bytes] => rustix::io::write(descriptor, bytes),
        _ => rustix::io::writev(descriptor, slices),
    }
}

/// Opens a pipe a second time, non-blocking; `None` if the system does not allow it.
fn open_again(descriptor: &OwnedFd, flags: OFlags) -> Option<OwnedFd> {
    let access = flags & OFlags::ACCMODE;
    if !cfg!(target_os = "linux") || access == OFlags::RDWR {
        return None;
    }
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    rustix::fs::open(path, access | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::outbox::{Outbox, Record};
    use crate::stdio::{Output, Sink};

    fn flags(descriptor: impl std::os::fd::AsFd) -> OFlags {
        rustix::fs::fcntl_getfl(descriptor).unwrap()
    }

    #[tokio::test]
    async fn pipe_gets_separate_flags() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let shared = (reader.try_clone().unwrap(), writer.try_clone().unwrap());
        let (reader_flags, writer_flags) = (flags(&reader), flags(&writer));
        let mut reader = Polled::new(reader, reader_flags, Interest::READABLE).unwrap();
        let mut writer = Polled::new(writer, writer_flags, Interest::WRITABLE).unwrap();
        assert_eq!((flags(&shared.0), flags(&shared.1)), (reader_flags, writer_flags));
        drop(shared);
        assert_eq!(writer.try_write(&[IoSlice::new(b"hel"), IoSlice::new(b"lo")]).unwrap(), 5);
        drop(writer);
        let mut buffer = Vec::with_capacity(100);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 5);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 0);
        assert_eq!(buffer, b"hello");
    }

    #[tokio::test]
    async fn flags_of_a_socket_are_restored() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let descriptor = OwnedFd::from(ours.try_clone().unwrap());
        let before = flags(&ours);
        let polled = Polled::new(descriptor, before, Interest::READABLE).unwrap();
        assert!(flags(&ours).contains(OFlags::NONBLOCK));
        drop(polled);
        assert_eq!(flags(&ours), before);
    }

    #[tokio::test]
    async fn end_that_arrives_with_the_last_bytes_is_seen() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let reader_flags = flags(&reader);
        let mut reader = Polled::new(reader, reader_flags, Interest::READABLE).unwrap();
        for _ in 0..3 {
            rustix::io::write(&writer, b"a").unwrap();
            let mut buffer = Vec::with_capacity(100);
            assert_eq!(reader.read(&mut buffer).await.unwrap(), 1);
        }
        rustix::io::write(&writer, b"b").unwrap();
        drop(writer);
        let mut buffer = Vec::with_capacity(100);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 1);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn write_to_a_reader_that_left_is_an_error() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let writer_flags = flags(&writer);
        let mut writer = Polled::new(writer, writer_flags, Interest::WRITABLE).unwrap();
        drop(reader);
        writer.writable().await.unwrap();
        assert_eq!(writer.try_write(&[IoSlice::new(b"x")]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn leaving_reader_is_noticed_without_a_write() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let writer_flags = flags(&writer);
        let mut output =
            Output::new(Sink::Polled(Polled::new(writer, writer_flags, Interest::WRITABLE).unwrap()));
        assert_eq!(output.try_write(b"x").unwrap(), 1);
        let moment = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(moment, output.reader_gone()).await.is_err());
        drop(reader);
        assert_eq!(output.reader_gone().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_hundred_megabytes_pass_through_a_pipe_with_a_slow_reader() {
        const LENGTH: usize = 100 * 1024 * 1024;
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let writer_flags = flags(&writer);
        let mut output =
            Output::new(Sink::Polled(Polled::new(writer, writer_flags, Interest::WRITABLE).unwrap()));
        let counting = std::thread::spawn(move || {
            let mut received = Vec::new();
            std::fs::File::from(reader).read_to_end(&mut received).unwrap();
            received.len()
        });
        let mut outbox = Outbox::default();
        outbox.push(Record::Plain(vec![b'x'; LENGTH]));
        outbox.push(Record::Plain(b"end".to_vec()));
        while !outbox.is_empty() {
            outbox.drain(&mut output).await.unwrap();
        }
        output.finish().await.unwrap();
        assert_eq!(counting.join().unwrap(), LENGTH + 5);
    }
}
