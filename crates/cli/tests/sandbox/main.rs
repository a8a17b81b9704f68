//! The sandbox: every way out is tried, everything ends, and what cannot be confined does not start.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]
#![expect(clippy::print_stdout, reason = "what a machine cannot have is said, not skipped")]

mod attacks;
mod ending;
mod hosts;
mod keepers;
mod levels;
mod matrix;
mod overlay;
mod workspace_files;
