//! The first line of a session file, and the session's id.

use std::path::Path;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Error;
use crate::clock::{self, Clock};

/// The format version of new and upgraded files.
pub(crate) const CURRENT_VERSION: u32 = 3;

/// The `type` of a header.
pub(crate) const TYPE: &str = "session";

/// The first line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The format version. Version 1 did not write it.
    #[serde(default = "first_version")]
    pub version: u32,
    pub id: String,
    #[serde(default)]
    pub timestamp: String,
    /// The working directory. Empty in the oldest files.
    #[serde(default)]
    pub cwd: String,
    /// The session that this one is derived from, as its creator named it.
    #[serde(default)]
    pub parent_session: Option<String>,
}

fn first_version() -> u32 {
    1
}

impl Header {
    /// Returns the header of a session that starts now; without an `id`, a new one is generated.
    pub(crate) fn new(
        id: Option<String>,
        working_directory: &Path,
        parent: Option<String>,
        clock: &Clock,
    ) -> Self {
        Self {
            version: CURRENT_VERSION,
            id: id.unwrap_or_else(|| clock.session_id()),
            timestamp: clock.text(),
            cwd: working_directory.to_string_lossy().into_owned(),
            parent_session: parent,
        }
    }

    /// Reads a header line for display: fields that are missing or of another type are empty. Any other line gives none.
    pub(crate) fn read_leniently(line: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        if fields.get("type").and_then(Value::as_str) != Some(TYPE) {
            return None;
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let version = fields.get("version").and_then(Value::as_u64).unwrap_or(1);
        let milliseconds = || fields.get("timestamp").and_then(Value::as_u64).filter(|time| *time > 0);
        Some(Self {
            version: u32::try_from(version).unwrap_or(u32::MAX),
            id: text("id").unwrap_or_default(),
            timestamp: text("timestamp").or_else(|| milliseconds().map(clock::text)).unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
        })
    }

    /// Returns the file name for this session.
    pub(crate) fn file_name(&self) -> String {
        format!("{}_{}.jsonl", clock::for_file_name(&self.timestamp), self.id)
    }

    /// Returns the line for the file, with its line feed.
    pub(crate) fn line(&self) -> Result<Vec<u8>, Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", TYPE)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("cwd", &self.cwd)?;
        if let Some(parent) = &self.parent_session {
            map.serialize_entry("parentSession", parent)?;
        }
        map.end()
    }
}

/// Checks that `id` is a valid session id: letters, digits, `.`, `_` and `-`, with a letter or digit at both ends, so
/// that it is safe in a file name.
pub fn validate_session_id(id: &str) -> Result<(), Error> {
    let bytes = id.as_bytes();
    let ends_are_plain =
        [bytes.first(), bytes.last()].iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric));
    let all_are_allowed = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
    if ends_are_plain && all_are_allowed { Ok(()) } else { Err(Error::InvalidId { id: id.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_ids_are_safe_in_file_names() {
        for good in ["a", "0", "a-b", "A._-9", "0190f3c8-7b1e-7c7e-8000-000000000000"] {
            assert!(validate_session_id(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "a-", ".a", "a/b", "a b", "../a", "ä", "a\n"] {
            assert!(matches!(validate_session_id(bad), Err(Error::InvalidId { .. })), "{bad}");
        }
    }

    #[test]
    fn header_fields_are_written_in_the_order_of_the_format() {
        let header = Header {
            version: 3,
            id: "i".into(),
            timestamp: "2026-11-16T00:55:48.502Z".into(),
            cwd: "/tmp".into(),
            parent_session: Some("/p.jsonl".into()),
        };
        assert_eq!(
            serde_json::to_string(&header).unwrap(),
            r#"{"type":"session","version":3,"id":"i","timestamp":"2026-11-16T00:55:48.502Z","cwd":"/tmp","parentSession":"/p.jsonl"}"#
        );
        assert_eq!(header.file_name(), "2026-11-16T00-55-48-502Z_i.jsonl");
    }
}
