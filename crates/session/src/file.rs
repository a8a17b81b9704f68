//! The file of a session: locked for us as long as it is open, and only ever made longer by whole lines.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufReader, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::durability::{Durability, sync_directory};

/// How much of the file is read at a time when it is read from start to end.
const READ_SIZE: usize = 256 * 1024;

/// An open session file.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    /// Opened for appending. The lock lives and dies with this handle.
    file: File,
    /// How long the file is if nobody else has touched it.
    length: u64,
    durability: Durability,
}

impl SessionFile {
    /// Creates the file, which must not exist, with `content` in one write. Directories are made as needed.
    /// Nothing is left behind when that fails.
    pub(crate) fn create(path: &Path, content: &[u8], durability: Durability) -> Result<Self, Error> {
        if let Some(directory) = path.parent() {
            create_private_directories(directory).map_err(|error| Error::write(directory, error))?;
        }
        let mut file = private_file().read(true).append(true).create_new(true).open(path).map_err(
            |error| match error.kind() {
                ErrorKind::AlreadyExists => Error::Exists { file: path.to_path_buf() },
                _ => Error::write(path, error),
            },
        )?;
        lock(&file, path)?;
        let undo = || fs::remove_file(path);
        let written = write_whole(&mut file, content, undo)
            .and_then(|()| durability.keep_new(&file, path).inspect_err(|_| drop(undo())));
        written.map_err(|error| Error::write(path, error))?;
        Ok(Self { path: path.to_path_buf(), file, length: content.len() as u64, durability })
    }

    /// Opens a file that exists and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        loop {
            let read_error = |error| Error::read(path, error);
            let opened = OpenOptions::new().read(true).append(true).open(path);
            let file = opened.map_err(|error| open_error(path, error))?;
            lock(&file, path)?;
            let metadata = file.metadata().map_err(read_error)?;
            // Between the opening and the lock an upgrade may have put another file in this place.
            if is_same_file(&metadata, &fs::metadata(path).map_err(read_error)?) {
                let durability = Durability::default();
                return Ok(Self { path: path.to_path_buf(), file, length: metadata.len(), durability });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// Adds `line` to the end in one write and returns where it starts. After an error the file is as it was.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<u64, Error> {
        self.check_untouched()?;
        let offset = self.length;
        let undo = || self.file.set_len(offset);
        let written = write_whole(&mut &self.file, line, undo)
            .and_then(|()| self.durability.keep(&self.file).inspect_err(|_| drop(undo())));
        written.map_err(|error| Error::write(&self.path, error))?;
        self.length += line.len() as u64;
        Ok(offset)
    }

    /// Reads `length` bytes from `offset` on.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        read_exact_at(&self.file, &mut bytes, offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Changed { file: self.path.clone() },
            _ => Error::read(&self.path, error),
        })?;
        Ok(bytes)
    }

    /// Returns a reader of the whole file.
    pub(crate) fn reader(&self) -> Result<BufReader<&File>, Error> {
        let mut file = &self.file;
        file.rewind().map_err(|error| Error::read(&self.path, error))?;
        Ok(BufReader::with_capacity(READ_SIZE, file))
    }

    /// Moves everything from `offset` on out of the file into `<file>.torn`, where it can still be looked at.
    pub(crate) fn set_aside(&mut self, offset: u64) -> Result<(), Error> {
        let tail = self.read(offset, usize::try_from(self.length - offset).unwrap_or(usize::MAX))?;
        self.keep_beside(".torn", &[tail.as_slice(), b"\n"].concat())?;
        self.file.set_len(offset).map_err(|error| Error::write(&self.path, error))?;
        self.length = offset;
        Ok(())
    }

    /// Adds `bytes` to `<file><suffix>` and returns that file.
    pub(crate) fn keep_beside(&self, suffix: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = with_suffix(&self.path, suffix);
        let opened = private_file().append(true).create(true).open(&path);
        let kept = opened.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        kept.map_err(|error| Error::write(&path, error))?;
        Ok(path)
    }

    /// Puts a file with `content` in the place of this one in a single step, and keeps this one as
    /// `<file><suffix>`, whose name is returned.
    pub(crate) fn replace(&mut self, content: &[u8], suffix: &str) -> Result<PathBuf, Error> {
        self.check_untouched()?;
        // Nobody but the holder of the lock makes this file, so one that is there was left by a crash.
        let next_path = with_suffix(&self.path, ".next");
        let _ = fs::remove_file(&next_path);
        let next = Self::create(&next_path, content, Durability::Fsync)?;
        let replaced = keep_copy(&self.path, suffix)
            .and_then(|copy| fs::rename(&next_path, &self.path).map(|()| copy))
            .inspect_err(|_| drop(fs::remove_file(&next_path)));
        let copy = replaced.map_err(|error| Error::write(&self.path, error))?;
        self.file = next.file;
        self.length = next.length;
        // Should the disk lose the new name, the file under it is the old one, which is just as good.
        let _ = sync_directory(&self.path);
        Ok(copy)
    }

    // Writing to a file that is gone would lose the entry, and to one that someone else wrote to would make lines
    // that contradict theirs.
    fn check_untouched(&self) -> Result<(), Error> {
        let metadata = self.file.metadata().map_err(|error| Error::write(&self.path, error))?;
        if !is_linked(&metadata, &self.path) {
            return Err(Error::Vanished { file: self.path.clone() });
        }
        if metadata.len() != self.length {
            return Err(Error::Changed { file: self.path.clone() });
        }
        Ok(())
    }
}

/// Writes all of `bytes`; if that fails, takes back what was written of them.
fn write_whole(file: &mut impl Write, bytes: &[u8], undo: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        // If this fails too, the next append sees that the length is wrong, and the next opening repairs it.
        let _ = undo();
    })
}

