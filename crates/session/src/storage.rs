//! Where the lines of a session are: in memory, in a file that we own, or in one that we only read.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use crate::durability::Durability;
use crate::file::{READ_SIZE, SessionFile};
use crate::header::Header;
use crate::line::Accept;
use crate::mend::mend;
use crate::scan::{Coverage, Scan, scan_unlocked};
use crate::tree::Node;
use crate::{Error, Location, platform};

/// The lines of a session. An entry has the same offset in all variants: the content in memory is byte for byte that of
/// the file.
#[derive(Debug)]
pub(crate) enum Storage {
    Memory(Vec<u8>),
    /// A file that has a name but does not exist yet.
    Unsaved {
        path: PathBuf,
        content: Vec<u8>,
    },
    /// A file that is locked for this session.
    File(SessionFile),
    /// A file that others may be using.
    Snapshot(Snapshot),
}

/// The part of a file that was there when it was indexed. It is neither locked nor changed.
#[derive(Debug)]
pub(crate) struct Snapshot {
    path: PathBuf,
    file: File,
    coverage: Coverage,
}

impl Snapshot {
    /// Opens the file at `path` and indexes it.
    pub(crate) fn open(path: &Path, accept: Accept) -> Result<(Self, Scan), Error> {
        let file = bowline_files::open(path).map_err(|error| Error::open(path, error))?;
        let reader = BufReader::with_capacity(READ_SIZE, &file);
        let (scan, coverage) = scan_unlocked(reader, accept, path)?;
        Ok((Self { path: path.to_path_buf(), file, coverage }, scan))
    }

    /// Returns what a file holds now.
    pub(crate) fn of_file(file: &SessionFile) -> Result<Self, Error> {
        let coverage = Coverage { length: file.length(), lacks_final_line_feed: false };
        Ok(Self { path: file.path().to_path_buf(), file: file.again()?, coverage })
    }

    /// Returns the same part of the same file.
    pub(crate) fn again(&self) -> Result<Self, Error> {
        let file = self.file.try_clone().map_err(|error| Error::read(&self.path, error))?;
        Ok(Self { path: self.path.clone(), file, coverage: self.coverage })
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        platform::read_exact_at(&self.file, &mut bytes, offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Changed { file: self.path.clone() },
            _ => Error::read(&self.path, error),
        })?;
        Ok(bytes)
    }

    /// Returns all covered lines, each with its line feed.
    fn content(&self) -> Result<Vec<u8>, Error> {
        let mut content = self.read(0, usize::try_from(self.coverage.length).unwrap_or(usize::MAX))?;
        if self.coverage.lacks_final_line_feed {
            content.push(b'\n');
        }
        Ok(content)
    }
}

impl Storage {
    /// Returns the storage of a new session, whose first lines are `content`.
    pub(crate) fn new(location: Location, header: &Header, content: Vec<u8>) -> Self {
        match location {
            Location::Memory => Self::Memory(content),
            Location::Directory(directory) => {
                Self::Unsaved { path: directory.join(header.file_name()), content }
            }
            Location::File(path) => Self::Unsaved { path, content },
        }
    }

    /// Appends a line and returns its offset. With `Save::Now`, a session without a file gets one.
    pub(crate) fn append(&mut self, line: &[u8], save: Save, durability: Durability) -> Result<u64, Error> {
        match self {
            Self::File(file) => file.append(line),
            Self::Memory(content) => Ok(extend(content, line)),
            Self::Unsaved { path, content } => {
                let offset = extend(content, line);
                if save == Save::Now {
                    match SessionFile::create(path, content, durability) {
                        Ok(file) => *self = Self::File(file),
                        Err(error) => {
                            content.truncate(content.len() - line.len());
                            return Err(error);
                        }
                    }
                }
                Ok(offset)
            }
            // The file belongs to someone else, so the session continues in memory.
            Self::Snapshot(snapshot) => {
                let mut content = snapshot.content()?;
                let offset = extend(&mut content, line);
                *self = Self::Memory(content);
                Ok(offset)
            }
        }
    }

    /// Creates the file of a session that has none yet.
    pub(crate) fn save(&mut self, durability: Durability) -> Result<(), Error> {
        if let Self::Unsaved { path, content } = self {
            *self = Self::File(SessionFile::create(path, content, durability)?);
        }
        Ok(())
    }

    /// Returns the line of an entry for decoding: with its strings mended if a strict decoder would refuse them.
    pub(crate) fn read(&self, node: &Node) -> Result<Vec<u8>, Error> {
        self.read_exactly(node).map(mend)
    }

    /// Returns the line of an entry as it is in the file.
    pub(crate) fn read_exactly(&self, node: &Node) -> Result<Vec<u8>, Error> {
        match self {
            Self::File(file) => file.read(node.offset, node.length),
            Self::Snapshot(snapshot) => snapshot.read(node.offset, node.length),
            Self::Memory(content) | Self::Unsaved { content, .. } => {
                let start = usize::try_from(node.offset).unwrap_or(usize::MAX);
                Ok(content[start..start + node.length].to_vec())
            }
        }
    }
}

/// When a session without a file gets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Save {
    Now,
    Later,
}

/// Appends `line` to `content` and returns its offset.
fn extend(content: &mut Vec<u8>, line: &[u8]) -> u64 {
    let offset = content.len() as u64;
    content.extend_from_slice(line);
    offset
}
