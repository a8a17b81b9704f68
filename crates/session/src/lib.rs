//! The session file: an append-only tree on disk, in pi's version 3 format.
//!
//! A session is one file of JSON lines. The first line is the header, every further line an entry with an id and
//! the id of its parent; the path from the root to the current leaf is the conversation. Nothing in the file is
//! ever changed: an edit, a compaction or a new branch is one more line.
//!
//! Opening reads the file once and keeps only where each entry is; bodies are read back when the context or the
//! statistics ask for them. One process at a time has a session: its file is locked for as long as it is open.
//!
//! The crate reads no environment and no home directory: the caller says where sessions live.

mod clock;
mod context;
mod decode;
mod entry;
mod error;
mod file;
mod header;
mod scan;
mod session;
mod statistics;
mod store;
mod tree;
mod upgrade;

#[cfg(test)]
mod fixture;

pub use clock::Clock;
pub use context::Context;
pub use entry::{EntryBody, EntryId};
pub use error::Error;
pub use header::{Header, validate_session_id};
pub use session::{Location, NewSession, Session};
pub use statistics::Statistics;
pub use store::Store;
