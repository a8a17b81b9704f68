//! File operations as Windows offers them.

use std::fs::OpenOptions;

/// Returns the options that create a file. Access follows from the directory.
pub(crate) fn private_file() -> OpenOptions {
    OpenOptions::new()
}
