//! How values and types are named in what is reported of a check.

use std::io;

use serde_json::Value;

/// How much of a value is shown.
const SHOWN_VALUE: usize = 100;

/// Returns a value as it is shown: all of it, or its beginning. Of a large one, no more than that is written.
pub(crate) fn shown(value: &Value) -> String {
    let mut beginning = Beginning(Vec::new());
    let is_whole = serde_json::to_writer(&mut beginning, value).is_ok();
    let text = String::from_utf8_lossy(&beginning.0);
    // The last character may be incomplete, but it is never among those that are shown.
    match text.char_indices().nth(SHOWN_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if is_whole => text.into_owned(),
        None => format!("{text}…"),
    }
}

/// The beginning of a text, which fails to be written when it has enough.
struct Beginning(Vec<u8>);

impl io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character has four bytes at most.
        let room = (4 * SHOWN_VALUE + 4).saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let kept = &bytes[..bytes.len().min(room)];
        self.0.extend_from_slice(kept);
        Ok(kept.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a text, or its beginning and its length.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Returns what a value of a type is called.
pub(crate) fn noun(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "null",
        _ => return None,
    })
}
