//! The entries as they stand in the file, for clients that read them themselves.

use std::path::Path;

use serde_json::value::RawValue;

use crate::header::CURRENT_VERSION;
use crate::tree::Node;
use crate::{Error, Session, upgrade};

impl Session {
    /// Returns the entries of all branches in the order of the file; with `since`, those after that entry. An
    /// entry of an older format is returned as its upgrade will write it.
    pub fn entries(&self, since: Option<&str>) -> Result<Vec<Box<RawValue>>, Error> {
        let first = match since {
            None => 0,
            Some(id) => self.tree.known_position(id)? as usize + 1,
        };
        self.tree.nodes()[first..].iter().map(|node| self.entry(node)).collect()
    }

    /// Returns one entry.
    pub(crate) fn entry(&self, node: &Node) -> Result<Box<RawValue>, Error> {
        let line = String::from_utf8(self.line(node)?)
            // Not checked when the file is read. JSON cannot carry it, so nor can an answer.
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        // It was JSON when the file was opened.
        RawValue::from_string(line).map_err(|_| Error::Changed {
            file: self.file().unwrap_or(Path::new("(in memory)")).to_path_buf(),
        })
    }

    /// Returns the line of an entry in the current format.
    pub(crate) fn line(&self, node: &Node) -> Result<Vec<u8>, Error> {
        let line = self.storage.read(node)?;
        if self.header.version >= CURRENT_VERSION {
            return Ok(line);
        }
        upgrade::upgraded_entry(&line, node, &self.tree)
    }
}
