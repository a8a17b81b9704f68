//! Extensions that are processes: what they can do, and what they cannot do to bowline.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]

mod actor;
mod command_hooks;
mod commands;
mod completions;
mod dialogs;
mod examples;
mod failures;
mod flags;
mod hooks;
mod listing;
mod loading;
mod providers;
mod recorded_abort;
mod recordings;
mod reload;
mod requests;
mod results;
mod sessions;
mod shared_process;
mod tools;
mod trust;
