//! Telling apart the sessions of one connection.

use std::path::PathBuf;

/// A session's number on its connection. The dialect chooses it and knows the client's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionTag(pub u32);

impl SessionTag {
    /// The session that a connection starts with; the only one in dialects that have one session.
    pub const FIRST: Self = Self(0);
}

/// The session that a client wants opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// Where the session works, as an absolute path.
    pub working_directory: PathBuf,
    /// The file of an existing session; without one a new session is created.
    pub file: Option<PathBuf>,
    /// Whether a new session is on disk at once, so that it can be opened again although nothing was said in it.
    pub keep: bool,
}
