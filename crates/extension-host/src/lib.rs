//! What takes part in a session from outside the program.
//!
//! Each part is a [`Host`](bowline_engine::Host): [command hooks](command_hooks), which are shell commands that run at
//! events, extension processes, which speak our [protocol] over JSON lines, and MCP servers.

mod argument_check;
pub mod command_hooks;
mod completion;
mod connection;
mod delta_lines;
mod discovery;
mod displays;
mod entry_file;
mod error_log;
#[cfg_attr(unix, path = "executable_unix.rs")]
#[cfg_attr(not(unix), path = "executable_windows.rs")]
mod executable;
mod flood;
mod host;
mod manifest;
mod mcp;
mod mirror;
mod notifications;
mod outgoing;
mod pausable_clock;
mod plan;
mod process_extension;
pub mod protocol;
mod provider;
mod reader;
mod registration;
mod requests;
mod restarts;
mod supervisor;
mod tool;
mod trust_question;

pub use discovery::{Found, Launch, NotLoaded, Places};
pub use host::ProcessHost;
pub use manifest::{MANIFEST, Manifest};
pub use mcp::{McpHost, McpOptions};
pub use plan::{DEFAULT_START_LIMIT, Direction, GivenFlag, Plan, Trace};
