//! The bounds on everything that a server controls.

use std::time::Duration;

/// The longest message of a server, in bytes.
pub(crate) const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// The most values in one message: a short text can stand for a large tree in memory.
pub(crate) const MOST_VALUES: usize = 1_000_000;

/// How much a server may write to its stdout that is no message before it is stopped.
pub(crate) const MOST_GARBAGE: usize = 8 * 1024 * 1024;

/// Messages from this size on are parsed on a thread of their own.
pub(crate) const LARGE_MESSAGE: usize = 128 * 1024;

/// The most tools, prompts and resources that are taken from one server, and the most pages that are asked for.
pub(crate) const MOST_TOOLS: usize = 500;
pub(crate) const MOST_PROMPTS: usize = 200;
pub(crate) const MOST_RESOURCES: usize = 500;
pub(crate) const MOST_PAGES: usize = 100;

/// The longest name that providers accept for a tool.
pub(crate) const LONGEST_NAME: usize = 64;

/// The longest part of a tool's name that comes from the server's name.
pub(crate) const LONGEST_SERVER_NAME: usize = 24;

/// The longest description of a tool, in bytes.
pub(crate) const LONGEST_DESCRIPTION: usize = 8 * 1024;

/// The longest schema of a tool's arguments, in bytes, and of all tools of a server together.
pub(crate) const LONGEST_SCHEMA: usize = 64 * 1024;
pub(crate) const LONGEST_SCHEMAS: usize = 1024 * 1024;

/// The longest instructions of a server that are shown to a model, in bytes.
pub(crate) const LONGEST_INSTRUCTIONS: usize = 2 * 1024;

/// How much of what a server writes to stderr is kept for errors, in bytes.
pub(crate) const KEPT_STDERR: usize = 4 * 1024;

/// The longest text of a server that is repeated in an error.
pub(crate) const LONGEST_ERROR: usize = 2 * 1024;

/// How much audio is kept in the details of a result, in bytes of base64.
pub(crate) const LARGEST_AUDIO: usize = 1024 * 1024;

/// How much structured content is kept in the details of a result, in bytes.
pub(crate) const LARGEST_STRUCTURE: usize = 256 * 1024;

/// The most images of one result.
pub(crate) const MOST_IMAGES: usize = 20;

/// How often the progress of a call is reported at most.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// The longest text of a progress report, in bytes.
pub(crate) const LONGEST_PROGRESS: usize = 1024;

/// How often the lists of a server are read again at most.
pub(crate) const REFRESH_PAUSE: Duration = Duration::from_secs(1);

/// How long a call may take in all, whatever progress the server reports.
pub(crate) const LONGEST_CALL: Duration = Duration::from_hours(1);

/// How often a server may ask for input within one call before it gives a result.
pub(crate) const MOST_ROUNDS: usize = 8;

/// The most questions of one form, and how often one is repeated after an invalid answer.
pub(crate) const MOST_QUESTIONS: usize = 20;
pub(crate) const MOST_ATTEMPTS: usize = 3;

/// Returns the beginning of a text that has at most `limit` bytes, with a mark if something is missing.
pub(crate) fn beginning(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}
