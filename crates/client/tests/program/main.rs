//! The client with the real program.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers report failures by panicking"
)]
#![expect(clippy::needless_update, reason = "later versions may have more fields")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod commands;
mod documentation;
mod examples;
mod load;
mod processes;
mod requests;
mod restarts;
mod runs;
mod trial;
