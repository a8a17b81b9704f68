//! A scripted model over HTTP and a driver for the real binary, for tests.
//!
//! A test starts a [`ModelServer`] and scripts its answers, creates a [`Workspace`] that points to it, and drives an
//! [`Agent`] over its stdin and stdout as any client would. Everything blocks, and every wait has a time-out that panics
//! with the transcript, so tests are plain functions:
//!
//! ```no_run
//! use bowline_testkit::{Reply, Workspace};
//! use serde_json::json;
//!
//! let (server, workspace) = Workspace::with_server();
//! server.reply(Reply::new().tool("bash", json!({ "command": "echo hello" })));
//! server.reply(Reply::text("done"));
//! let mut agent = workspace.start();
//! agent.send(json!({ "id": "1", "type": "prompt", "message": "say hello" }));
//! assert_eq!(agent.response("1")["success"], true);
//! let records = agent.collect_until_settled();
//! assert_eq!(server.requests().len(), 2);
//! ```
//!
//! [`Launch`] starts bowline in other ways: another dialect or model, more arguments, environment variables, sockets.
//!
//! Linux only: processes are inspected through `/proc`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test kit reports by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod agent;
mod eventually;
mod exchange;
mod finished;
mod grammar;
mod launch;
mod missing_sandbox;
mod model;
mod process_linux;
mod protocol;
mod records;
mod session_file;
mod workspace;

pub use agent::{Agent, of_type, types};
pub use eventually::eventually;
pub use exchange::announced;
pub use finished::Finished;
pub use grammar::assert_well_formed;
pub use launch::{Launch, bowline};
pub use missing_sandbox::sandbox_is_missing;
pub use model::gate::Gate;
pub use model::reply::{Reply, Usage};
pub use model::request::Request;
pub use model::server::ModelServer;
pub use process_linux::{Memory, cpu_time_of, descendants, is_alive, is_watcher, memory_of, peak_memory_of};
pub use protocol::Protocol;
pub use session_file::{keys, session_lines, session_messages};
pub use workspace::{Api, SECRET, Workspace};
