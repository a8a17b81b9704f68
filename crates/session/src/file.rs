//! The file of an open session: locked until it is closed, and written to only by appending complete lines. What has to
//! be taken out of a damaged file is decided in `repair`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bowline_files::{create_private_folder, private_file};

use crate::Error;
use crate::durability::Durability;
use crate::platform::{is_linked, is_same_file, read_exact_at, sync_directory};

/// The block size when a file is read from start to end.
pub(crate) const READ_SIZE: usize = 256 * 1024;

/// An open session file.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    /// Opened for appending. Closing it releases the lock.
    file: File,
    /// The length of the file, unless another program has changed it.
    length: u64,
    durability: Durability,
}

impl SessionFile {
    /// Creates the file, which must not exist, with `content` in one write, and its directories if needed. Leaves
    /// no file behind on failure.
    pub(crate) fn create(path: &Path, content: &[u8], durability: Durability) -> Result<Self, Error> {
        if let Some(directory) = path.parent() {
            create_private_folder(directory).map_err(|error| Error::write(directory, error))?;
        }
        let mut file = private_file().read(true).append(true).create_new(true).open(path).map_err(
            |error| match error.kind() {
                ErrorKind::AlreadyExists => Error::Exists { file: path.to_path_buf() },
                _ => Error::write(path, error),
            },
        )?;
        lock(&file, path)?;
        let undo = || fs::remove_file(path);
        let written = write_or_undo(&mut file, content, undo)
            .and_then(|()| durability.keep_new(&file, path).inspect_err(|_| drop(undo())));
        written.map_err(|error| Error::write(path, error))?;
        Ok(Self { path: path.to_path_buf(), file, length: content.len() as u64, durability })
    }

    /// Opens an existing file and locks it. Waits up to [`LOCK_PATIENCE`] for the lock: call it from a thread that may block.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        loop {
            let read_error = |error| Error::read(path, error);
            let opened = bowline_files::open_by(OpenOptions::new().read(true).append(true), path);
            let file = opened.map_err(|error| open_error(path, error))?;
            lock(&file, path)?;
            let metadata = file.metadata().map_err(read_error)?;
            // Between opening and locking, an upgrade may have replaced the file.
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

    /// Returns the open file once more, for reading at an offset.
    pub(crate) fn again(&self) -> Result<File, Error> {
        self.file.try_clone().map_err(|error| Error::read(&self.path, error))
    }

    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// Appends `line` in one write and returns its offset. On failure the file is unchanged.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<u64, Error> {
        self.check_untouched()?;
        let offset = self.length;
        let undo = || self.file.set_len(offset);
        let written = write_or_undo(&mut &self.file, line, undo)
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

    /// Removes everything from `offset` on.
    pub(crate) fn truncate(&mut self, offset: u64) -> Result<(), Error> {
        self.file.set_len(offset).map_err(|error| Error::write(&self.path, error))?;
        self.length = offset;
        Ok(())
    }

    /// Appends `bytes` to `<file><suffix>` and returns its path.
    pub(crate) fn append_beside(&self, suffix: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = with_suffix(&self.path, suffix);
        let opened = bowline_files::open_by(private_file().append(true).create(true), &path);
        let kept = opened
            .map_err(bowline_files::Error::into_io)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        kept.map_err(|error| Error::write(&path, error))?;
        Ok(path)
    }

    /// Atomically replaces the file by one with `content`, keeps the original as `<file><suffix>`, and returns the path
    /// of that copy.
    pub(crate) fn replace(&mut self, content: &[u8], suffix: &str) -> Result<PathBuf, Error> {
        self.check_untouched()?;
        // Only the holder of the lock creates this file, so an existing one was left by a crash.
        let next_path = with_suffix(&self.path, ".next");
        let _ = fs::remove_file(&next_path);
        let next = Self::create(&next_path, content, Durability::Fsync)?;
        let replaced = keep_copy(&self.path, suffix)
            .and_then(|copy| fs::rename(&next_path, &self.path).map(|()| copy))
            .inspect_err(|_| drop(fs::remove_file(&next_path)));
        let copy = replaced.map_err(|error| Error::write(&self.path, error))?;
        self.file = next.file;
        self.length = next.length;
        // If the disk loses the rename, the name still refers to the original, which is just as valid.
        let _ = sync_directory(&self.path);
        Ok(copy)
    }

    // Appending to a deleted file would lose the entry; appending to one that another program wrote to would
    // contradict its lines.
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

/// Writes all of `bytes`; on failure, undoes a partial write.
fn write_or_undo(
    file: &mut impl Write,
    bytes: &[u8],
    undo: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        // If this fails too, the next append notices the wrong length and the next open repairs the file.
        let _ = undo();
    })
}

