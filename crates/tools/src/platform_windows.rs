//! What the tools need of Windows: the output pipe and status of a command, and the names of a file.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, PipeWriter};
use std::os::windows::io::OwnedHandle;
use std::os::windows::process::ExitStatusExt;
use std::process::{ChildStdin, ExitStatus};

use tokio::process::Command;

/// Keeps Ctrl-C on the console from reaching the command.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// The reading end of a command's output.
pub(crate) type OutputReader = tokio::fs::File;

/// Returns a pipe for the output of a command. The reading end blocks, so it is read on the blocking pool.
pub(crate) fn output_pipe() -> io::Result<(OutputReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((tokio::fs::File::from_std(File::from(OwnedHandle::from(reader))), writer))
}

/// Starts the command in a new process group, out of reach of the console's signals.
pub(crate) fn separate(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Does nothing: no process watches this one here.
pub(crate) fn separate_watcher(_command: &mut std::process::Command) {}

/// Does nothing, for the same reason.
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(crate) fn set_nonblocking(_pipe: &ChildStdin) -> io::Result<()> {
    Ok(())
}

/// Returns nothing: there are no signals.
pub(crate) fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// Returns the status of a process whose real one was lost: exit code 255.
pub(crate) fn lost_status() -> ExitStatus {
    ExitStatus::from_raw(255)
}

/// Returns true: the folder for temporary files is this user's.
pub(crate) fn is_own(_metadata: &Metadata) -> bool {
    true
}

/// Returns false: the number of hard links is not known here.
pub(crate) fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

/// Does nothing: a new file already belongs to this user.
pub(crate) fn keep_owner(_file: &File, _metadata: &Metadata) {}

/// Returns the permissions of a file.
pub(crate) fn plain_permissions(metadata: &Metadata) -> Permissions {
    metadata.permissions()
}

/// Does nothing: a new file inherits its access list from the directory.
pub(crate) fn keep_attributes(_old: &File, _new: &File) -> io::Result<()> {
    Ok(())
}
