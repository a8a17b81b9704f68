//! What takes part in a session from outside the program.
//!
//! Each part is a [`Host`](bowline_engine::Host): [command hooks](command_hooks), which are shell commands that run at
//! events, extension processes, which speak our [protocol] over JSON lines, and MCP servers.

pub mod command_hooks;
mod mcp;
mod process;
pub mod protocol;

pub use mcp::{McpHost, McpOptions, McpSessionServers};
pub use process::{
    DEFAULT_START_LIMIT, Direction, Found, GivenFlag, IfUnknown, Launch, MANIFEST, Manifest, Named,
    NotLoaded, OLDEST_NODE, PiFolder, PiHosting, Places, Plan, ProcessHost, Program, Trace, pi_runtime,
};
