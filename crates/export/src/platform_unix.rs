//! File operations as Unix offers them.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// Returns the options that create a file which only its user may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
