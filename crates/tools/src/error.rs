//! The errors of tools, each worded so that a model or a user knows what to do next.

use std::io;
use std::path::{Path, PathBuf};

use crate::paths;

/// Why a tool failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("There is no tool named `{name}`. The tools are: {known}.")]
    UnknownTool { name: String, known: String },

    /// The text lists each invalid field.
    #[error("{0}")]
    Arguments(String),

    #[error("Aborted: the call was stopped before it finished.")]
    Aborted,

    /// A panic: the details are on stderr.
    #[error(
        "Internal error: the tool stopped because of a bug in bowline. Nothing is wrong with the arguments."
    )]
    Internal,

    #[error("{0}")]
    Confinement(String),

    #[error("{path} does not exist.{hint}")]
    NotFound { path: String, hint: String },

    #[error("The path is too long: it has {length} bytes, and no path has more than {limit}.")]
    PathTooLong { length: usize, limit: usize },

    #[error("{path} is a directory, not a file. List it with `ls`.")]
    IsDirectory { path: String },

    #[error("{path} is a file, not a directory.")]
    NotDirectory { path: String },

    #[error("{path} is neither a file nor a directory (a device, pipe or socket), so it is not touched.")]
    NotRegular { path: String },

    #[error(
        "{path} is made up by the system, as everything in /proc and /sys is, so the file tools do not touch it. Use bash if you need it."
    )]
    SystemFile { path: String },

    #[error(
        "{path} is in bowline's own folder ({}), which holds keys, settings and sessions. The file tools stay out of it; ask the user to make changes there.", folder.display()
    )]
    OwnFolder { path: String, folder: PathBuf },

    #[error(
        "{path} is too large to be edited: it has {size}, and the limit is {limit}. Use bash, for example sed or perl."
    )]
    TooLargeToEdit { path: String, size: String, limit: String },

    #[error(
        "{path} is a binary file ({size}), so there is no text to show. Inspect it with bash, for example `file` or `xxd | head`."
    )]
    Binary { path: String, size: String },

    #[error(
        "The image {path} ({size}) is too large for a model (the limit is 2000x2000 and 3.4MB), and it cannot be resized here: {reason}. Create a smaller copy with bash and read that."
    )]
    ImageTooLarge { path: String, size: String, reason: &'static str },

    #[error("offset {offset} is past the end of {path}, which has {lines} lines.")]
    OffsetPastEnd { path: String, offset: usize, lines: usize },

    #[error("Could not {action} {path}: {source}.")]
    File { action: &'static str, path: String, source: io::Error },

    #[error("edits is empty. Give at least one {{\"oldText\", \"newText\"}}.")]
    NoEdits,

    #[error("{edit} in {path} is empty. Quote the text to replace; to create a whole file, use `write`.")]
    OldTextEmpty { edit: String, path: String },

    #[error("{edit} is not in {path}; nothing was changed. {hint}")]
    OldTextNotFound { edit: String, path: String, hint: String },

    #[error(
        "{edit} occurs {count} times in {path} (at lines {lines}); nothing was changed. Add lines around it until it is unique."
    )]
    OldTextNotUnique { edit: String, path: String, count: usize, lines: String },

    #[error(
        "edits[{first}] and edits[{second}] overlap in {path}; nothing was changed. Merge them into one edit."
    )]
    EditsOverlap { first: usize, second: usize, path: String },

    #[error("{path} would not change: each newText equals the text that it replaces.")]
    NoChange { path: String },

    #[error("{path} is not UTF-8 text, so it cannot be edited safely. Use bash, for example sed or perl.")]
    NotUtf8 { path: String },

    #[error("The working directory {} does not exist, so no command can run there.", path.display())]
    NoWorkingDirectory { path: PathBuf },

    #[error("timeout must be a number of seconds greater than 0 and at most 2147483, but is {given}.")]
    Timeout { given: String },

    #[error("Could not start the shell {}: {source}.", shell.display())]
    Shell { shell: PathBuf, source: io::Error },

    #[error("Could not start {program}: {source}.")]
    Service { program: String, source: io::Error },

    #[error(
        "pattern is not a regular expression: {reason}\nTo search for it as plain text, set literal to true."
    )]
    Pattern { reason: String },

    #[error("pattern takes too much memory: {reason}. Use fewer or smaller repetitions.")]
    PatternTooLarge { reason: String },

    #[error("`{glob}` is not a glob: {reason}.")]
    Glob { glob: String, reason: String },
}

impl Error {
    /// Returns the error for a file that could not be opened or read; `given` is what the model called it.
    pub(crate) fn opening(
        action: &'static str,
        given: &str,
        path: &Path,
        error: bowline_files::Error,
    ) -> Self {
        use bowline_files::Error as Cause;
        let given = given.to_owned();
        match error {
            error if error.is_folder() => Self::IsDirectory { path: given },
            error if error.is_virtual() => Self::SystemFile { path: given },
            Cause::NotRegular { .. } => Self::NotRegular { path: given },
            Cause::Read { source, .. }
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                paths::not_found(path)
            }
            other => Self::File { action, path: given, source: other.into_io() },
        }
    }

    /// Returns a closure that adds the action and the file to an I/O error.
    pub(crate) fn file(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
