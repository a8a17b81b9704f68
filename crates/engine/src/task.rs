//! Work that runs beside the engine and dies with whoever holds it.

use std::future::Future;

/// A spawned task that is cancelled when this is dropped.
#[derive(Debug)]
pub(crate) struct Task(tokio::task::JoinHandle<()>);

impl Task {
    /// Starts `work` on the current runtime.
    pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
