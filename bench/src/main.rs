//! Measures bowline beside floors taken in the same run.
//!
//! Times on one machine cannot be compared with times on another or, on a shared machine, with those of an hour ago.
//! So each measure takes its own floor, the minimum that any program would need for the same work, alternating with
//! bowline; what counts is the ratio. `docs/performance.md` describes each measure.

#![expect(clippy::disallowed_methods, reason = "a program of its own, which reads its arguments")]

mod agent;
mod arguments;
mod counting;
mod deltas;
mod extension;
mod failure;
mod figure;
mod floor;
mod home;
mod hook_round_trip;
mod instructions;
mod list_sessions;
mod long_session;
mod measures;
mod memory;
mod model_server;
mod open_session;
mod pipe;
mod placement;
mod report;
mod round_trip;
mod rust_client;
mod sandbox;
mod size;
mod snapshots;
mod start;
mod start_with_extensions;
mod statistics;
mod stream;
mod subscribed_deltas;
mod table;
mod tool_turns;
mod watchdog;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A floor does nothing unnecessary, so it is handled first.
    if let Some(floor) = floor::asked_for() {
        return floor.run();
    }
    if let Some(extension) = extension::asked_for() {
        return extension.run();
    }
    match report::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bowline-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}