/// Returns the error for a file that could not be opened for reading and writing.
fn open_error(path: &Path, error: bowline_files::Error) -> Error {
    let is_refused = |source: &io::Error| {
        matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
    };
    match &error {
        bowline_files::Error::Read { source, .. }
            if is_refused(source) && bowline_files::open(path).is_ok() =>
        {
            Error::ReadOnly { file: path.to_path_buf() }
        }
        _ => Error::open(path, error),
    }
}

/// How long to wait for a lock. A process that is killed while it spawns a command passes its lock on to the child until
/// the child calls exec; opening the session in that moment should not fail.
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
        // Sessions should work on file systems without locks, too.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Error::read(path, error)),
    }
}

/// Keeps the file under a second, unused name.
fn keep_copy(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let mut copy = with_suffix(path, suffix);
    let mut number = 2;
    while copy.exists() {
        copy = with_suffix(path, &format!("{suffix}{number}"));
        number += 1;
    }
    // Not every file system supports links.
    fs::hard_link(path, &copy).or_else(|_| fs::copy(path, &copy).map(drop))?;
    Ok(copy)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that fails once `room` bytes are written.
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
    fn a_partial_write_on_a_full_disk_is_undone() {
        let (_directory, session) = new_file(b"first\n");
        let mut disk = SmallDisk { file: &session.file, room: 3 };
        let error =
            write_or_undo(&mut disk, b"second\n", || session.file.set_len(session.length)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read(session.path()).unwrap(), b"first\n");
    }

    #[test]
    fn a_file_that_does_not_fit_on_the_disk_is_removed() {
        let (_directory, session) = new_file(b"");
        let mut disk = SmallDisk { file: &session.file, room: 3 };
        let error = write_or_undo(&mut disk, b"header\n", || fs::remove_file(session.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(!session.path().exists());
    }

    #[test]
    fn a_read_only_file_is_reported_as_read_only() {
        let (_directory, session) = new_file(b"x\n");
        let failed = |path: &Path, kind: ErrorKind| {
            open_error(path, bowline_files::Error::Read { path: path.to_owned(), source: kind.into() })
        };
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            assert!(matches!(failed(session.path(), kind), Error::ReadOnly { .. }));
        }
        let missing = session.path().with_extension("none");
        assert!(matches!(failed(&missing, ErrorKind::PermissionDenied), Error::Read { .. }));
    }

    #[test]
    fn the_content_does_not_depend_on_the_durability() {
        let directory = tempfile::tempdir().unwrap();
        for durability in [Durability::Flush, Durability::Fsync] {
            let path = directory.path().join(format!("{durability:?}/s.jsonl"));
            let mut session = SessionFile::create(&path, b"one\n", durability).unwrap();
            assert_eq!(session.append(b"two\n").unwrap(), 4);
            assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        }
    }

    #[test]
    fn a_file_can_be_opened_once_at_a_time() {
        let (_directory, session) = new_file(b"x\n");
        let path = session.path().to_path_buf();
        assert!(matches!(SessionFile::open(&path), Err(Error::Locked { file }) if file == path));
        drop(session);
        let reopened = SessionFile::open(&path).unwrap();
        assert!(matches!(SessionFile::open(&path), Err(Error::Locked { .. })));
        drop(reopened);
    }

    #[test]
    fn creating_never_overwrites_a_file() {
        let (_directory, session) = new_file(b"x\n");
        assert!(matches!(
            SessionFile::create(session.path(), b"y\n", Durability::Flush),
            Err(Error::Exists { .. })
        ));
        assert_eq!(fs::read(session.path()).unwrap(), b"x\n");
    }

    #[test]
    fn append_fails_after_another_program_changed_the_file() {
        let (_directory, mut session) = new_file(b"one\n");
        OpenOptions::new().write(true).open(session.path()).unwrap().set_len(1).unwrap();
        assert!(matches!(session.append(b"two\n"), Err(Error::Changed { .. })));
        assert_eq!(fs::read(session.path()).unwrap(), b"o");
        assert!(matches!(session.read(0, 3), Err(Error::Changed { .. })));
    }

    #[test]
    fn append_fails_after_the_file_was_deleted() {
        let (_directory, mut session) = new_file(b"one\n");
        fs::remove_file(session.path()).unwrap();
        assert!(matches!(session.append(b"two\n"), Err(Error::Vanished { .. })));
        assert!(!session.path().exists());
    }
}
