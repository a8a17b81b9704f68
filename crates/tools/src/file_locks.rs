//! Calls that change the same file wait for one another, so that each sees what the one before it wrote. Calls on
//! different files do not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

type Gate = Arc<tokio::sync::Mutex<()>>;

/// The files that are being changed or waited for. It is one table for the whole process: several sessions may share it.
static GATES: LazyLock<Mutex<HashMap<PathBuf, Gate>>> = LazyLock::new(Mutex::default);

/// The right to change a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    // Fields are dropped in this order: the gate must be open before the place in the table is given up.
    _guard: OwnedMutexGuard<()>,
    _place: Place,
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
        // Only the table itself holds a gate that nobody uses; whoever waits holds it too.
        if gates.get(&self.path).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            gates.remove(&self.path);
        }
    }
}

/// Waits until no other call changes the file at `path`, which must be canonical.
pub(crate) async fn lock(path: &Path, cancel: &CancellationToken) -> Result<FileLock, Error> {
    let (place, gate) = Place::take(path);
    let guard = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Error::Aborted),
        guard = gate.lock_owned() => guard,
    };
    Ok(FileLock { _guard: guard, _place: place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(path: &Path) -> usize {
        usize::from(GATES.lock().unwrap().contains_key(path))
    }

    #[tokio::test]
    async fn one_waits_for_the_other_and_nothing_is_left() {
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
    async fn a_wait_can_be_cancelled_and_leaves_nothing() {
        let path = Path::new("/locks/cancelled");
        let cancel = CancellationToken::new();
        let first = lock(path, &cancel).await.unwrap();
        cancel.cancel();
        assert!(matches!(lock(path, &cancel).await, Err(Error::Aborted)));
        drop(first);
        assert_eq!(entries(path), 0);
    }
}
