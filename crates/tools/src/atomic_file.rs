//! Replaces a file completely or not at all: the content goes to a new file beside it, which is then renamed. Where that
//! would lose something (a second hard link) or is not allowed (a read-only directory, a file that is a mount point), the
//! file is written in place, with a copy of the old content at hand until the new one is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use bowline_files::{Error, private_file};
use uuid::Uuid;

use crate::platform::{has_other_names, keep_attributes, keep_owner, plain_permissions};

/// Opens the regular file that is to be replaced; `None` if there is none. One that is protected against writing is an
/// error, because a new file would bypass that.
pub(crate) fn existing(path: &Path) -> Result<Option<File>, Error> {
    match bowline_files::open_by(OpenOptions::new().write(true), path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() => Ok(None),
        // A program that is running cannot be written to, but it can be replaced.
        Err(Error::Read { source, .. }) if source.kind() == ErrorKind::ExecutableFileBusy => {
            bowline_files::open(path).map(Some)
        }
        Err(error) => Err(error),
    }
}

/// Writes `bytes` to the file at `path`, which must not be a link. `existing` is the file that is there already: its
/// permissions, owner and extended attributes are preserved, but not the right to run as its owner, which was given to
/// the old content. `spare` is a directory for a copy if there can be none beside the file.
pub(crate) fn replace(
    path: &Path,
    existing: Option<&File>,
    bytes: &[u8],
    spare: Option<&Path>,
) -> io::Result<()> {
    let Some(old) = existing else {
        let mut new = Temporary::create(folder_of(path), &mut File::options())?;
        new.file.write_all(bytes)?;
        return new.rename(path);
    };
    if has_other_names(&old.metadata()?) {
        return write_in_place(path, bytes, spare);
    }
    match write_beside(path, old, bytes) {
        Err(error) if in_place_may_work(&error) => write_in_place(path, bytes, spare),
        result => result,
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn in_place_may_work(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ResourceBusy
            | ErrorKind::CrossesDevices
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::Unsupported
    )
}

fn write_beside(path: &Path, old: &File, bytes: &[u8]) -> io::Result<()> {
    let mut new = Temporary::create(folder_of(path), &mut private_file())?;
    new.file.write_all(bytes)?;
    let metadata = old.metadata()?;
    keep_owner(&new.file, &metadata);
    new.file.set_permissions(plain_permissions(&metadata))?;
    // Last, because an access list refines the permissions.
    keep_attributes(old, &new.file)?;
    new.rename(path)
}

/// Overwrites the file. If that fails, as on a full disk, the old content is restored.
fn write_in_place(path: &Path, bytes: &[u8], spare: Option<&Path>) -> io::Result<()> {
    let mut old = bowline_files::open(path).map_err(Error::into_io)?;
    let mut file = bowline_files::open_by(OpenOptions::new().write(true), path).map_err(Error::into_io)?;
    let mut copy = match (Temporary::create(folder_of(path), &mut private_file()), spare) {
        (Err(error), Some(spare)) if in_place_may_work(&error) => {
            Temporary::create(spare, &mut private_file())?
        }
        (copy, _) => copy?,
    };
    io::copy(&mut old, &mut copy.file)?;
    let metadata = file.metadata()?;
    let permissions = plain_permissions(&metadata);
    if permissions != metadata.permissions() {
        file.set_permissions(permissions)?;
    }
    let Err(error) = overwrite(&mut file, &mut &*bytes) else { return Ok(()) };
    let put_back = copy.file.rewind().and_then(|()| overwrite(&mut file, &mut copy.file));
    Err(match put_back {
        Ok(()) => error,
        Err(_) => {
            let kept = copy.keep();
            io::Error::other(format!("{error}; the old content is in {}", kept.display()))
        }
    })
}

/// Writes the content from the beginning and only then removes what is left behind it, so that a full disk has room for
/// the old content.
fn overwrite(file: &mut File, content: &mut dyn io::Read) -> io::Result<()> {
    file.rewind()?;
    let length = io::copy(content, file)?;
    file.set_len(length)?;
    // Some file systems report only here that there is no room.
    file.sync_data()
}

/// A new file that is removed when dropped, unless it was renamed or kept.
struct Temporary {
    file: File,
    path: Option<PathBuf>,
}

impl Temporary {
    fn create(folder: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        let path = folder.join(format!(".bowline-{}.tmp", Uuid::new_v4().simple()));
        let file = options.read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file, path: Some(path) })
    }

    fn rename(mut self, path: &Path) -> io::Result<()> {
        if let Some(temporary) = &self.path {
            fs::rename(temporary, path)?;
        }
        self.path = None;
        Ok(())
    }

    /// Leaves the file where it is, and returns where that is.
    fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
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

    fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let existing = existing(path).map_err(Error::into_io)?;
        replace(path, existing.as_ref(), bytes, None)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn permissions_are_kept_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode(&path), 0o751);
        assert_eq!(names(directory.path()), ["run.sh"]);
    }

    #[test]
    fn new_content_does_not_run_as_the_owner() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["alone", "linked"] {
            let path = directory.path().join(name);
            fs::write(&path, "old").unwrap();
            if name == "linked" {
                fs::hard_link(&path, directory.path().join("second")).unwrap();
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
            write(&path, b"new").unwrap();
            assert_eq!(mode(&path), 0o755, "{name}");
        }
    }

    #[test]
    fn extended_attributes_and_access_lists_are_kept() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        // Two bytes of tag, two of permissions, four of id: owner, user 65534, group, mask, others.
        let entries: [[u8; 8]; 5] = [
            [1, 0, 6, 0, 255, 255, 255, 255],
            [2, 0, 4, 0, 254, 255, 0, 0],
            [4, 0, 0, 0, 255, 255, 255, 255],
            [16, 0, 4, 0, 255, 255, 255, 255],
            [32, 0, 0, 0, 255, 255, 255, 255],
        ];
        let list = [vec![2, 0, 0, 0], entries.concat()].concat();
        // The folder for temporary files may be on a file system without attributes; the build's is not.
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        let attributes = [("user.note", b"kept".to_vec()), ("system.posix_acl_access", list)];
        for (name, value) in &attributes {
            setxattr(&path, *name, value, XattrFlags::empty()).unwrap();
        }
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        for (name, value) in &attributes {
            let mut kept = [0; 256];
            let length = getxattr(&path, *name, &mut kept[..]).unwrap();
            assert_eq!(kept[..length], **value, "{name}");
        }
    }

    #[test]
    fn second_hard_link_still_names_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        fs::write(&first, "old and longer").unwrap();
        fs::hard_link(&first, &second).unwrap();
        write(&first, b"new").unwrap();
        assert_eq!(fs::read_to_string(&second).unwrap(), "new");
        assert_eq!(names(directory.path()), ["a", "b"]);
    }

    #[test]
    fn failure_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        replace(&path, None, b"new", None).unwrap_err();
        assert_eq!(names(directory.path()), ["taken"]);
    }
}
