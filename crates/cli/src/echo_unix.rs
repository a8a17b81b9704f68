//! Switching off the terminal's echo.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal that does not show what is typed. Dropping it restores the terminal.
pub(crate) struct Silence(Termios);

impl Silence {
    /// Switches off the echo of stdin.
    pub fn start() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // There is nothing else to try.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
