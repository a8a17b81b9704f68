//! What carries the lines of a connection: pipes of a process, or pipes in memory.

use std::future::Future;
use std::io;

use bowline_wire::memory;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How much is read at once.
const READ_SIZE: usize = 64 * 1024;

/// Where the lines of the agent arrive.
pub trait Source: Send + 'static {
    /// Waits for bytes and appends them; returns 0 at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> impl Future<Output = io::Result<usize>> + Send;
}

/// Where the lines of the client go.
pub trait Sink: Send + 'static {
    /// Writes all bytes.
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// A [`Source`] or [`Sink`] from a reader or writer of tokio.
#[derive(Debug)]
pub struct Polled<Stream>(pub Stream);

impl<Reader: AsyncRead + Unpin + Send + 'static> Source for Polled<Reader> {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.reserve(READ_SIZE);
        self.0.read_buf(buffer).await
    }
}

impl<Writer: AsyncWrite + Unpin + Send + 'static> Sink for Polled<Writer> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }
}

impl Source for memory::Receiver {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.receive(buffer).await
    }
}

impl Sink for memory::Sender {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(bytes).await
    }
}
