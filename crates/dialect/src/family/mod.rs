//! What the dialects of pi's family share: `pi`, `pi-classic` and `omp` grew out of one protocol, so most of their
//! commands, records and responses are the same and defined here once. A dialect defines what it does differently.

pub(crate) mod answers;
pub(crate) mod approvals;
pub(crate) mod attachments;
pub(crate) mod capabilities;
pub(crate) mod commands;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod error_code;
pub(crate) mod extensions;
pub(crate) mod file_changes;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod logins;
pub(crate) mod pending_changes;
pub(crate) mod records;
pub(crate) mod repeating;
pub(crate) mod responses;
pub(crate) mod run_messages;
mod shape;
pub(crate) mod state_cache;
pub(crate) mod steps;
pub(crate) mod subagents;
pub(crate) mod todo_phases;
pub(crate) mod tree;
pub(crate) mod user_interface;
