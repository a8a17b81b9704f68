//! A session driven directly, in one process: every transition of a run, held against the grammar of the dialect `pi`.
//!
//! A test builds a [`setup::Setup`], starts a [`driver::Driver`] with it, sends commands and decides when the reports of
//! the session's tasks are handled. Nothing happens behind its back, so every race has one outcome.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod aborting;
mod answers;
mod approvals;
mod branches;
mod budgets;
mod changes_between_turns;
mod compaction;
mod context_files;
mod driver;
mod extensions;
mod images;
mod output;
mod overflow;
mod panics;
mod policies;
mod questions;
mod random_extensions;
mod reattaching;
mod retries;
mod sandboxing;
mod setup;
mod shutdown;
mod steering;
mod storage;
mod stream_rules;
mod subagents;
mod switching;
mod test_extension;
mod test_tools;
mod todos;
mod tool_calls;
mod user_commands;
