//! Drives bowline as a child process.
//!
//! What it owns: finding and starting the program, stopping it, starting it again after a crash, and what is known of
//! its end: the exit code and the tail of stderr. Everything else, such as the commands and the events, is
//! [`bowline_protocol::Connection`], to which a [`Client`] dereferences.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bowline_client::Client;
//!
//! let client = Client::builder().model("anthropic/claude-sonnet-4-5").working_directory("/some/project").start().await?;
//! let run = client.prompt_and_wait("What is in this folder?").await?;
//! assert_eq!(run.outcome, bowline_client::Outcome::Done);
//! client.stop().await;
//! # Ok(())
//! # }
//! ```

mod builder;
mod client;
mod error;
mod process;
mod session_choice;
mod stderr;
mod supervisor;

pub use bowline_protocol::*;
pub use builder::{Builder, Restarts};
pub use client::Client;
pub use error::StartError;

/// Compiles the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust-client.md")]
struct Documentation;
