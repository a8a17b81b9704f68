//! What the tools need of Unix: the output pipe and status of a command, the process that watches this one, and the owner,
//! names, permissions and attributes of a file.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
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

/// Returns the permissions of a file without the right to run as its owner or group.
pub(crate) fn plain_permissions(metadata: &Metadata) -> Permissions {
    Permissions::from_mode(metadata.mode() & 0o777)
}

/// Gives a new file the extended attributes of the one it replaces, among them its access list. An error means that the
/// new file would lose one.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn keep_attributes(old: &File, new: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use rustix::io::Errno;

    /// The most bytes of a list of names, and of a value.
    const LIMIT: usize = 64 * 1024;
    let mut names = vec![0; LIMIT];
    let length = match flistxattr(old, &mut names[..]) {
        // Virtual and network file systems may know no attributes.
        Err(Errno::NOTSUP) => 0,
        result => result?,
    };
    let mut value = vec![0; if length == 0 { 0 } else { LIMIT }];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        // The system sets labels by itself; rights and signatures were given to the old content.
        if name.starts_with(b"security.") || name.starts_with(b"trusted.") {
            continue;
        }
        let length = fgetxattr(old, name, &mut value[..])?;
        // Some are there from the start and cannot be set.
        if let Err(error) = fsetxattr(new, name, &value[..length], XattrFlags::empty())
            && !has_attribute(new, name, &value[..length])
        {
            return Err(match error {
                Errno::NOTSUP | Errno::PERM | Errno::ACCESS => io::ErrorKind::Unsupported.into(),
                other => other.into(),
            });
        }
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn has_attribute(file: &File, name: &[u8], value: &[u8]) -> bool {
    let mut found = vec![0; value.len() + 1];
    rustix::fs::fgetxattr(file, name, &mut found[..]).is_ok_and(|length| found[..length] == *value)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn keep_attributes(_old: &File, _new: &File) -> io::Result<()> {
    Ok(())
}
