//! Upgrades files of older versions before the first entry is appended.
//!
//! Version 1 had no ids: the entries were a chain, and compactions counted lines. Version 2 called the messages of
//! extensions `hookMessage`. The upgraded file replaces the original atomically; the original is kept as
//! `<file>.v1.bak` or `<file>.v2.bak`.

use std::io::BufRead;
use std::path::Path;

use serde_json::{Map, Value};

use crate::Error;
use crate::context::first_kept;
use crate::file::SessionFile;
use crate::header::{CURRENT_VERSION, Header};
use crate::scan::{Scan, scan};
use crate::tree::{Node, Tree};

/// Rewrites `file` in the current format. Entries have the same ids as in `tree`.
pub(crate) fn upgrade(file: &mut SessionFile, header: &Header, tree: &Tree) -> Result<Scan, Error> {
    let content = upgraded_content(file, tree)?;
    file.replace(&content, &format!(".v{}.bak", header.version))?;
    scan(file, Path::new(""))
}

fn upgraded_content(file: &SessionFile, tree: &Tree) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let mut reader = file.reader()?;
    let mut nodes = tree.nodes().iter().peekable();
    let mut line = Vec::new();
    let mut offset = 0;
    let mut header_is_written = false;
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(|error| Error::read(file.path(), error))?;
        if length == 0 {
            return Ok(content);
        }
        let upgraded = if let Some(node) = nodes.next_if(|node| node.offset == offset) {
            upgraded_entry(&line, node, tree)?
        } else if !header_is_written
            && let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(&line)
        {
            header_is_written = true;
            upgrade_header(&mut fields);
            serde_json::to_vec(&fields)?
        } else {
            // Not ours to drop.
            line.trim_ascii_end().to_vec()
        };
        content.extend_from_slice(&upgraded);
        content.push(b'\n');
        offset += length as u64;
    }
}

fn upgrade_header(fields: &mut Map<String, Value>) {
    let rest = std::mem::take(fields);
    fields.insert("type".to_owned(), Value::Null);
    fields.insert("version".to_owned(), CURRENT_VERSION.into());
    fields.extend(rest.into_iter().filter(|(key, _)| key != "version"));
}

/// Returns the line of an entry in the current format.
pub(crate) fn upgraded_entry(line: &[u8], node: &Node, tree: &Tree) -> Result<Vec<u8>, Error> {
    let old: Map<String, Value> = serde_json::from_slice(line)?;
    let parent = node.parent.map(|parent| tree.node(parent).id.as_str());
    let mut fields = Map::new();
    fields.insert("type".to_owned(), Value::Null);
    fields.insert("id".to_owned(), node.id.as_str().into());
    fields.insert("parentId".to_owned(), parent.into());
    let is_unchanged = |key: &str| !matches!(key, "id" | "parentId" | "firstKeptEntryIndex");
    fields.extend(old.into_iter().filter(|(key, _)| is_unchanged(key)));
    if let Some(first_kept) =
        serde_json::from_slice(line).ok().and_then(|compaction| first_kept(&compaction, tree))
    {
        fields.insert("firstKeptEntryId".to_owned(), first_kept.as_str().into());
    }
    if let Some(role) = fields.get_mut("message").and_then(|message| message.get_mut("role"))
        && role == "hookMessage"
    {
        *role = "custom".into();
    }
    Ok(serde_json::to_vec(&fields)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::EntryBody;
    use crate::fixture::{Written, texts};

    fn lines(written: &Written) -> Vec<String> {
        fs::read_to_string(written.path()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_file_of_version_1_is_upgraded_by_the_first_append() {
        let written = Written::new(&[
            r#"{"type":"session","id":"s","timestamp":"T","cwd":"/w","provider":"p"}"#,
            r#"{"type":"message","timestamp":"T","message":{"role":"user","content":"a","timestamp":1}}"#,
            "malformed",
            r#"{"type":"message","timestamp":"T","message":{"role":"user","content":"b","timestamp":1}}"#,
            r#"{"type":"compaction","timestamp":"T","summary":"s","firstKeptEntryIndex":2,"tokensBefore":5}"#,
            r#"{"type":"message","timestamp":"T","message":{"role":"user","content":"c","timestamp":1}}"#,
        ]);
        let original = fs::read(written.path()).unwrap();
        let mut session = written.open();
        assert_eq!(texts(&session), ["summary: s", "b", "c"]);
        assert_eq!(fs::read(written.path()).unwrap(), original);

        let sources = session.context().unwrap().sources;
        session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        assert_eq!(session.context().unwrap().sources, sources);
        assert_eq!(fs::read(written.path().with_extension("jsonl.v1.bak")).unwrap(), original);
        drop(session);
        let session = written.open();
        assert_eq!(
            (texts(&session), session.name()),
            (["summary: s", "b", "c"].map(str::to_owned).to_vec(), Some("n"))
        );

        let lines = lines(&written);
        assert_eq!(
            lines[..2],
            [
                r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/w","provider":"p"}"#,
                r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"T","message":{"role":"user","content":"a","timestamp":1}}"#,
            ]
        );
        assert_eq!(lines[2], "malformed");
        assert_eq!(
            lines[4],
            r#"{"type":"compaction","id":"00000003","parentId":"00000002","timestamp":"T","summary":"s","tokensBefore":5,"firstKeptEntryId":"00000002"}"#
        );
    }

    #[test]
    fn a_file_of_version_2_keeps_its_ids_and_branches() {
        let hook =
            r#""message":{"role":"hookMessage","customType":"h","content":"x","display":true,"timestamp":1}"#;
        let written = Written::new(&[
            r#"{"type":"session","version":2,"id":"s","timestamp":"T","cwd":"/w"}"#,
            r#"{"type":"message","id":"aa","parentId":null,"timestamp":"T","message":{"role":"user","content":"a","timestamp":1}}"#,
            r#"{"type":"message","id":"bb","parentId":"aa","timestamp":"T","message":{"role":"user","content":"b","timestamp":1}}"#,
            &format!(r#"{{"type":"message","id":"cc","parentId":"aa","timestamp":"T",{hook}}}"#),
        ]);
        let mut session = written.open();
        assert_eq!(texts(&session), ["a", "h: x"]);
        session.move_leaf(Some(&"bb".into())).unwrap();
        session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        assert_eq!(texts(&session), ["a", "b"]);
        session.move_leaf(Some(&"cc".into())).unwrap();
        assert_eq!(texts(&session), ["a", "h: x"]);
        let lines = lines(&written);
        assert!(lines[3].contains(r#""id":"cc","parentId":"aa""#) && lines[3].contains(r#""role":"custom""#));
        assert!(written.path().with_extension("jsonl.v2.bak").exists());
        assert!(matches!(
            crate::Session::open(written.path(), std::path::Path::new("/")),
            Err(crate::Error::Locked { .. })
        ));
    }

    #[test]
    fn a_backup_is_never_overwritten() {
        let written = Written::new(&[r#"{"type":"session","id":"s"}"#]);
        let backup = written.path().with_extension("jsonl.v1.bak");
        fs::write(&backup, "older").unwrap();
        written.open().append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        assert_eq!(fs::read_to_string(backup).unwrap(), "older");
        assert!(written.path().with_extension("jsonl.v1.bak2").exists());
    }
}
