//! Output of subcommands. The protocol is never written this way.

use std::io::{self, Write as _};

use crate::failure::Failure;

/// Writes a text to stdout.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(Failure::io("writing to the terminal"))
}
