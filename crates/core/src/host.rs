//! What a client does for the agent: it runs tools of its own that the model calls, and reads and writes addresses of its
//! own that the model names.
//!
//! A call of the client has an id, a deadline, and an outcome that is assumed when the client gives none.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::event::ToolReport;
use crate::message::Arguments;
use crate::ui::UiToken;

/// The id of a call, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostCallId(pub u64);

/// A tool that a client offers, not checked yet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostTool {
    pub name: String,
    /// What the tool does and when to use it, for the model.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
    /// Whether the model is told of it only when somebody enables it.
    pub is_hidden: bool,
}

/// A scheme of addresses that a client serves, not checked yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UriScheme {
    /// What precedes `://`.
    pub name: String,
    /// What is found there, for the model.
    pub description: Option<String>,
    pub is_writable: bool,
}

/// Something that the client is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    pub id: HostCallId,
    /// The random part of the id on the wire.
    pub token: UiToken,
    pub work: HostWork,
}

/// What the client is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum HostWork {
    /// Run one of its tools.
    Tool { call_id: String, tool: String, arguments: Arc<Arguments> },
    /// Read one of its addresses.
    Read { url: String },
    /// Write one of its addresses.
    Write { url: String, content: String },
    /// Read a file as it shows it, saved or not.
    ReadFile { path: PathBuf },
    /// Write a file and save it.
    WriteFile { path: PathBuf, content: String },
}

/// What a client does with files that it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientFiles {
    /// Whether it tells what it has of a file that was not saved.
    pub reads: bool,
    /// Whether it writes files.
    pub writes: bool,
}

/// What the client says about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReport {
    pub id: HostCallId,
    pub progress: HostProgress,
}

/// How far the client has come with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HostProgress {
    /// A tool's output so far; replaces the previous update.
    Update(ToolReport),
    /// A tool is done.
    Done { result: ToolReport, is_error: bool },
    /// An address was read or written.
    Resolved(UriResult),
    /// The client's answer cannot be used, and why.
    Invalid(String),
}

/// What an address holds, or how writing it went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UriResult {
    pub content: Option<String>,
    /// Remarks for the model.
    pub notes: Vec<String>,
    pub is_error: bool,
    /// What went wrong, if anything.
    pub error: Option<String>,
}
