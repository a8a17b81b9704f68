//! The built-in tools of bowline: read, bash, edit, write, grep, find and ls.
//!
//! This crate owns what a tool does to files and processes, what it tells a model about it, and how much of it: output is
//! cut to the same limits everywhere (`truncate`), a command dies with all its descendants (`process_tree`), a file is
//! replaced whole or not at all (`atomic_file`). It knows neither the model nor the loop that calls it: a call gets its
//! working directory, its cancel token and its environment in a [`CallContext`], and hands back an [`Outcome`].
//!
//! A new tool is one file with a `TOOL` of type `builtin::Builtin`, and one line in the table of `toolbox`.

mod atomic_file;
mod bash;
mod builtin;
mod capture;
mod command;
mod edit;
mod error;
mod file_locks;
mod find;
mod glob;
mod grep;
mod image;
mod listing;
mod ls;
mod parameters;
mod paths;
mod process_tree;
mod read;
mod shell;
mod terminal_text;
#[cfg(test)]
mod testing;
mod tool;
mod toolbox;
mod traits;
mod truncate;
mod utf8;
mod walk;
mod write;

pub use command::{CommandOutcome, CommandRequest, run_command};
pub use error::Error;
pub use image::{fit_all as fit_images, fits as image_fits};
pub use tool::{BoxFuture, CallContext, Outcome, Progress, Tool};
pub use toolbox::{Options, Selection, Toolbox, is_mutating};
pub use traits::traits_of;
