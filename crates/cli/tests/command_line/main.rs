//! The command line: flags, subcommands, and the documentation of both.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod auth;
mod completions;
mod config;
mod doctor;
mod documentation;
mod example_clients;
mod export;
mod extension;
mod flags;
mod foreign_flags;
mod likely_mistakes;
mod list_models;
mod mistakes;
mod sessions;
mod working_directory;
