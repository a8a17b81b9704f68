//! The terminal while a conversation goes on.

use std::io::{self, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal that sends no signals and echoes nothing between two lines: Ctrl-C is a key like any other, which would
/// otherwise end the agent too. Dropping it restores the terminal.
pub(super) struct Prepared(Termios);

impl Prepared {
    pub fn start() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ISIG | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // There is nothing else to try. The line editor may still have the terminal mark what is pasted.
        let _ = io::stdout().write_all(b"\x1b[?2004l").and_then(|()| io::stdout().flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
