//! The files that keep long output of commands: how they are named, and when they are removed.
//!
//! They are in the folder for temporary files, whose other files are not ours. A name contains the session's id, so that
//! the files can be removed with the session; what no one removes goes after a week.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

use crate::platform;
use crate::toolbox::Options;

const PREFIX: &str = "bowline-bash-";
const SUFFIX: &str = ".log";

/// The length of the random end of a name.
const RANDOM: usize = 16;

/// The most of a session's id that a name has.
const LONGEST_ID: usize = 64;

/// How long a log is kept.
const KEPT_FOR: Duration = Duration::from_hours(24 * 7);

/// How often old logs are looked for.
const CLEANING_INTERVAL: Duration = Duration::from_hours(1);

/// Where the log of a command goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogPlace {
    /// Without a directory there is no log.
    pub directory: Option<PathBuf>,
    pub session_id: Option<String>,
    /// Whether the session, and so the log, ends with the process.
    pub ends_with_process: bool,
}

/// The logs that end with the process.
static ENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl LogPlace {
    /// Creates a log that only this user can read; `None` if that fails.
    pub(crate) async fn create(&self) -> Option<(PathBuf, File)> {
        let directory = self.directory.as_deref()?;
        clean_up_now_and_then(directory);
        let random = Uuid::new_v4().simple().to_string();
        let id = self.session_id.as_deref().map(|id| format!("{}-", in_name(id))).unwrap_or_default();
        let path = directory.join(format!("{PREFIX}{id}{}{SUFFIX}", &random[..RANDOM]));
        let mut options = bowline_files::private_file();
        options.write(true).create_new(true);
        let file = tokio::fs::OpenOptions::from(options).open(&path).await.ok()?;
        if self.ends_with_process {
            ENDING.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        }
        Some((path, file))
    }
}

/// Keeps a text that is too long for a result where the model can read it, as long as the logs of its session. Returns the
/// file; `None` if there can be none.
pub async fn keep_text(options: &Options, session_id: Option<&str>, text: &str) -> Option<PathBuf> {
    let confinement = options.confinement.as_ref().filter(|confinement| confinement.is_active());
    let confined = confinement.and_then(|confinement| confinement.kept_texts());
    let place = LogPlace {
        directory: confined.or_else(|| options.temporary_directory.clone()),
        session_id: session_id.map(ToOwned::to_owned),
        ends_with_process: options.sessions_end_with_process,
    };
    let (path, mut file) = place.create().await?;
    file.write_all(text.as_bytes()).await.ok()?;
    file.flush().await.ok()?;
    Some(path)
}

/// Removes the logs of a session. Reads a directory, so it belongs on a thread that may block.
pub fn remove_logs(directory: &Path, session_id: &str) {
    let wanted = in_name(session_id);
    remove(directory, |id, _| id == wanted);
}

/// Removes the logs of sessions that end with the process.
pub(crate) fn remove_ending() {
    for path in ENDING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// Removes old logs in the background, unless that was done a while ago.
fn clean_up_now_and_then(directory: &Path) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_some_and(|last| last.elapsed() < CLEANING_INTERVAL) {
        return;
    }
    *last = Some(Instant::now());
    let directory = directory.to_owned();
    tokio::task::spawn_blocking(move || remove_old(&directory, SystemTime::now()));
}

fn remove_old(directory: &Path, now: SystemTime) {
    remove(directory, |_, metadata| {
        let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
        age.is_some_and(|age| age > KEPT_FOR)
    });
}

/// Removes the logs of this user that `is_due`, given the session's id in the name, which may be empty.
fn remove(directory: &Path, is_due: impl Fn(&str, &fs::Metadata) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(session_in) else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() && platform::is_own(&metadata) && is_due(id, &metadata) {
            // Whoever removed it first, it is gone.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the session's id in the name of a log; `None` for other files.
fn session_in(name: &str) -> Option<&str> {
    let middle = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (id, random) = middle.rsplit_once('-').unwrap_or(("", middle));
    let is_random = random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_random.then_some(id)
}

/// Returns a session's id as it is in a name: the file of another agent may contain any id.
fn in_name(id: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    id.chars().take(LONGEST_ID).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn logs_of_a_session_are_removed_and_no_other_file() {
        let directory = tempfile::tempdir().unwrap();
        let place = |id: Option<&str>| LogPlace {
            directory: Some(directory.path().to_owned()),
            session_id: id.map(ToOwned::to_owned),
            ends_with_process: false,
        };
        let create = async |id| place(id).create().await.unwrap().0;
        let gone = create(Some("a/b")).await;
        let others = [create(Some("a")).await, create(Some("a-b-c")).await, create(None).await];
        let foreign = directory.path().join("bowline-bash-a-b-.log");
        fs::write(&foreign, "").unwrap();
        remove_logs(directory.path(), "a/b");
        assert!(!gone.exists() && foreign.exists() && others.iter().all(|path| path.exists()));
    }

    #[tokio::test]
    async fn logs_are_removed_after_a_week() {
        let directory = tempfile::tempdir().unwrap();
        let place = LogPlace { directory: Some(directory.path().to_owned()), ..LogPlace::default() };
        let (log, _file) = place.create().await.unwrap();
        let foreign = directory.path().join("bowline-bash-notes.log");
        fs::write(&foreign, "").unwrap();
        remove_old(directory.path(), SystemTime::now() + KEPT_FOR / 2);
        assert!(log.exists());
        remove_old(directory.path(), SystemTime::now() + KEPT_FOR * 2);
        assert!(!log.exists() && foreign.exists());
    }
}