/// Returns the error of a file that could not be opened for reading and writing.
fn open_error(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if File::open(path).is_ok() => {
            Error::ReadOnly { file: path.to_path_buf() }
        }
        _ => Error::read(path, error),
    }
}

/// How long a lock is waited for. A process that was killed while it started a command leaves its lock to that command
/// for the moment until the command is really begun; whoever opens the session right then is not to be turned away.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    let begun = Instant::now();
    let mut result = file.try_lock();
    while matches!(result, Err(TryLockError::WouldBlock)) && begun.elapsed() < LOCK_PATIENCE {
        thread::sleep(LOCK_PAUSE);
        result = file.try_lock();
    }
    match result {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { file: path.to_path_buf() }),
        // A file system without locks is no reason to be without sessions.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Error::read(path, error)),
    }
}

/// Keeps the file under a second name that is not in use yet.
fn keep_copy(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let mut copy = with_suffix(path, suffix);
    let mut number = 2;
    while copy.exists() {
        copy = with_suffix(path, &format!("{suffix}{number}"));
        number += 1;
    }
    // Not every file system has links.
    fs::hard_link(path, &copy).or_else(|_| fs::copy(path, &copy).map(drop))?;
    Ok(copy)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(unix)]
fn create_private_directories(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private_directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn is_linked(metadata: &Metadata, _: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() > 0
}

#[cfg(not(unix))]
fn is_linked(_: &Metadata, path: &Path) -> bool {
    path.exists()
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::Read;
    file.seek(io::SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes to a file until the disk is full.
    struct SmallDisk<'a> {
        file: &'a File,
        room: usize,
    }

    impl Write for SmallDisk<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let written = self.file.write(&bytes[..bytes.len().min(self.room)])?;
            self.room -= written;
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn new_file(content: &[u8]) -> (tempfile::TempDir, SessionFile) {
        let directory = tempfile::tempdir().unwrap();
        let file =
            SessionFile::create(&directory.path().join("a/b/s.jsonl"), content, Durability::Flush).unwrap();
        (directory, file)
    }

    #[test]
    fn a_write_that_a_full_disk_cuts_short_is_taken_back() {
        let (_directory, session) = new_file(b"whole\n");
        let mut disk = SmallDisk { file: &session.file, room: 3 };
        let error = write_whole(&mut disk, b"second\n", || session.file.set_len(session.length)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read(session.path()).unwrap(), b"whole\n");
    }

    #[test]
    fn a_file_that_does_not_fit_on_the_disk_is_not_left_behind() {
        let (_directory, session) = new_file(b"");
        let mut disk = SmallDisk { file: &session.file, room: 3 };
        let error = write_whole(&mut disk, b"header\n", || fs::remove_file(session.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(!session.path().exists());
    }

    #[test]
    fn a_file_that_can_only_be_read_is_said_to_be_that() {
        let (_directory, session) = new_file(b"x\n");
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            assert!(matches!(open_error(session.path(), kind.into()), Error::ReadOnly { .. }));
        }
        let missing = session.path().with_extension("none");
        assert!(matches!(open_error(&missing, ErrorKind::PermissionDenied.into()), Error::Read { .. }));
    }

    #[test]
    fn what_is_on_the_disk_does_not_depend_on_the_durability() {
        let directory = tempfile::tempdir().unwrap();
        for durability in [Durability::Flush, Durability::Fsync] {
            let path = directory.path().join(format!("{durability:?}/s.jsonl"));
            let mut session = SessionFile::create(&path, b"one\n", durability).unwrap();
            assert_eq!(session.append(b"two\n").unwrap(), 4);
            assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        }
    }

    #[test]
    fn a_second_opener_is_refused_until_the_first_is_done() {
        let (_directory, session) = new_file(b"x\n");
        let path = session.path().to_path_buf();
        assert!(matches!(SessionFile::open(&path), Err(Error::Locked { file }) if file == path));
        drop(session);
        let reopened = SessionFile::open(&path).unwrap();
        assert!(matches!(SessionFile::open(&path), Err(Error::Locked { .. })));
        drop(reopened);
    }

    #[test]
    fn a_file_is_never_created_over_another() {
        let (_directory, session) = new_file(b"x\n");
        assert!(matches!(
            SessionFile::create(session.path(), b"y\n", Durability::Flush),
            Err(Error::Exists { .. })
        ));
        assert_eq!(fs::read(session.path()).unwrap(), b"x\n");
    }

    #[test]
    fn nothing_is_written_to_a_file_that_others_changed() {
        let (_directory, mut session) = new_file(b"one\n");
        OpenOptions::new().write(true).open(session.path()).unwrap().set_len(1).unwrap();
        assert!(matches!(session.append(b"two\n"), Err(Error::Changed { .. })));
        assert_eq!(fs::read(session.path()).unwrap(), b"o");
        assert!(matches!(session.read(0, 3), Err(Error::Changed { .. })));
    }

    #[test]
    fn nothing_is_written_to_a_file_that_is_gone() {
        let (_directory, mut session) = new_file(b"one\n");
        fs::remove_file(session.path()).unwrap();
        assert!(matches!(session.append(b"two\n"), Err(Error::Vanished { .. })));
        assert!(!session.path().exists());
    }

    #[test]
    #[cfg(unix)]
    fn files_and_directories_are_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (directory, session) = new_file(b"x\n");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(session.path()), 0o600);
        assert_eq!((mode(&directory.path().join("a")), mode(&directory.path().join("a/b"))), (0o700, 0o700));
    }
}
