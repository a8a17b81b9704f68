//! Telling apart the sessions of one connection.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// A session's number on its connection. The dialect chooses it and knows the client's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionTag(pub u32);

impl SessionTag {
    /// The session that a connection starts with; the only one in dialects that have one session.
    pub const FIRST: Self = Self(0);
}

/// The session that a client wants opened.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRequest {
    /// Where the session works, as an absolute path.
    pub working_directory: PathBuf,
    pub source: SessionSource,
    /// MCP servers that only this session uses, by name, in the form of `mcp.json`. Their values are taken as they are.
    pub servers: Map<String, Value>,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionSource {
    /// It is new. One that is kept is on disk at once, so that it can be opened again although nothing was said in it.
    New {
        is_kept: bool,
    },
    File(PathBuf),
    /// It begins as a copy of the session in this file, which may be in use.
    CopyOf(PathBuf),
}
