//! The keeper: a process that confines itself and then runs the tools of a session.
//!
//! It is the same program in another role, started as `bowline __keeper`. The outer process makes the namespaces and
//! waits; the inner one is confined, proves it, and serves calls over the socket that is its stdin. Where there are no
//! namespaces, the outer process ends whatever is left when bowline is gone.

mod capabilities;
mod devices;
mod filter;
mod inner;
mod landlock_rules;
mod loopback;
mod mounts;
mod namespaces;
mod outer;
mod probes;
mod serve;
mod trial;

use std::fmt::Display;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) use self::trial::Trial;

/// The role in which bowline is a keeper.
pub const KEEPER_ROLE: &str = "__keeper";

/// The word after the role for the process that is confined.
const INNER: &str = "inner";

/// The word after the role for a process that only finds out what the system offers.
pub(crate) const TRY: &str = "try";

/// The word after the role for a process that only finds out whether a folder can be an overlay.
const TRY_OVERLAY: &str = "try-overlay";

/// Why the keeper could not be set up.
#[derive(Debug)]
pub(crate) struct Failed {
    pub step: String,
    pub problem: String,
}

/// Adds the step at which something failed.
trait At<T> {
    fn at(self, step: impl Into<String>) -> Result<T, Failed>;
}

impl<T, E: Display> At<T> for Result<T, E> {
    fn at(self, step: impl Into<String>) -> Result<T, Failed> {
        self.map_err(|error| Failed { step: step.into(), problem: error.to_string() })
    }
}

/// Runs the process in the role that the words after [`KEEPER_ROLE`] name.
pub fn keeper_main(words: &[&str]) -> ExitCode {
    match words {
        [] => outer::main(),
        [INNER] => inner::main(),
        [TRY] => trial::main(),
        [TRY_OVERLAY, folder, store] => trial::overlay_main(Path::new(folder), Path::new(store)),
        _ => ExitCode::from(2),
    }
}

/// Returns the first mount inside of a folder, as the machine sees it.
pub(crate) fn first_mount_inside(folder: &Path) -> Option<PathBuf> {
    mounts::first_inside(folder, &mounts::all().ok()?)
}

/// Reports a failure to bowline and returns the exit code. What cannot be reported is noticed by the end of the socket.
fn report(failed: Failed) -> ExitCode {
    let Failed { step, problem } = failed;
    let frame = crate::frames::FromKeeper::Failed { step, problem };
    if let Ok(socket) = socket() {
        let _ = crate::frames::write(socket, &frame);
    }
    ExitCode::FAILURE
}

/// Returns the socket to bowline, which is the stdin of a keeper.
fn socket() -> std::io::Result<UnixStream> {
    let descriptor: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(descriptor))
}
