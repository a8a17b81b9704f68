//! Runs: how prompts are admitted, what is queued, and how a run ends, fails, is cancelled and makes room.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod admission;
mod budgets;
mod cancellation;
mod compaction;
mod error_kinds;
mod outcomes;
mod provider_failures;
mod queues;
mod turn_limit;
