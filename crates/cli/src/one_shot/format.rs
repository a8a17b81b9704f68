//! What a one-shot mode writes to stdout: one row each.

use super::summary::Summary;
use super::{events, result, text};

/// What is written of a run, and when.
#[derive(Debug)]
pub(crate) struct Format {
    pub name: &'static str,
    /// Whether the header of the session and every event are written as they occur.
    pub streams: bool,
    /// Whether only what keeps a message from running makes the exit code 1, and not how the run ended.
    pub tolerates_failures: bool,
    /// Returns what is written when everything is over.
    pub(super) ending: fn(&Summary) -> String,
}

/// What `--output` can name. The first one is the default.
pub(crate) const FORMATS: &[Format] = &[
    Format { name: "text", streams: false, tolerates_failures: false, ending: text::ending },
    Format { name: "json", streams: false, tolerates_failures: false, ending: result::ending },
    Format { name: "stream-json", streams: true, tolerates_failures: false, ending: result::ending },
];

/// What `--mode json` means: events alone, as pi writes them.
pub(crate) const PI_EVENTS: &Format =
    &Format { name: "pi's events", streams: true, tolerates_failures: true, ending: events::ending };

/// Returns the format with this name.
pub(crate) fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the names, as the help lists them.
pub(crate) fn names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}
