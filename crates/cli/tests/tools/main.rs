//! Tools, and images in prompts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod builtin;
mod commands;
mod images;
mod replacing;
