//! Rules about tool calls, and what users have decided.
//!
//! [`Gate`] decides whether a call runs, is refused, or is asked about: by when the user wants to be asked, the rules in the
//! settings, what the user has agreed to before, and what the sandbox allows. Asking itself is the engine's affair.

mod command_line;
mod error;
mod forbidden_paths;
mod gate;
mod judgement;
mod path_pattern;
mod remembered;
mod rules;

pub use error::Error;
pub use gate::{Gate, Options};
pub use rules::{ForbiddenPaths, Unsearched};

/// Reads a command line for a fuzzer, which looks for panics and for texts that take too long.
#[doc(hidden)]
pub fn read_command_line(text: &str) -> bool {
    let line = command_line::CommandLine::new(text);
    line.might_run(|words| words.is_empty()) || line.plain().is_some()
}
