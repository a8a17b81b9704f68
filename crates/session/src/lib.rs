//! The session file: an append-only tree on disk, in pi's version 3 format.
//!
//! A session is one file of JSON lines. The first line is the header, every further line an entry with an id and
//! the id of its parent; the path from the root to the current leaf is the conversation. Lines are only appended: an
//! edit, a compaction or a new branch is one more line.
//!
//! Opening reads the file once and indexes where each entry is; of each line it reads only what the tree needs. Contents
//! are read back, and damage in them is found, when they are needed. A session
//! is open in one process at a time: its file is locked until it is closed. `read` and `display` read files without a
//! lock, `check` and `repair` deal with damaged ones.
//!
//! Everything here blocks and nothing is bound to a thread, so callers that must not block use another thread.
//!
//! The crate reads neither the environment nor the home directory: callers pass in where sessions are stored.

mod check;
mod children;
mod clock;
mod context;
mod copy;
mod custom;
mod decode;
mod depth;
pub mod display;
mod durability;
mod entries;
mod entry;
mod error;
mod file;
mod fork;
mod head;
mod header;
mod label;
mod line;
mod list;
mod mend;
mod navigation;
mod outline;
mod part;
#[cfg_attr(unix, path = "platform_unix.rs")]
#[cfg_attr(windows, path = "platform_windows.rs")]
mod platform;
mod read;
mod repair;
mod scan;
mod session;
mod statistics;
mod storage;
mod store;
mod summary;
mod tree;
mod upgrade;

#[cfg(test)]
mod fixture;

pub use bowline_core::reply::SessionSummary;
pub use check::{BadLine, Problem, Report, check_file};
pub use children::{Child, children_folder, children_of};
pub use clock::Clock;
pub use context::{CompactionEntry, Context, with_content};
pub use custom::CustomData;
pub use durability::Durability;
pub use entry::{EntryBody, EntryId};
pub use error::Error;
pub use fork::{Fork, ForkMessage};
pub use header::{Header, validate_session_id};
pub use label::Label;
pub use list::{ListQuery, Scope, SessionPage};
pub use navigation::Navigation;
pub use outline::{NestedTree, TreeNode};
pub use part::{Part, read_part};
pub use repair::repair_file;
pub use session::{Damage, Location, NewSession, Session};
pub use statistics::{ModelStatistics, Statistics};
pub use store::{Layout, Store};
