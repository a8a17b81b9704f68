//! What runs changed in the workspace, and how it is restored.
//!
//! File tools announce what they are about to change, and the content is kept. Commands can change anything, so the
//! workspace is looked at before and after them: what differs is what they changed. [`Recorder`] does both for one
//! session, [`Recorder::undo`] puts files back that are still as a run left them.
//!
//! The sandbox applies changes that were kept apart from the workspace. It uses [`Folder`] for that, which opens nothing through
//! links, and [`Differences`] to show them.
//!
//! Everything here blocks as long as the disk does: callers that must not block use another thread.

#[cfg(not(unix))]
#[path = "beneath_other.rs"]
mod beneath;
#[cfg(unix)]
#[path = "beneath_unix.rs"]
mod beneath;
mod capture;
mod compare;
mod difference;
mod error;
mod git_index;
mod git_objects;
mod git_settings;
mod image;
mod index;
mod journal;
mod recorder;
mod recover;
mod report;
mod restore;
mod restoring;
mod room;
mod state;
mod store;

pub use beneath::{Folder, Name};
pub use difference::Differences;
pub use error::Error;
pub use recorder::{Options, Recorder, TurnEnd, remove};
pub use report::incomplete_text;
pub use state::{Kind, Stat};
