//! Whether a file is a program, on Unix.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;

/// Tells whether a file may be run.
pub(crate) fn is(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0
}
