//! What must hold whatever happens: bounded memory, orderly shutdown, no lost data, no leaks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod hostile_provider;
mod kills;
mod network;
mod placed_files;
mod processes;
mod secrets;
mod shutdown;
mod slow_reader;
mod snapshot_memory;
