//! Reading a key from a terminal on Windows is refused, because the echo cannot be switched off safely.

use std::io;

/// Never exists: see [`Silence::start`].
pub(crate) struct Silence;

impl Silence {
    /// Refuses: the key would be shown.
    pub fn start() -> io::Result<Self> {
        Err(io::Error::other("a key cannot be typed without showing it here; pass it through a pipe"))
    }
}
