//! Looking after each call, without holding calls up.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_core::sandbox::ProtectedChange;

use super::Protected;
use crate::git_folders::GitFolders;

/// How long the next search waits after one, so that many short commands do not cost a search each.
const PAUSE: Duration = Duration::from_secs(1);

/// The protected paths of a keeper, looked at after each call.
#[derive(Debug)]
pub(crate) struct Watch(Arc<Mutex<Watched>>);

#[derive(Debug)]
struct Watched {
    protected: Protected,
    /// What was put back and has not been reported yet.
    unreported: Vec<ProtectedChange>,
    /// Whether a search for repositories is running, and whether another is due after it.
    is_searching: bool,
    is_due: bool,
    /// Whether there may be processes in the background.
    ran_commands: bool,
}

impl Watch {
    pub fn new(protected: Protected) -> Self {
        let watched = Watched {
            protected,
            unreported: Vec::new(),
            is_searching: false,
            is_due: false,
            ran_commands: false,
        };
        Self(Arc::new(Mutex::new(watched)))
    }

    /// Lets files that the user has allowed be changed until the result is dropped.
    pub fn expect(&self, files: &[PathBuf]) -> Expected {
        lock(&self.0).protected.expect(files);
        Expected { watched: Arc::clone(&self.0), files: files.to_vec() }
    }

    /// Puts back what a call has changed, and returns what that was. A command may have made a repository; that is looked
    /// for in the background, and what is found is returned after a later call.
    pub async fn after_call(&self, was_command: bool) -> Vec<ProtectedChange> {
        if lock(&self.0).protected.is_changed() {
            let watched = Arc::clone(&self.0);
            let put_back = tokio::task::spawn_blocking(move || {
                let mut watched = lock(&watched);
                let changes = watched.protected.put_back();
                watched.unreported.extend(changes);
            });
            let _ = put_back.await;
        }
        if was_command {
            self.search();
        }
        std::mem::take(&mut lock(&self.0).unreported)
    }

    /// Returns a protected path that could not be put back, after one more try.
    pub async fn stuck(&self) -> Option<PathBuf> {
        lock(&self.0).protected.stuck()?;
        let watched = Arc::clone(&self.0);
        let tried = tokio::task::spawn_blocking(move || {
            let mut watched = lock(&watched);
            let changes = watched.protected.put_back();
            watched.unreported.extend(changes);
            watched.protected.stuck().map(Path::to_owned)
        });
        tried.await.ok().flatten()
    }

    /// Looks for new repositories in the background.
    fn search(&self) {
        let mut watched = lock(&self.0);
        watched.ran_commands = true;
        watched.is_due = true;
        if watched.is_searching {
            return;
        }
        watched.is_searching = true;
        drop(watched);
        let watched = Arc::clone(&self.0);
        tokio::spawn(async move {
            while start_search(&watched) {
                let searched = Arc::clone(&watched);
                let _ = tokio::task::spawn_blocking(move || look_for_new(&searched)).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
}

impl Drop for Watch {
    /// Looks once more: a process in the background may have changed something since the last call.
    fn drop(&mut self) {
        if lock(&self.0).ran_commands {
            look_for_new(&self.0);
            lock(&self.0).protected.put_back();
        }
    }
}

/// Files that a call may change because the user has allowed it. Dropped when the call has ended.
#[derive(Debug)]
pub(crate) struct Expected {
    watched: Arc<Mutex<Watched>>,
    files: Vec<PathBuf>,
}

impl Drop for Expected {
    fn drop(&mut self) {
        lock(&self.watched).protected.accept(&self.files);
    }
}

/// Tells whether a search is due, and notes that it starts or that there is none any more.
fn start_search(watched: &Mutex<Watched>) -> bool {
    let mut watched = lock(watched);
    let is_due = std::mem::take(&mut watched.is_due);
    watched.is_searching = is_due;
    is_due
}

/// Looks for new repositories. Calls do not wait for it.
fn look_for_new(watched: &Mutex<Watched>) {
    let roots = lock(watched).protected.roots().to_vec();
    for root in roots {
        let found = GitFolders::find(&root);
        let mut watched = lock(watched);
        let changes = watched.protected.take_found(&root, found);
        watched.unreported.extend(changes);
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}
