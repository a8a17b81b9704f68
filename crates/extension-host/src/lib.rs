//! What takes part in a session from outside the program.
//!
//! Each part is an [`Host`](bowline_engine::Host): [command hooks](command_hooks), which are shell commands that run at
//! events, and extension processes, which speak our protocol over JSON lines.

pub mod command_hooks;
