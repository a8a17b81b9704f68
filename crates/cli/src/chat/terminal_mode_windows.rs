//! The terminal while a conversation goes on.

use std::io;

/// The line editor prepares the terminal by itself here.
pub(super) struct Prepared;

impl Prepared {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    pub fn start() -> io::Result<Self> {
        Ok(Self)
    }
}
