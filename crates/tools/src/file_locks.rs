//! Calls that change the same file wait for one another, so that each sees what the previous one wrote. Calls on
//! different files run concurrently.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::builtin::{Call, uninterrupted};
use crate::error::Error;

type Gate = Arc<tokio::sync::Mutex<()>>;

/// The files that are being changed or waited for, in the whole process: several sessions may share it.
static GATES: LazyLock<Mutex<HashMap<PathBuf, Gate>>> = LazyLock::new(Mutex::default);

/// The right to change a file, held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    // Fields are dropped in this order: the gate must be open before the place in the table is released.
    _guard: OwnedMutexGuard<()>,
    place: Place,
}

impl FileLock {
    /// Returns the canonical path of the locked file.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }
}

/// A place in the table, which is also held while waiting; the last to leave removes the entry.
#[derive(Debug)]
struct Place {
    path: PathBuf,
}

impl Place {
    fn take(path: &Path) -> (Self, Gate) {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = Arc::clone(gates.entry(path.to_owned()).or_default());
        (Self { path: path.to_owned() }, gate)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        // A gate that only the table holds is unused: waiting calls hold it too.
        if gates.get(&self.path).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            gates.remove(&self.path);
        }
    }
}

/// Locks the file that `call` means by `given`. A call that was cancelled meanwhile is aborted.
pub(crate) async fn lock_for(call: Call, given: &str) -> Result<FileLock, Error> {
    let cancel = call.context.cancel.clone();
    let given = given.to_owned();
    let path = uninterrupted(move || call.resolve_links(&given)).await?;
    let lock = lock(&path, &cancel).await?;
    if cancel.is_cancelled() { Err(Error::Aborted) } else { Ok(lock) }
}

/// Waits until no other call changes the file at `path`, which must be canonical.
async fn lock(path: &Path, cancel: &CancellationToken) -> Result<FileLock, Error> {
    let (place, gate) = Place::take(path);
    let guard = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Error::Aborted),
        guard = gate.lock_owned() => guard,
    };
    Ok(FileLock { _guard: guard, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(path: &Path) -> usize {
        usize::from(GATES.lock().unwrap().contains_key(path))
    }

    #[tokio::test]
    async fn second_call_waits_and_the_table_is_empty_afterwards() {
        let path = Path::new("/locks/one");
        let cancel = CancellationToken::new();
        let first = lock(path, &cancel).await.unwrap();
        let waiting = tokio::spawn(async move { lock(path, &CancellationToken::new()).await.unwrap() });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let elsewhere = lock(Path::new("/locks/other"), &cancel).await.unwrap();
        drop(first);
        let second = waiting.await.unwrap();
        assert_eq!(entries(path), 1);
        drop((second, elsewhere));
        assert_eq!(entries(path), 0);
    }

    #[tokio::test]
    async fn cancelled_wait_leaves_no_entry() {
        let path = Path::new("/locks/cancelled");
        let cancel = CancellationToken::new();
        let first = lock(path, &cancel).await.unwrap();
        cancel.cancel();
        assert!(matches!(lock(path, &cancel).await, Err(Error::Aborted)));
        drop(first);
        assert_eq!(entries(path), 0);
    }
}
