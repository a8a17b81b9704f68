//! The two ends of the protocol, whatever is behind them.
//!
//! The runtime polls a pipe or a socket. It cannot poll anything else (a file, a terminal, a device, and everything on
//! Windows), so a stand-in thread moves those bytes through a bounded pipe in memory.

use std::io::{self, IoSlice};

use crate::memory::{Reader, Writer};
use crate::polled::Polled;

/// How much is read at once.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// Where bytes arrive.
#[derive(Debug)]
pub struct Input {
    source: Source,
}

#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "stand-in threads serve everything there"))]
pub(crate) enum Source {
    Polled(Polled),
    Memory(Reader),
    Ended,
}

impl Input {
    pub(crate) fn new(source: Source) -> Self {
        Self { source }
    }

    /// Waits for bytes and appends them to `buffer`; returns 0 at the end of the input.
    ///
    /// Cancel-safe: bytes move only after the wait.
    pub async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.source {
            Source::Polled(polled) => {
                buffer.reserve(READ_SIZE);
                polled.read(buffer).await
            }
            Source::Memory(reader) => reader.read(buffer).await,
            Source::Ended => Ok(0),
        }
    }
}

/// Where the bytes leave.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
}

#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "stand-in threads serve everything there"))]
pub(crate) enum Sink {
    Polled(Polled),
    Memory(Writer),
    /// The other end belongs to a thread, which may still be writing when we are done.
    StandIn(Writer),
    Closed,
}

impl Output {
    pub(crate) fn new(sink: Sink) -> Self {
        Self { sink }
    }

    /// Writes what fits without waiting; `WouldBlock` if nothing does.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write_slices(&[IoSlice::new(bytes)])
    }

    /// Writes as much of the slices, in order, as fits without waiting.
    pub fn try_write_slices(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Polled(polled) => polled.try_write(slices),
            // The other slices are left to the next call, so that an error cannot follow a partial success.
            Sink::Memory(writer) | Sink::StandIn(writer) => {
                writer.try_write(slices.first().map_or(&[], |slice| &**slice))
            }
            Sink::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until there is room or a write would fail.
    pub async fn writable(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Polled(polled) => polled.writable().await?,
            Sink::Memory(writer) | Sink::StandIn(writer) => writer.writable().await,
            Sink::Closed => {}
        }
        Ok(())
    }

    /// Waits until the reader is gone, and returns the error that a write would give. Waits forever where only a write
    /// can tell.
    pub async fn reader_gone(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Polled(polled) => polled.reader_gone().await?,
            Sink::Memory(writer) | Sink::StandIn(writer) => writer.reader_gone().await?,
            Sink::Closed => {}
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// Closes the output. Waits until a stand-in thread has written everything.
    ///
    /// Drain the outbox first: records queued there are not written.
    pub async fn finish(&mut self) -> io::Result<()> {
        if let Sink::StandIn(mut writer) = std::mem::replace(&mut self.sink, Sink::Closed) {
            writer.close(None);
            return writer.reader_gone().await;
        }
        Ok(())
    }
}
