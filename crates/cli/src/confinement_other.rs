//! What confines the tools of a session in a folder: nothing, on this system.

use std::path::Path;
use std::sync::Arc;

use bowline_approval::Gate;
use bowline_sandbox::{Error, Wishes};
use bowline_tools::{Confinement, Options};

use crate::environment::Environment;
use crate::failure::Failure;

/// Returns nothing, unless the user asks for what is unavailable here.
pub(crate) fn confinement(
    wishes: Wishes,
    _environment: &Environment,
    _directory: &Path,
    _options: &Options,
    _sessions: Option<&Path>,
    _gate: Option<&Gate>,
) -> Result<Option<Arc<dyn Confinement>>, Failure> {
    match wishes.mode.is_confined() {
        true => Err(Failure::Sandbox(Error::NotOnThisSystem.to_string())),
        false => Ok(None),
    }
}
