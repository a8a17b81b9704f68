//! `bowline inspect`: what passes through it, what its page is served, what it saves.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers report failures by panicking")]

mod inspected;
mod mistakes;
mod page_server;
mod pass_through;
mod saving;
