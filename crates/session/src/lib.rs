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

mod check;
mod clock;
mod context;
mod copy;
mod decode;
mod durability;
mod entries;
mod entry;
mod error;
mod file;
mod fork;
mod header;
mod label;
mod list;
mod navigation;
mod outline;
mod repair;
mod scan;
mod session;
mod statistics;
mod store;
mod summary;
mod tree;
mod upgrade;

#[cfg(test)]
mod fixture;

pub use bowline_core::reply::SessionSummary;
pub use check::{BadLine, Problem, Report, check_file};
pub use clock::Clock;
pub use context::{CompactionEntry, Context};
pub use durability::Durability;
pub use entry::{EntryBody, EntryId};
pub use error::Error;
pub use fork::{Fork, ForkMessage};
pub use header::{Header, validate_session_id};
pub use list::{ListQuery, Scope, SessionPage};
pub use navigation::Navigation;
pub use outline::TreeNode;
pub use repair::repair_file;
pub use session::{Location, NewSession, Session};
pub use statistics::{ModelStatistics, Statistics};
pub use store::Store;
