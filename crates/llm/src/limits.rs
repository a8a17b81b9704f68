//! The most that is accepted of one answer. A provider that is faulty or hostile costs a bounded amount of memory; no
//! real answer comes near any of these.

use bowline_core::stream::{FailureKind, StreamError};

const MIB: usize = 1024 * 1024;

/// The text, thinking, arguments and signatures of an answer in bytes. The longest output of any model is about a
/// million tokens, which is four of these sixteen.
pub(crate) const ANSWER_BYTES: usize = 16 * MIB;

/// The arguments of one call in bytes.
pub(crate) const ARGUMENT_BYTES: usize = 8 * MIB;

/// How deeply arguments may be nested. Most readers of JSON stop at 128 levels, and a call is written inside a message
/// inside an entry.
pub(crate) const ARGUMENT_DEPTH: usize = 100;

/// The values in the arguments of one call. Each costs far more memory than its two bytes of text.
pub(crate) const ARGUMENT_VALUES: usize = 100_000;

/// The blocks of an answer.
pub(crate) const BLOCKS: usize = 1000;

/// The id or the name of a call in bytes.
pub(crate) const NAME_BYTES: usize = 4096;

/// Everything that a provider sends for an answer in bytes, including comments and what is repeated with every delta.
pub(crate) const STREAM_BYTES: usize = 256 * MIB;

/// The same while it is recorded, because a recording is kept in memory until the answer is complete.
pub(crate) const RECORDED_STREAM_BYTES: usize = 64 * MIB;

/// One event of a stream in bytes. Some APIs repeat the whole answer in the last one.
pub(crate) const EVENT_BYTES: usize = 8 * MIB;

/// The elements of a list in an event.
pub(crate) const EVENT_LIST: usize = 1000;

/// A file of recordings in bytes, when it is written and when it is read.
pub(crate) const RECORDING_BYTES: u64 = 256 * MIB as u64;

/// The characters of a refusal's text that are passed on, and those of any error. Secrets are masked first: the beginning
/// of one would not be recognised.
pub(crate) const PROVIDER_TEXT: usize = 2000;
pub(crate) const ERROR_TEXT: usize = 4000;

/// The characters of an id or a reason that an answer carries for information only.
pub(crate) const NOTE_TEXT: usize = 1000;

/// Returns the failure of an answer that exceeds a limit; `what` says which.
pub(crate) fn exceeded(what: &str) -> StreamError {
    let message = format!(
        "The provider sent {what}. The answer was stopped there; what had arrived is kept. Ask for less at once."
    );
    StreamError::new(FailureKind::TooLarge, message)
}

/// Returns a number of bytes as a user reads it.
pub(crate) fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", bytes / MIB)
}

/// Returns the beginning of a text, marked if there is more.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_documented() {
        let page = include_str!("../../../docs/configuration.md");
        let rows: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "## Limits")
            .filter(|line| line.starts_with("| "))
            .collect();
        for (name, value) in [
            ("the content of an answer", mebibytes(ANSWER_BYTES)),
            ("the arguments of a tool call", mebibytes(ARGUMENT_BYTES)),
            ("nesting of arguments", format!("{ARGUMENT_DEPTH} levels")),
            ("values in arguments", ARGUMENT_VALUES.to_string()),
            ("blocks of an answer", BLOCKS.to_string()),
            ("bytes sent for an answer", mebibytes(STREAM_BYTES)),
            ("the same with `--record`", mebibytes(RECORDED_STREAM_BYTES)),
            ("one event of a stream", mebibytes(EVENT_BYTES)),
            ("a recording", mebibytes(RECORDING_BYTES as usize)),
            ("the text of an error", format!("{ERROR_TEXT} characters")),
        ] {
            let start = format!("| {name} | {value} |");
            assert!(rows.iter().any(|row| row.starts_with(&start)), "{start} is not in {rows:#?}");
        }
    }
}
