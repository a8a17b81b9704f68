//! Tools, and images in prompts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod builtin;
mod commands;
mod host_addresses;
mod host_tools;
mod images;
mod replacing;
mod undo;
mod undo_hazards;
