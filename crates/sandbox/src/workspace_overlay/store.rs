//! Where the changes of a session are kept: a folder for each session and workspace, in bowline's own.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use super::baseline::Baseline;
use crate::error::Error;
use crate::session_folder::remove_tree;

/// The folder in bowline's own that has a folder for each session.
const STORES: &str = "workspaces";

/// What the names of folders of sessions that are kept in memory only begin with.
const EPHEMERAL: &str = "ephemeral-";

const UPPER: &str = "upper";
const WORK: &str = "work";
const BASELINE: &str = "baseline.jsonl";
const TRASH: &str = "trash";

/// The changes of a session in a workspace.
#[derive(Debug)]
pub(crate) struct Store {
    /// The real folder, canonical.
    pub workspace: PathBuf,
    path: PathBuf,
    /// The folder of the session, if it goes with the process.
    ephemeral: Option<PathBuf>,
    /// Locked while the process lives: two overlays must not share a store.
    _lock: File,
}

impl Store {
    /// Opens the store of a session; one of a session without a name goes with the process.
    pub fn open(
        own_folder: &Path,
        workspace: &Path,
        session: Option<&str>,
        token: &str,
    ) -> Result<Self, Error> {
        let failed = Error::preparing("making the folder for changes");
        let stores = own_folder.join(STORES);
        let workspace = workspace.canonicalize().map_err(Error::preparing("finding the working folder"))?;
        let name = match session {
            Some(id) if is_name(id) => id.to_owned(),
            Some(id) => return Err(Error::SessionName { id: id.to_owned() }),
            None => format!("{EPHEMERAL}{token}"),
        };
        let of_session = stores.join(&name);
        let path = of_session.join(folder_name(&workspace));
        let open = || -> io::Result<(PathBuf, File)> {
            bowline_files::create_private_folder(&path)?;
            Ok((path.canonicalize()?, File::open(&of_session)?))
        };
        let (path, lock) = open().map_err(failed)?;
        if path.starts_with(&workspace) {
            return Err(Error::StoreInWorkspace { workspace });
        }
        lock.try_lock().map_err(|_| Error::WorkspaceInUse)?;
        if session.is_none() {
            // It may be much, and nobody waits for it.
            std::thread::spawn(move || remove_abandoned(&stores, &name));
        }
        let ephemeral = session.is_none().then_some(of_session);
        Ok(Self { workspace, path, ephemeral, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder with what has changed.
    pub fn upper(&self) -> PathBuf {
        self.path.join(UPPER)
    }

    /// Prepares for a new mount, and notes what the real workspace is now, as far as nothing is pending. Reads all folders
    /// of the workspace.
    pub fn prepare(&self) -> Result<(), Error> {
        let failed = Error::preparing("making the folder for changes");
        self.make_folders().map_err(failed)?;
        let baseline = Baseline::read(&self.baseline_path()).unwrap_or_default();
        let renewed = baseline.renewed(&self.workspace, &self.upper())?;
        renewed.write(&self.baseline_path()).map_err(Error::preparing("noting what the workspace is"))
    }

    fn make_folders(&self) -> io::Result<()> {
        // The root of the overlay has the permissions of the upper folder.
        let mode = fs::metadata(&self.workspace)?.mode() & 0o777;
        for (name, mode) in [(UPPER, mode | 0o700), (WORK, 0o700)] {
            let path = self.path.join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => fs::set_permissions(&path, fs::Permissions::from_mode(mode))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns what the real workspace was.
    pub fn baseline(&self) -> Baseline {
        Baseline::read(&self.baseline_path()).unwrap_or_default()
    }

    fn baseline_path(&self) -> PathBuf {
        self.path.join(BASELINE)
    }

    /// Forgets all changes. Nothing may be mounted.
    pub fn reset(&self) -> io::Result<()> {
        let trash = self.path.join(TRASH);
        remove_tree(&trash);
        // Taking them away one by one would, if interrupted, look like other changes.
        match fs::rename(self.upper(), &trash) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        remove_tree(&trash);
        remove_tree(&self.path.join(WORK));
        let _ = fs::remove_file(self.baseline_path());
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(folder) = &self.ephemeral {
            remove_tree(folder);
        }
    }
}

/// Removes the changes of a session, unless another process has it open.
pub(crate) fn forget(own_folder: &Path, session: &str) {
    if is_name(session) {
        remove_unlocked(&own_folder.join(STORES).join(session));
    }
}

/// Tells whether a session has changes in a workspace that are neither accepted nor thrown away.
pub(crate) fn has_changes(own_folder: &Path, workspace: &Path, session: &str) -> bool {
    let folder = folder_name(&bowline_files::canonical(workspace));
    let upper = own_folder.join(STORES).join(session).join(folder).join(UPPER);
    is_name(session) && fs::read_dir(upper).is_ok_and(|mut names| names.next().is_some())
}

/// Removes the folders of sessions in memory whose process is gone.
fn remove_abandoned(stores: &Path, own: &str) {
    for entry in fs::read_dir(stores).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(EPHEMERAL) && name != own) {
            remove_unlocked(&entry.path());
        }
    }
}

fn remove_unlocked(folder: &Path) {
    let Ok(lock) = File::open(folder) else { return };
    if lock.try_lock().is_ok() {
        remove_tree(folder);
    }
}

/// Tells whether the id of a session can be the name of a folder. Session files say what they like.
fn is_name(id: &str) -> bool {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    !id.starts_with(['.'])
        && !id.starts_with(EPHEMERAL)
        && (1..=128).contains(&id.len())
        && id.chars().all(is_plain)
}

fn folder_name(workspace: &Path) -> String {
    let hash = digest(&SHA256, workspace.as_os_str().as_encoded_bytes());
    hash.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_that_are_no_plain_names_are_refused() {
        for id in ["", "..", "a/b", ".hidden", "ephemeral-1", "a\0b"] {
            assert!(!is_name(id), "{id}");
        }
        assert!(is_name("0198a2b4-77aa_x.1"));
    }

    #[test]
    fn store_of_a_session_is_used_by_one_process_and_one_in_memory_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (own, workspace) = (folder.path().join("own"), folder.path().join("work"));
        fs::create_dir(&workspace).unwrap();
        let store = Store::open(&own, &workspace, Some("s1"), "t").unwrap();
        assert!(matches!(Store::open(&own, &workspace, Some("s1"), "t"), Err(Error::WorkspaceInUse)));
        store.prepare().unwrap();
        drop(store);
        assert!(own.join("workspaces/s1").exists());
        forget(&own, "s1");
        assert!(!own.join("workspaces/s1").exists());
        let store = Store::open(&own, &workspace, None, "t").unwrap();
        assert!(own.join("workspaces/ephemeral-t").exists());
        drop(store);
        assert!(!own.join("workspaces/ephemeral-t").exists());
    }

    #[test]
    fn store_cannot_be_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let found = Store::open(&folder.path().join("own"), folder.path(), Some("s1"), "t");
        assert!(matches!(found, Err(Error::StoreInWorkspace { .. })));
    }
}
