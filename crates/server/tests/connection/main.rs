//! Connections over pipes in memory: one session in the dialect `pi`, and several in a dialect of the tests.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod agent;
mod background;
mod client;
mod ending;
mod isolation;
mod memory;
mod numbered;
mod opening;
mod recorded_dialogs;
mod single_session;
mod two_sessions;
