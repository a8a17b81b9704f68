//! The built-in tools of bowline: read, bash, edit, write, grep, find, ls and todo.
//!
//! This crate owns what a tool does to files and processes and what it reports to a model: output is truncated to the same
//! limits everywhere (`truncate`), a command is killed with all its descendants (`process_tree`), a file is replaced
//! completely or not at all (`atomic_file`). It knows neither the model nor the loop that calls it: a call receives its
//! working directory, cancel token and environment in a [`CallContext`] and returns an [`Outcome`]. What the tools may
//! know of the process's environment is in [`Options`].
//!
//! A new tool is one file with a `TOOL` of type `builtin::Builtin`, which states its [traits](traits_of), and one line in
//! the table of `toolbox`.

mod atomic_file;
mod bash;
mod builtin;
mod capture;
mod closed_paths;
mod command;
mod command_environment;
mod command_logs;
mod confinement;
mod edit;
mod editor;
mod effective_arguments;
mod error;
mod file_locks;
mod find;
mod glob;
mod grep;
mod image;
mod kills;
mod listing;
mod ls;
mod orphans;
mod own_process;
mod panics;
mod parameters;
mod paths;
mod piped_command;
#[cfg_attr(unix, path = "platform_unix.rs")]
#[cfg_attr(not(unix), path = "platform_windows.rs")]
mod platform;
#[cfg(target_os = "linux")]
mod process_table;
mod process_tree;
mod read;
mod service;
mod shell;
mod terminal_text;
#[cfg(test)]
mod testing;
mod todo;
mod tool;
mod toolbox;
mod truncate;
mod unsandboxed;
mod utf8;
mod walk;
mod watch;
mod write;

pub use builtin::own_paths;
pub use closed_paths::{ClosedPaths, IsClosed};
pub use command::{CommandOutcome, CommandRequest, run_command};
pub use command_environment::{
    CommandEnvironment, Inherit, SECRET_PREFIXES, is_name_of_secret, is_secret_variable, looks_secret,
};
pub use command_logs::{keep_text, remove_logs};
pub use confinement::{
    Confinement, HostAnswer, HostGate, NOT_AN_OVERLAY, OutputSink, WriteAccess, not_an_overlay,
};
pub use editor::{Editor, EditorFailure};
pub use error::Error;
pub use image::{fit_all as fit_images, fits as image_fits, mime_type as image_type};
pub use kills::finish_commands;
pub use orphans::adopt_orphans;
pub use own_process::OwnProcess;
pub use piped_command::{KeptOutput, PipedCommand, PipedEnding, PipedOutcome, run_piped};
pub use process_tree::VARIABLE as MARK_VARIABLE;
#[cfg(target_os = "linux")]
pub use process_tree::restrict_commands;
pub use read::show_text;
pub use service::{Service, ServiceEnd, ServiceLaunch, ServicePipes};
pub use shell::default_shell;
pub use todo::{TODO, TodoList, check_todos};
pub use tool::{BoxFuture, CallContext, Outcome, Progress, Tool};
pub use toolbox::{Options, Selection, Toolbox, effective_arguments, traits_of};
pub use truncate::{Limited, limit_text};
pub use unsandboxed::{UNSANDBOXED, wants_unsandboxed, with_unsandboxed_commands};
pub use watch::{WATCH_ROLE, watch};
