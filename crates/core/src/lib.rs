//! The vocabulary of every other crate: commands, replies, events, messages, models, usage and the events of a
//! streamed answer.
//!
//! Nothing here does I/O and nothing is async. Commands, replies and events are not serialisable by design: a
//! dialect gives them their form on the wire. Messages, usage and models are the exception. They have one
//! canonical JSON form, that of pi's session files, because the file, the `pi` dialect and every import share it.

pub mod ask;
pub mod command;
pub mod completion;
pub mod custom_content;
pub mod error_kind;
pub mod event;
pub mod extension_info;
pub mod file_changes;
pub mod hook;
pub mod host;
pub mod json_length;
pub mod limits;
pub mod login;
pub mod message;
pub mod model;
pub mod output;
pub mod pending_changes;
pub mod policy;
pub mod prompt;
pub mod reply;
pub mod sandbox;
pub mod session_tag;
pub mod slash_command;
pub mod stream;
pub mod stream_rule;
pub mod subagent;
pub mod thinking;
pub mod todo;
pub mod tool;
pub mod ui;
pub mod usage;

pub use command::{Command, Origin, Request};
pub use error_kind::ErrorKind;
pub use event::Event;
pub use message::Message;
pub use model::Model;
pub use policy::Policy;
pub use reply::{Answer, Refusal, RefusalCode, Reply};
pub use session_tag::SessionTag;
pub use slash_command::{SlashCommand, SourceInfo};
pub use stream::StreamEvent;
pub use thinking::ThinkingLevel;
pub use tool::{ToolDefinition, ToolDisplay, ToolTraits};
pub use usage::Usage;
