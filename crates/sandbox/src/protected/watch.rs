//! Looking after each call, without holding calls up.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_core::sandbox::ProtectedChange;

use super::Protected;
use crate::git_folders::GitFolders;

/// How long the next search waits after one, so that many short commands do not cost a search each.
const PAUSE: Duration = Duration::from_secs(1);

/// How often is looked after the last command, which may have left processes in the background.
const LOOKS_AFTER: usize = 60;

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
    /// Whether the keeper has ended. What changes from then on is not its doing.
    is_over: bool,
}

impl Watch {
    pub fn new(protected: Protected) -> Self {
        let watched = Watched {
            protected,
            unreported: Vec::new(),
            is_searching: false,
            is_due: false,
            ran_commands: false,
            is_over: false,
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
            let mut quiet = 0;
            while let Some(is_due) = next_look(&watched, quiet < LOOKS_AFTER) {
                quiet = if is_due { 0 } else { quiet + 1 };
                let looked = Arc::clone(&watched);
                let _ = tokio::task::spawn_blocking(move || look(&looked, is_due)).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
}

impl Drop for Watch {
    /// Looks once more: a process in the background may have changed something since the last call.
    fn drop(&mut self) {
        let mut watched = lock(&self.0);
        watched.is_over = true;
        if watched.ran_commands {
            drop(watched);
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

/// Returns whether a search for repositories is due, or nothing if nobody has to look any more.
fn next_look(watched: &Mutex<Watched>, goes_on: bool) -> Option<bool> {
    let mut watched = lock(watched);
    let is_due = std::mem::take(&mut watched.is_due);
    watched.is_searching = (is_due || goes_on) && !watched.is_over;
    watched.is_searching.then_some(is_due)
}

/// Looks at what processes in the background may have done.
fn look(watched: &Mutex<Watched>, searches: bool) {
    if searches {
        look_for_new(watched);
    }
    let mut watched = lock(watched);
    if !watched.is_over && watched.protected.is_changed() {
        let changes = watched.protected.put_back();
        watched.unreported.extend(changes);
    }
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
