//! Command hooks: shell commands that run at events of a session, in Claude Code's format.
//!
//! A command reads JSON from stdin and answers by its exit code, stdout and stderr. No process exists until an event
//! has a command that matches it. `config` reads the settings, `moments` says what each event is and what an answer does,
//! `tools` gives our tools the names and arguments that hooks written for Claude Code expect.

mod answer;
mod condition;
mod config;
mod event;
mod host;
mod matcher;
mod moments;
mod payload;
mod runner;
mod session_hooks;
#[cfg(all(test, unix))]
mod tests;
mod tools;
mod verdict;

pub use config::IMPORT_KEY;
pub use host::{CommandHooks, HookSources};
