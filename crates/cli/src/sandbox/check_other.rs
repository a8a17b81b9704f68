//! There is no sandbox to check on this system.

use std::process::ExitCode;

use super::NO_SANDBOX;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::note;

/// Says that there is nothing to check.
pub(super) fn check(_: &Arguments) -> Result<ExitCode, Failure> {
    note("bowline: no sandbox is available: it works on Linux only");
    Ok(ExitCode::from(NO_SANDBOX))
}
