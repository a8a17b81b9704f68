//! Extensions that are processes: finding and starting them, what they register, what they are sent and what they send.
//!
//! A [`ProcessHost`] starts them for a session. The `supervisor` runs each process, the `reader` takes what it sends, and a
//! `Connection` knows what it owes an answer to. `extension` is what the engine sees of it.

mod completion;
mod component_keys;
mod connection;
mod delta_lines;
mod discovery;
mod displays;
mod entry_file;
mod error_log;
#[cfg_attr(unix, path = "executable_unix.rs")]
#[cfg_attr(not(unix), path = "executable_windows.rs")]
mod executable;
mod extension;
mod flood;
mod host;
mod lanes;
mod manifest;
mod mirror;
mod notifications;
mod outgoing;
mod pausable_clock;
mod pi_host;
mod pipe;
mod plan;
mod provider;
mod provider_login;
mod reader;
mod registration;
mod requests;
mod restarts;
mod router;
mod serving_process;
#[cfg_attr(unix, path = "stdin_at_once_unix.rs")]
#[cfg_attr(not(unix), path = "stdin_at_once_windows.rs")]
mod stdin_at_once;
mod supervisor;
mod tool;
mod trust_question;

pub use discovery::{Found, Launch, Named, NotLoaded, PiFolder, Places, Program};
pub use host::ProcessHost;
pub use manifest::{MANIFEST, Manifest};
pub use pi_host::{OLDEST_NODE, runtime as pi_runtime};
pub use plan::{DEFAULT_START_LIMIT, Direction, GivenFlag, IfUnknown, PiHosting, Plan, Trace};
