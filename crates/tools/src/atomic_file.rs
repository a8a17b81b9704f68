//! Replaces a file completely or not at all: the content goes to a new file beside it, which is then renamed. Where that
//! would lose something (a second hard link) or is not allowed (a read-only directory, a file that is a mount point), the
//! file is written in place.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::platform::{has_other_names, keep_owner};

/// Writes `bytes` to the file at `path`, which must not be a link. Its permissions and owner are preserved.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(metadata) = &existing {
        // A new file would bypass the write protection of the old one.
        refuse_unwritable(path)?;
        if has_other_names(metadata) {
            return write_in_place(path, bytes);
        }
    }
    match write_beside(path, bytes, existing.as_ref()) {
        Err(error) if existing.is_some() && in_place_may_work(&error) => write_in_place(path, bytes),
        result => result,
    }
}

fn refuse_unwritable(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn in_place_may_work(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ResourceBusy | ErrorKind::CrossesDevices)
}

fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(bytes)
}

fn write_beside(path: &Path, bytes: &[u8], existing: Option<&Metadata>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let temporary = Temporary(directory.join(format!(".bowline-{}.tmp", Uuid::new_v4().simple())));
    let mut file = File::create_new(&temporary.0)?;
    if let Some(metadata) = existing {
        keep_owner(&file, metadata);
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(bytes)?;
    fs::rename(&temporary.0, path)
}

/// A file that is removed when dropped, unless it was renamed before.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn permissions_are_kept_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(names(directory.path()), ["run.sh"]);
    }

    #[test]
    fn second_hard_link_still_names_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        fs::write(&first, "old and longer").unwrap();
        fs::hard_link(&first, &second).unwrap();
        replace(&first, b"new").unwrap();
        assert_eq!(fs::read_to_string(&second).unwrap(), "new");
    }

    #[test]
    fn failure_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        replace(&path, b"new").unwrap_err();
        assert_eq!(names(directory.path()), ["taken"]);
    }
}
