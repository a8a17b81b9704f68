//! Makes rows of what was passed on, and writes them to the temporary file and to the recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::lines::{LineBuffer, RawLine};
use crate::masking::Masking;
use crate::queue::{Item, Queue};
use crate::row::{Event, From, Header, Row, milliseconds};
use crate::store::Store;

/// How many bytes of rows are collected before they are written.
const BATCH: usize = 1024 * 1024;

/// The recorder.
pub(crate) struct Recorder {
    store: Arc<Store>,
    masking: Masking,
    recording: Option<Recording>,
    buffers: HashMap<From, LineBuffer>,
    rows: Vec<String>,
    size: usize,
    /// What went wrong with the recording, to be said at the end.
    pub failure: Option<Error>,
}

struct Recording {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Recorder {
    /// Returns a recorder. A recording is a new file, which only the user may read.
    pub fn new(store: Arc<Store>, masking: Masking, recording: Option<&Path>) -> Result<Self, Error> {
        let create = |path: &Path| -> Result<Recording, Error> {
            let file = bowline_files::private_file().write(true).create_new(true).open(path);
            let file = file.map_err(|source| Error::Recording { path: path.to_owned(), source })?;
            Ok(Recording { path: path.to_owned(), file: BufWriter::new(file) })
        };
        Ok(Self {
            store,
            masking,
            recording: recording.map(create).transpose()?,
            buffers: HashMap::new(),
            rows: Vec::new(),
            size: 0,
            failure: None,
        })
    }

    /// Begins the exchange.
    pub fn begin(&mut self, mut header: Header) {
        header.command = header.command.into_iter().map(|word| self.masking.mask(word)).collect();
        let line = serde_json::to_string(&header).unwrap_or_default();
        self.store.describe(header);
        self.write_recording(&[line]);
    }

    /// Records what comes over a queue, to its end.
    pub fn run(mut self, queue: &Queue) -> Option<Error> {
        loop {
            let mut last = 0;
            let mut is_finished = false;
            for (micros, item) in queue.take() {
                last = micros;
                is_finished |= matches!(item, Item::Finish);
                self.item(micros, item);
            }
            self.flush(last);
            if is_finished {
                return self.finish();
            }
        }
    }

    fn item(&mut self, micros: u64, item: Item) {
        match item {
            Item::Bytes(from, bytes) => {
                let mut lines = Vec::new();
                self.buffers.entry(from).or_default().push(&bytes, |line| lines.push(line));
                for line in lines {
                    self.line(micros, from, line);
                }
            }
            Item::Lost(of, bytes) => {
                self.end_line(micros, of);
                self.row(micros, &Row::of_event(micros, Event::RecordingFellBehind { of, bytes }));
            }
            Item::End(of) => {
                self.end_line(micros, of);
                self.row(micros, &Row::of_event(micros, Event::Closed { of }));
            }
            Item::Event(event) => self.row(micros, &Row::of_event(micros, event)),
            Item::Finish => {
                for from in [From::Client, From::Agent, From::Stderr] {
                    self.end_line(micros, from);
                }
            }
        }
    }

    fn end_line(&mut self, micros: u64, from: From) {
        if let Some(line) = self.buffers.get_mut(&from).and_then(LineBuffer::finish) {
            self.line(micros, from, line);
        }
    }

    fn line(&mut self, micros: u64, from: From, line: RawLine) {
        let RawLine { text, cut, unfinished, not_utf8 } = line;
        let line = self.masking.mask(text);
        self.row(
            micros,
            &Row { at: milliseconds(micros), from, line, cut, unfinished, not_utf8, event: None },
        );
    }

    /// Adds a row that was recorded before.
    pub fn recorded(&mut self, mut row: Row) {
        row.line = self.masking.mask(row.line);
        self.row(0, &row);
    }

    fn row(&mut self, micros: u64, row: &Row) {
        let line = row.to_line();
        self.size += line.len();
        self.rows.push(line);
        if self.size > BATCH {
            self.flush(micros);
        }
    }

    fn flush(&mut self, micros: u64) {
        let rows = std::mem::take(&mut self.rows);
        self.size = 0;
        self.write_recording(&rows);
        self.store.append(micros, &rows);
    }

    /// Writes to the recording. After a failure there is none; the exchange goes on.
    fn write_recording(&mut self, rows: &[String]) {
        let Some(recording) = &mut self.recording else { return };
        let write = |file: &mut BufWriter<File>| {
            rows.iter()
                .try_for_each(|row| file.write_all(row.as_bytes()).and_then(|()| file.write_all(b"\n")))?;
            file.flush()
        };
        if let Err(source) = write(&mut recording.file) {
            self.failure = Some(Error::Recording { path: recording.path.clone(), source });
            self.recording = None;
        }
    }

    /// Ends the exchange, and returns what went wrong with the recording.
    pub fn finish(mut self) -> Option<Error> {
        self.flush(0);
        self.store.finish();
        self.failure.take()
    }
}
