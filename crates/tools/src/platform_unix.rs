//! What the tools need of Unix: the output pipe and status of a command, the process that watches this one, and the owner
//! and names of a file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, ExitStatus};

use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

/// The reading end of a command's output.
pub(crate) type OutputReader = Receiver;

/// Returns a pipe for the output of a command. The runtime polls the reading end.
pub(crate) fn output_pipe() -> io::Result<(OutputReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(OwnedFd::from(reader))?, writer))
}

/// Starts the command in a new process group, out of reach of the terminal's signals.
pub(crate) fn separate(command: &mut Command) {
    command.process_group(0);
}

/// Starts the process that watches this one in a group of its own, under a name that tells what it is.
pub(crate) fn separate_watcher(command: &mut std::process::Command) {
    command.process_group(0).arg0("bowline-watch");
}

/// Makes writes to a pipe fail instead of waiting.
pub(crate) fn set_nonblocking(pipe: &ChildStdin) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(pipe, true)?)
}

/// Returns the signal that killed a process.
pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Returns the status of a process whose real one was lost: exit code 255.
pub(crate) fn lost_status() -> ExitStatus {
    ExitStatus::from_raw(255 << 8)
}

/// Returns options that create a file only this user can read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Returns whether the file belongs to this user.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Returns whether the file has another hard link.
pub(crate) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

/// Gives a new file the owner of the one it replaces, as far as this user may.
pub(crate) fn keep_owner(file: &File, metadata: &Metadata) {
    let Ok(new) = file.metadata() else { return };
    let owner = (new.uid() != metadata.uid()).then(|| metadata.uid());
    let group = (new.gid() != metadata.gid()).then(|| metadata.gid());
    if owner.is_some() || group.is_some() {
        let _ = fchown(file, owner, group);
    }
}
