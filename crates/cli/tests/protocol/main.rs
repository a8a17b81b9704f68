//! The protocol itself: responses, commands, bad input, and that nothing else reaches stdout.

#![expect(clippy::panic, reason = "helpers report failures by panicking")]

mod bad_input;
mod commands;
mod hostile_lines;
mod responses;
mod stdout;
