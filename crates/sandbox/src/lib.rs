//! What confines the tools of a session.
//!
//! A [`Sandbox`] is a [`Confinement`](bowline_tools::Confinement): the built-in tools and the user's commands hand their
//! calls over to it. It starts a keeper, which is another process of the same program: confined by namespaces, Landlock
//! and a filter of system calls, it proves that it is, and then runs the calls. What cannot be confined does not run.
//!
//! The crate knows nothing of the engine. `policy` is what a keeper enforces, `plan` derives it from what users ask for,
//! `keeper` is the other process, `keeper_process` is how bowline talks to it, `sandbox` decides which keeper runs a call,
//! `workspace_overlay` keeps what calls change until it is accepted.
#![forbid(unsafe_code)]

mod error;
pub mod proxy;
mod wishes;

#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod git_config;
#[cfg(target_os = "linux")]
mod git_folders;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod keeper_process;
#[cfg(target_os = "linux")]
pub mod matrix;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod policy;
#[cfg(target_os = "linux")]
mod protected;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod session_folder;
#[cfg(target_os = "linux")]
mod targets;
#[cfg(target_os = "linux")]
mod workspace_overlay;

pub use error::Error;
#[cfg(target_os = "linux")]
pub use keeper::{KEEPER_ROLE, keeper_main};
#[cfg(target_os = "linux")]
pub use report::{all_gaps, all_promises};
#[cfg(target_os = "linux")]
pub use sandbox::{Denied, Place, Sandbox, forget_changes};
pub use wishes::{Home, Wishes};
