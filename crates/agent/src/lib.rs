//! The engine of bowline as a library: a coding agent in the same process.
//!
//! What it owns: putting an agent together from what the caller names, and serving it to a
//! [`bowline_protocol::Connection`] over a pipe in memory. So commands, events and handlers are those of a client, and a
//! program can go from one to the other by changing how it starts.
//!
//! Nothing is read from the environment, the home directory or the settings of the user: what is not named is not there.
//! There are no extensions, no MCP servers, no skills and no sandbox; a process of bowline has them all.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use bowline_agent::{Agent, Outcome};
//!
//! let folder = std::env::temp_dir();
//! let agent = Agent::builder(folder).model("scripted/demo").no_tools().start().await?;
//! let run = agent.prompt_and_wait("hello").await?;
//! assert_eq!(run.outcome, Outcome::Done);
//! agent.stop().await;
//! # Ok(())
//! # }
//! ```

mod agent;
mod assembly;
mod builder;
mod error;
mod serving;

pub use agent::Agent;
pub use bowline_protocol::*;
pub use builder::Builder;
pub use error::StartError;
pub use serving::{Serving, serve};

/// Compiles the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust-library.md")]
struct Documentation;
