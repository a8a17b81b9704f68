//! The rows, in a temporary file. Memory holds where each ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::Error;
use crate::row::{Event, From, Header, Row};

/// How large the temporary file may become.
const LARGEST_SPOOL: u64 = 1024 * 1024 * 1024;

/// How many rows there may be, so that memory is bounded too.
const MOST_ROWS: usize = 8_000_000;

/// The rows of an exchange.
#[derive(Debug)]
pub(crate) struct Store {
    spool: Mutex<Spool>,
    progress: watch::Sender<Progress>,
}

/// How far the exchange has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub rows: usize,
    /// Whether nothing follows.
    pub is_over: bool,
}

#[derive(Debug)]
struct Spool {
    file: File,
    /// Where each row ends.
    ends: Vec<u64>,
    header: Option<Header>,
    is_full: bool,
}

impl Store {
    /// Returns a store without rows, whose file is in a folder but has no name there.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(folder)
            .map_err(|source| Error::Temporary { folder: folder.to_owned(), source })?;
        let spool = Spool { file, ends: Vec::new(), header: None, is_full: false };
        Ok(Self { spool: Mutex::new(spool), progress: watch::Sender::new(Progress::default()) })
    }

    /// Sets what is known of the exchange as a whole.
    pub fn describe(&self, header: Header) {
        self.lock().header = Some(header);
    }

    /// Returns what is known of the exchange as a whole.
    pub fn header(&self) -> Option<Header> {
        self.lock().header.clone()
    }

    /// Adds rows, each as a line of JSON. What does not fit is dropped, and a last row says so.
    pub fn append(&self, micros: u64, rows: &[String]) {
        let mut spool = self.lock();
        if spool.is_full || rows.is_empty() {
            return;
        }
        if let Err(reason) = spool.append(rows) {
            spool.is_full = true;
            let last = Row::of_event(micros, Event::RecordingFull { reason }).to_line();
            // If the disk is full, even this one is lost.
            let _ = spool.write(&[last]);
        }
        let rows = spool.ends.len();
        drop(spool);
        self.progress.send_modify(|progress| progress.rows = rows);
    }

    /// Says that nothing follows.
    pub fn finish(&self) {
        self.progress.send_modify(|progress| progress.is_over = true);
    }

    /// Returns how far the exchange has come.
    pub fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Returns a way to wait for progress.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Returns rows from `first` on as lines of JSON: at least one, and further ones up to a number and a size.
    pub fn read(&self, first: usize, most_rows: usize, most_bytes: u64) -> io::Result<Vec<String>> {
        let mut spool = self.lock();
        let Some(start) = spool.start(first) else { return Ok(Vec::new()) };
        let available = spool.ends[first..].iter().take(most_rows);
        let count = available.take_while(|end| **end - start <= most_bytes).count().max(1);
        let Some(end) = spool.ends.get(first + count - 1).copied() else { return Ok(Vec::new()) };
        let length = usize::try_from(end - start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        spool.file.seek(SeekFrom::Start(start))?;
        spool.file.read_exact(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        Ok(text.lines().map(ToOwned::to_owned).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spool {
    fn start(&self, row: usize) -> Option<u64> {
        if row > self.ends.len() {
            return None;
        }
        Some(row.checked_sub(1).map_or(0, |before| self.ends[before]))
    }

    fn append(&mut self, rows: &[String]) -> Result<(), String> {
        let size: usize = rows.iter().map(|row| row.len() + 1).sum();
        let used = self.ends.last().copied().unwrap_or(0);
        if used + size as u64 > LARGEST_SPOOL {
            return Err(format!("the temporary file has reached {LARGEST_SPOOL} bytes"));
        }
        if self.ends.len() + rows.len() > MOST_ROWS {
            return Err(format!("there are {MOST_ROWS} records"));
        }
        self.write(rows).map_err(|error| format!("the temporary file cannot be written: {error}"))
    }

    fn write(&mut self, rows: &[String]) -> io::Result<()> {
        let mut used = self.ends.last().copied().unwrap_or(0);
        let mut bytes = Vec::with_capacity(rows.iter().map(|row| row.len() + 1).sum());
        let mut ends = Vec::with_capacity(rows.len());
        for row in rows {
            bytes.extend_from_slice(row.as_bytes());
            bytes.push(b'\n');
            ends.push(used + bytes.len() as u64);
        }
        self.file.seek(SeekFrom::Start(used))?;
        self.file.write_all(&bytes)?;
        used += bytes.len() as u64;
        debug_assert_eq!(ends.last().copied().unwrap_or(used), used);
        self.ends.extend(ends);
        Ok(())
    }
}

/// Returns whether a row is a line that was exchanged.
pub(crate) fn is_exchanged(row: &Row) -> bool {
    matches!(row.from, From::Client | From::Agent | From::Page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path()).unwrap();
        assert_eq!(store.read(0, 10, 10).unwrap(), [""; 0]);
        store.append(0, &["one".to_owned(), "two".to_owned()]);
        store.append(0, &["three".to_owned()]);
        assert_eq!(store.read(0, 10, 100).unwrap(), ["one", "two", "three"]);
        assert_eq!(store.read(1, 1, 100).unwrap(), ["two"]);
        assert_eq!(store.read(1, 10, 1).unwrap(), ["two"]);
        assert_eq!(store.read(3, 10, 100).unwrap(), [""; 0]);
        assert_eq!(store.read(9, 10, 100).unwrap(), [""; 0]);
        assert_eq!(store.progress(), Progress { rows: 3, is_over: false });
    }
}
