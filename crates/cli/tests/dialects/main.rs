//! The dialects of the emulated agents, and how one is selected.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod attachments;
mod error_texts;
mod omp;
mod operator;
mod operator_flat;
mod operator_runs;
mod opi;
mod pi_classic;
mod selection;
