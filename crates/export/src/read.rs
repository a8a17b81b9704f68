//! Reads a session in one pass, without a lock: a session may be written to while it is exported.

use std::collections::HashMap;
use std::io::BufRead;

use serde_json::Value;

use crate::Error;
use crate::decode::{self, Fields};
use crate::entry::{Body, Entry, Position, Session};

/// Reads a session from its lines.
pub(crate) fn read(mut lines: impl BufRead) -> Result<Session, Error> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line).map_err(Error::Read)?;
        let is_last = line.pop_if(|last| *last == b'\n').is_none();
        reader.line(&line, is_last)?;
        if is_last {
            return reader.finish();
        }
    }
}

#[derive(Default)]
struct Reader {
    session: Session,
    has_header: bool,
    positions: HashMap<String, Position>,
    /// Entries whose parent had not been seen when they were.
    orphans: Vec<(Position, String)>,
}

impl Reader {
    /// Takes in a line; the last one, which no line feed ends, may still be in the making.
    fn line(&mut self, line: &[u8], is_last: bool) -> Result<(), Error> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Ok(Value::Object(fields)) = serde_json::from_slice(line) else {
            self.session.malformed_lines += usize::from(!is_last);
            return Ok(());
        };
        let mut fields = Fields(fields);
        let kind = fields.0.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match (self.has_header, kind.as_str()) {
            (false, "session") => self.header(fields),
            (false, _) => return Err(Error::NotASession),
            (true, "session") => {}
            (true, "") => self.session.malformed_lines += 1,
            (true, kind) => {
                let id = fields.text("id");
                self.entry(kind, id, fields);
            }
        }
        Ok(())
    }

    fn header(&mut self, mut fields: Fields) {
        self.has_header = true;
        let session = &mut self.session;
        session.id = fields.text("id").unwrap_or_default();
        // The first generation wrote no version.
        session.version = fields.number("version").unwrap_or(1);
        session.started = fields.time("timestamp");
        session.working_directory = fields.text("cwd").unwrap_or_default();
        session.parent_session = fields.text("parentSession");
    }

    fn entry(&mut self, kind: &str, id: Option<String>, mut fields: Fields) {
        let position = self.session.entries.len();
        let (id, parent) = if self.session.version < 2 {
            // The first generation had no ids: its entries are a chain.
            (format!("{:08x}", position + 1), position.checked_sub(1))
        } else if let Some(id) = id {
            (id, self.parent(&mut fields))
        } else {
            self.session.malformed_lines += 1;
            return;
        };
        let time = fields.time("timestamp");
        let body = decode::body(kind, fields);
        if let Body::Name(name) = &body {
            self.session.name = Some(name.clone()).filter(|name| !name.trim().is_empty());
        }
        self.positions.insert(id.clone(), position);
        self.session.entries.push(Entry { id, parent, time, body });
    }

    fn parent(&mut self, fields: &mut Fields) -> Option<Position> {
        let id = fields.text("parentId")?;
        let parent = self.positions.get(&id).copied();
        if parent.is_none() {
            self.orphans.push((self.session.entries.len(), id));
        }
        parent
    }

    fn finish(mut self) -> Result<Session, Error> {
        if !self.has_header {
            return Err(Error::NotASession);
        }
        for (child, parent) in &self.orphans {
            self.session.entries[*child].parent = self.positions.get(parent).copied();
        }
        if !self.orphans.is_empty() {
            break_rings(&mut self.session.entries);
        }
        Ok(self.session)
    }
}

/// Makes a root of an entry in each ring of parents, which only a damaged or malicious file has.
fn break_rings(entries: &mut [Entry]) {
    let mut walk_of = vec![0; entries.len()];
    for start in 0..entries.len() {
        let walk = start + 1;
        let mut position = start;
        while walk_of[position] == 0 {
            walk_of[position] = walk;
            let Some(parent) = entries[position].parent else { break };
            if walk_of[parent] == walk {
                entries[position].parent = None;
                break;
            }
            position = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Block;

    fn session(lines: &[&str]) -> Session {
        read(lines.join("\n").as_bytes()).unwrap()
    }

    fn parents(session: &Session) -> Vec<Option<Position>> {
        session.entries.iter().map(|entry| entry.parent).collect()
    }

    #[test]
    fn a_file_of_version_1_is_a_chain() {
        let session = session(&[
            r#"{"type":"session","id":"s","timestamp":"2026-11-16T00:55:48.502Z","cwd":"/w"}"#,
            r#"{"type":"message","message":{"role":"user","content":"a"}}"#,
            r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":2,"tokensBefore":5}"#,
        ]);
        assert_eq!((session.version, session.working_directory.as_str()), (1, "/w"));
        assert_eq!(parents(&session), [None, Some(0)]);
        assert_eq!(session.entries[0].body, Body::User(vec![Block::Text("a".into())]));
    }

    #[test]
    fn bad_lines_are_counted_but_not_the_one_in_the_making() {
        let session = session(&[
            "",
            "bad",
            r#"{"type":"session","version":3,"id":"s"}"#,
            "{\"type\":",
            "[1]",
            r#"{"type":"label","parentId":null}"#,
            r#"{"type":"session_info","id":"a","parentId":null,"name":"n"}"#,
            r#"{"type":"message","id":"b","parentId":"a","mess"#,
        ]);
        assert_eq!((session.malformed_lines, session.entries.len()), (4, 1));
        assert_eq!(session.name.as_deref(), Some("n"));
    }

    #[test]
    fn later_parents_are_found_and_rings_are_broken() {
        let line = |id: &str, parent: &str| format!(r#"{{"type":"x","id":"{id}","parentId":"{parent}"}}"#);
        let lines = [
            line("a", "b"),
            line("b", "c"),
            line("c", "a"),
            line("d", "d"),
            line("e", "none"),
            line("f", "a"),
        ];
        let text = format!("{{\"type\":\"session\",\"version\":3}}\n{}", lines.join("\n"));
        let session = read(text.as_bytes()).unwrap();
        assert_eq!(parents(&session), [Some(1), Some(2), None, None, None, Some(0)]);
    }

    #[test]
    fn something_else_is_not_a_session() {
        for text in ["", "hello", "{\"type\":\"message\"}", "[]"] {
            assert!(matches!(read(text.as_bytes()), Err(Error::NotASession)), "{text}");
        }
    }
}
