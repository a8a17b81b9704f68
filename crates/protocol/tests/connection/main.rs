//! A connection with an agent that a test plays: what it may write, how it ends, who reads slowly.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers report failures by panicking"
)]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod agent;
mod endings;
mod flow;
mod lines;
mod requests;
mod runs;
