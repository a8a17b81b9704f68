//! What takes part in a session from outside the program.
//!
//! Each part is a [`Host`](bowline_engine::Host): [command hooks](command_hooks), which are shell commands that run at
//! events, extension processes, which speak our [protocol] over JSON lines, and MCP servers.

pub mod command_hooks;
mod discovery;
mod entry_file;
#[cfg_attr(unix, path = "executable_unix.rs")]
#[cfg_attr(not(unix), path = "executable_windows.rs")]
mod executable;
mod manifest;
mod mcp;
pub mod protocol;

pub use discovery::{Found, Launch, NotLoaded, Places};
pub use manifest::{MANIFEST, Manifest};
pub use mcp::{McpHost, McpOptions};
