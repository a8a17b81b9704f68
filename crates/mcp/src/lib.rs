//! Servers of the Model Context Protocol (MCP) as tools and commands of bowline.
//!
//! [`Configuration`] reads which servers there are. [`Servers`] starts them when they are needed, keeps them running, and
//! offers their tools ([`Servers::tools`]) and prompts ([`Servers::commands`]). What they need of the program around them is
//! passed in as [`ServerContext`]: how values are evaluated, who can be asked, who hears of changes.
//!
//! Everything that a server controls has a bound (`limits`), and no server can harm another one or the agent: its process is
//! a service of `bowline-tools`, its messages are checked before they are parsed, and whoever waits for it can stop waiting.
//! The protocol itself is that of the crate `rmcp`; the transports are our own (`stdio`, `http`).

mod any_transport;
mod call;
mod configuration;
mod connection;
mod content;
mod error;
mod form;
mod handler;
mod host;
mod http;
mod inventory;
mod limits;
mod names;
mod prompts;
mod resources;
mod server;
mod servers;
mod stdio;
mod tool;

pub use configuration::{Configuration, Problem, ServerConfig, Source, Start, Transport};
pub use error::Error;
pub use host::{
    Asker, Host, HttpClient, Listener, NoAsker, Notice, Question, QuestionKind, ServerContext, Severity,
    Timing,
};
pub use prompts::{ExpandedPrompt, PromptCommand};
pub use servers::{Servers, Status, ToolSummary};
