//! The files that a client shows, as the file tools see them: they are read and written by way of the session.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bowline_core::host::{ClientFiles, HostWork, UriResult};
use bowline_tools::{BoxFuture, Editor, EditorFailure};

use crate::host::{HostCallEnd, HostLink};

/// How long a client may take to read or write a file.
const LIMIT: Duration = Duration::from_secs(10);

/// Of how many files it is remembered what the session has seen. Of others it is not known that the client lags.
const MOST_SEEN: usize = 10_000;

/// The files below the folder of a session, which the client reads and writes.
#[derive(Debug)]
pub(crate) struct ClientEditor {
    files: ClientFiles,
    link: HostLink,
    /// The folder of the session as the client named it.
    folder: PathBuf,
    /// The same folder with all links followed.
    real_folder: PathBuf,
    /// What the session has seen of each file last.
    seen: Mutex<HashMap<PathBuf, u64>>,
}

impl ClientEditor {
    pub fn new(files: ClientFiles, link: HostLink, folder: PathBuf) -> Self {
        let real_folder = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        Self { files, link, folder, real_folder, seen: Mutex::default() }
    }

    /// Returns a path as the client knows it.
    fn known_as(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.real_folder).map_or_else(|_| path.to_owned(), |rest| self.folder.join(rest))
    }
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Editor for ClientEditor {
    fn serves(&self, path: &Path) -> bool {
        path.starts_with(&self.real_folder)
    }

    fn read(&self, path: &Path) -> BoxFuture<'static, Option<String>> {
        if !self.files.reads {
            return Box::pin(std::future::ready(None));
        }
        let (link, work) = (self.link.clone(), HostWork::ReadFile { path: self.known_as(path) });
        Box::pin(async move {
            match link.ask(work, LIMIT).await {
                HostCallEnd::Resolved(UriResult { is_error: false, content, .. }) => content,
                _ => None,
            }
        })
    }

    fn write(&self, path: &Path, text: String) -> BoxFuture<'static, Result<(), EditorFailure>> {
        let (link, path) = (self.link.clone(), self.known_as(path));
        Box::pin(async move {
            let failed = |reason: String| Err(EditorFailure::Failed(reason));
            match link.ask(HostWork::WriteFile { path, content: text }, LIMIT).await {
                HostCallEnd::Resolved(UriResult { is_error: false, .. }) => Ok(()),
                HostCallEnd::Resolved(UriResult { error, .. }) => {
                    failed(error.unwrap_or_else(|| "the client refused".to_owned()))
                }
                HostCallEnd::TimedOut(limit) => {
                    failed(format!("the client did not answer within {} s", limit.as_secs()))
                }
                HostCallEnd::Invalid(problem) => failed(problem),
                HostCallEnd::Aborted | HostCallEnd::Done { .. } => Err(EditorFailure::Aborted),
            }
        })
    }

    fn saw(&self, path: &Path, text: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_SEEN && !seen.contains_key(path) {
            seen.clear();
        }
        seen.insert(path.to_owned(), fingerprint(text));
    }

    fn has_seen(&self, path: &Path, text: &str) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(path) == Some(&fingerprint(text))
    }
}
