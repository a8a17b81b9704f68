//! Reading a key: from a pipe, or from a terminal without echo.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use crate::echo::Silence;

/// The most that is read: far more than any key, but not a whole file given by mistake.
const LONGEST: u64 = 64 * 1024;

/// Returns the first line of stdin, without white space around it.
pub(crate) fn read(prompt: &str) -> io::Result<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut text = String::new();
        stdin.lock().take(LONGEST).read_to_string(&mut text)?;
        return Ok(text.trim().lines().next().unwrap_or_default().trim().to_owned());
    }
    eprint!("{prompt}");
    io::stderr().flush()?;
    let silence = Silence::start()?;
    let mut line = String::new();
    let outcome = stdin.lock().take(LONGEST).read_line(&mut line);
    drop(silence);
    outcome?;
    Ok(line.trim().to_owned())
}
