//! Attempts 40 to 49: making the machine look different, to write where it does.

use std::fs::{self, File};
use std::path::Path;

use nix::mount::{MntFlags, MsFlags};
use nix::sched::CloneFlags;
use rustix::fs::StatVfsMountFlags;

use super::attempt::expected::REFUSED;
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, row};
use super::caller::{Argument, Caller};
use super::files::append;
use super::inside::Inside;

use Reach::{Machine, Nobody, Root};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("40", "kernel.mount", "mount a file system", REFUSED, Root, mount),
    row("41", "kernel.mount", "remount the files outside writable", REFUSED, Root, |inside| {
        remount(&inside.outside)?;
        append(&inside.file())
    }),
    row("42", "kernel.mount", "unmount the workspace", REFUSED, Nobody, |inside| {
        Ok(nix::mount::umount2(&inside.workspace(), MntFlags::MNT_DETACH)?)
    }),
    row("43", "kernel.mount", "mount an overlay over the files outside", REFUSED, Root, overlay),
    row("44", "kernel.namespaces", "make a user namespace by unshare", REFUSED, Machine, |_| {
        Ok(nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?)
    }),
    row("45", "kernel.namespaces", "make a user namespace by clone3", REFUSED, Machine, by_clone3),
    row("45b", "kernel.namespaces", "make a user namespace by clone", REFUSED, Machine, by_clone),
    row(
        "46",
        "kernel.namespaces",
        "write from a namespace of one's own",
        REFUSED,
        Machine,
        namespace_and_write,
    ),
    row("47", "kernel.namespaces", "join the namespaces of another process", REFUSED, Machine, join),
    row("48", "kernel.mount", "change the root folder", REFUSED, Root, |inside| {
        rustix::process::chroot(&inside.scratch)?;
        Ok(())
    }),
    row("49", "file.write", "open a file by its handle", REFUSED, Root, by_handle),
];

fn mount(inside: &Inside) -> Tried {
    let folder = inside.scratch.join("mounted");
    fs::create_dir(&folder).prepared("making a folder")?;
    nix::mount::mount(Some("none"), &folder, Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
    let _ = nix::mount::umount2(&folder, MntFlags::MNT_DETACH);
    Ok(())
}

/// Mounts the file system of a path again with its own flags, but writable.
fn remount(path: &Path) -> Tried {
    let flags = rustix::fs::statvfs(path).prepared("looking at a file system")?.f_flag;
    let mut wanted = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    for (flag, mount_flag) in [
        (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
        (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
    ] {
        wanted.set(mount_flag, flags.contains(flag));
    }
    let point = path
        .ancestors()
        .find(|folder| nix::mount::mount(None::<&str>, *folder, None::<&str>, wanted, None::<&str>).is_ok());
    match point {
        Some(_) => Ok(()),
        None => {
            let error = nix::mount::mount(None::<&str>, "/", None::<&str>, wanted, None::<&str>);
            Ok(error?)
        }
    }
}

fn overlay(inside: &Inside) -> Tried {
    let folders = ["upper", "work", "merged"].map(|name| inside.scratch.join(name));
    for folder in &folders {
        fs::create_dir(folder).prepared("making a folder")?;
    }
    let [upper, work, merged] = &folders;
    let lower = inside.outside.display();
    let options = format!("lowerdir={lower},upperdir={},workdir={}", upper.display(), work.display());
    nix::mount::mount(Some("none"), merged, Some("overlay"), MsFlags::empty(), Some(options.as_str()))?;
    let _ = nix::mount::umount2(merged, MntFlags::MNT_DETACH);
    Ok(())
}

fn by_clone3(inside: &Inside) -> Tried {
    // struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, and six more fields.
    let mut fields = [0u64; 11];
    fields[0] = libc::CLONE_NEWUSER as u64;
    fields[4] = libc::SIGCHLD as u64;
    let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    let size = bytes.len() as u64;
    Caller::new().call(libc::SYS_clone3, [bytes.into(), size.into()]).run_in(&inside.scratch)
}

fn by_clone(inside: &Inside) -> Tried {
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    Caller::new()
        .call(libc::SYS_clone, [flags.into(), 0.into(), 0.into(), 0.into(), 0.into()])
        .run_in(&inside.scratch)
}

fn namespace_and_write(inside: &Inside) -> Tried {
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    let user = inside.facts.user;
    // Without a map files of the user cannot be written, but a mount can still be tried.
    let _ = fs::write("/proc/self/setgroups", "deny");
    let _ = fs::write("/proc/self/uid_map", format!("0 {user} 1"));
    // Where the file system is writable as it is, there is nothing to remount.
    let remounted = remount(&inside.outside);
    append(&inside.file()).map_err(|_| remounted.err().unwrap_or(Stop::Refused("read-only".to_owned())))
}

fn join(inside: &Inside) -> Tried {
    let mut last = Stop::Absent("no namespaces of other processes can be seen".to_owned());
    for process in [inside.facts.victim, inside.facts.bowline, 1] {
        for kind in ["user", "mnt", "net", "pid"] {
            let Ok(namespace) = File::open(format!("/proc/{process}/ns/{kind}")) else { continue };
            match rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), None) {
                Ok(()) => return Ok(()),
                Err(error) => last = error.into(),
            }
        }
    }
    match last {
        // In a sandbox that shows no other process the namespaces are out of reach.
        Stop::Absent(why) => Err(Stop::Refused(why)),
        other => Err(other),
    }
}

fn by_handle(inside: &Inside) -> Tried {
    let Some(handle) = &inside.facts.handle else {
        return Err(Stop::Absent("the file system has no handles".to_owned()));
    };
    let length = handle.bytes.len() as u32;
    let mut bytes = [length.to_le_bytes(), handle.kind.to_le_bytes()].concat();
    bytes.extend(&handle.bytes);
    let flags = libc::O_WRONLY | libc::O_APPEND;
    // Any descriptor on the same file system will do: the workspace is on it.
    let workspace: Argument = inside.workspace().as_path().into();
    Caller::new()
        .call(libc::SYS_openat, [libc::AT_FDCWD.into(), workspace, libc::O_RDONLY.into(), 0.into()])
        .call(libc::SYS_open_by_handle_at, [Argument::Result(0), bytes.into(), flags.into()])
        .call(libc::SYS_write, [Argument::Result(1), b"!".to_vec().into(), 1.into()])
        .run_in(&inside.scratch)
}
