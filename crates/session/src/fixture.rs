//! Session files for tests, as other programs would have written them.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_core::Message;
use bowline_core::message::join_text;

use crate::Session;

/// A session file in a temporary directory.
pub(crate) struct Written {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Written {
    /// Writes a file with these lines.
    pub(crate) fn new(lines: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, content).unwrap();
        Self { path, _directory: directory }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[track_caller]
    pub(crate) fn open(&self) -> Session {
        Session::open(&self.path, Path::new("/current")).unwrap()
    }
}

/// Returns the text of each message in the context.
#[track_caller]
pub(crate) fn texts(session: &Session) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(message) => message.text(),
        Message::Assistant(message) => message.text(),
        Message::ToolResult(message) => join_text(&message.content),
        Message::Custom(message) => format!("{}: {}", message.custom_type, join_text(&message.content)),
        Message::BashExecution(message) => message.command.clone(),
        Message::BranchSummary(message) => format!("branch {}: {}", message.from_id, message.summary),
        Message::CompactionSummary(message) => format!("summary: {}", message.summary),
    };
    session.context().unwrap().messages.iter().map(|message| text(message)).collect()
}

/// The header of a session that worked in another folder.
pub(crate) const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/old"}"#;

/// Returns the entry of a user's message with the text `m<id>`.
pub(crate) fn user(id: u32, parent: u32) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"m{id}","timestamp":1}}}}"#
    )
}
