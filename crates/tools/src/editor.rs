//! Files that the client shows: what it has of a file that was not saved is asked for before the file is changed, and the
//! change goes through it, so that the user can review it.
//!
//! The disk comes first. What the client has is used only if it is neither what the disk has nor what the session has seen
//! there before, in which case the client has not noticed a change yet. Whatever the client does, the file on disk has the
//! change at the end.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::atomic_file;
use crate::builtin::uninterrupted;
use crate::error::Error;
use crate::file_locks::FileLock;
use crate::tool::BoxFuture;

/// The largest text that goes through a client.
pub(crate) const LONGEST_TEXT: usize = 8 << 20;

/// Reads and writes files by way of the client. Paths are canonical.
pub trait Editor: Debug + Send + Sync {
    /// Tells whether changes of this file go through the client.
    fn serves(&self, path: &Path) -> bool;

    /// Returns what the client has of a file, saved or not; `None` if it has nothing, or does not say.
    fn read(&self, path: &Path) -> BoxFuture<'static, Option<String>>;

    /// Has the client write and save a file.
    fn write(&self, path: &Path, text: String) -> BoxFuture<'static, Result<(), EditorFailure>>;

    /// Notes what the session has seen of a file, or written to it.
    fn saw(&self, path: &Path, text: &str);

    /// Tells whether this is what the session has seen of the file last.
    fn has_seen(&self, path: &Path, text: &str) -> bool;
}

/// Why a client did not write a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorFailure {
    /// The call is not wanted any more.
    Aborted,
    /// The client refused or did not answer.
    Failed(String),
}

/// A file that is changed by way of the client. Nobody else changes it meanwhile, but for those outside of bowline.
pub(crate) struct OpenFile {
    pub editor: Arc<dyn Editor>,
    pub lock: Arc<FileLock>,
    pub spare: Option<PathBuf>,
}

/// How a change arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// What the file has now: a client may format what it saves.
    pub text: String,
    /// Why it did not go through the client, if it did not.
    pub refused: Option<String>,
}

impl OpenFile {
    /// Returns the file, if its changes go through the client.
    pub fn of(
        editor: Option<Arc<dyn Editor>>,
        lock: FileLock,
        spare: Option<PathBuf>,
    ) -> Result<Self, FileLock> {
        match editor.filter(|editor| editor.serves(lock.path())) {
            Some(editor) => Ok(Self { editor, lock: Arc::new(lock), spare }),
            None => Err(lock),
        }
    }

    /// Returns what the client has of the file if that was not saved, with the line ends of the disk.
    pub async fn unsaved(&self, disk: &str) -> Option<String> {
        let text = self.editor.read(self.lock.path()).await?;
        let is_plain = |text: &str| !text.contains('\r');
        let text = if is_plain(&text) && !is_plain(disk) { text.replace('\n', "\r\n") } else { text };
        let is_known = text == disk
            || text.replace("\r\n", "\n") == disk.replace("\r\n", "\n")
            || self.editor.has_seen(self.lock.path(), &text);
        (!is_known).then_some(text)
    }

    /// Writes the file by way of the client, or else directly. `disk` is what was there before, if anything.
    pub async fn write(&self, disk: Option<&str>, text: String) -> Result<Written, Error> {
        let path = self.lock.path();
        let answer = if text.len() > LONGEST_TEXT {
            Err(EditorFailure::Failed("the file is too large".to_owned()))
        } else {
            self.editor.write(path, text.clone()).await
        };
        let refused = match answer {
            Ok(()) => None,
            Err(EditorFailure::Aborted) => return Err(Error::Aborted),
            Err(EditorFailure::Failed(reason)) => Some(reason),
        };
        let (lock, disk, spare) = (Arc::clone(&self.lock), disk.map(ToOwned::to_owned), self.spare.clone());
        let is_refused = refused.is_some();
        let text =
            uninterrupted(move || settle(lock.path(), disk.as_deref(), text, is_refused, spare.as_deref()))
                .await?;
        self.editor.saw(path, &text);
        Ok(Written { text, refused })
    }
}

/// Returns what the file has after the client wrote it. If it did not arrive on disk, it is written there.
fn settle(
    path: &Path,
    before: Option<&str>,
    text: String,
    is_refused: bool,
    spare: Option<&Path>,
) -> Result<String, Error> {
    let now = bowline_files::read_text(path, 2 * LONGEST_TEXT as u64).ok();
    if let Some(now) = now
        && !is_refused
        && before != Some(now.as_str())
    {
        return Ok(now);
    }
    let shown = path.display().to_string();
    let existing =
        atomic_file::existing(path).map_err(|error| Error::opening("write", &shown, path, error))?;
    atomic_file::replace(path, existing.as_ref(), text.as_bytes(), spare)
        .map_err(Error::file("write", &shown))?;
    Ok(text)
}
