//! The protocol `pi` from the client's side.
//!
//! What it owns: the types of all commands, responses and events, which are generated from the schema; and
//! [`Connection`], one end of a connection over any reader and writer. It matches responses with commands, hands out
//! events with back-pressure, and runs the functions that answer dialogs, approvals and calls of the client's tools.
//!
//! `bowline-client` attaches a process to it, `bowline-agent` an engine in the same process.

mod connection;
mod ends;
mod error;
mod events;
mod fan_out;
mod generated;
mod handlers;
mod lasting;
mod line;
mod link;
mod pending;
mod run;
mod timeouts;
mod tool;

pub use connection::{Connection, Options};
pub use ends::{Polled, Sink, Source};
pub use error::{Ending, Error};
pub use events::Events;
pub use fan_out::{Bounds, KeepReading};
pub use generated::*;
pub use handlers::{Decision, DialogAnswer, Handlers};
pub use line::{Answer, Command};
pub use link::Introduction;
pub use run::{ActiveRun, Outcome, Run};
pub use timeouts::Timeouts;
pub use tool::{Tool, ToolCall, ToolOutput};
