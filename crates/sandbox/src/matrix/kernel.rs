//! Attempts 50 to 62: interfaces of the kernel that tools do not need, programs that are started in odd ways, and rights.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::pty::OpenptFlags;

use super::attempt::expected::REFUSED;
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, refused, row};
use super::caller::{self, Argument, Caller};
use super::inside::Inside;

use Reach::{Anyone, Machine};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("50", "kernel.calls", "make an io_uring", REFUSED, Machine, |inside| {
        Caller::new().call(libc::SYS_io_uring_setup, [1.into(), vec![0; 120].into()]).run_in(&inside.scratch)
    }),
    row("51", "kernel.calls", "make a bpf map", REFUSED, Machine, bpf),
    row("52", "kernel.calls", "open a performance counter", REFUSED, Machine, performance),
    row("53", "kernel.calls", "make a userfaultfd", REFUSED, Machine, |inside| {
        // For faults of this program alone, which needs no rights.
        Caller::new().call(libc::SYS_userfaultfd, [1.into()]).run_in(&inside.scratch)
    }),
    row("54", "kernel.calls", "add a key to a kernel keyring", REFUSED, Anyone, add_key),
    row("54b", "kernel.calls", "look at the session's keyring", REFUSED, Machine, |inside| {
        // KEYCTL_GET_KEYRING_ID of KEY_SPEC_SESSION_KEYRING.
        Caller::new().call(libc::SYS_keyctl, [0.into(), (-3).into(), 0.into()]).run_in(&inside.scratch)
    }),
    row("55", "file.write", "write from a program in memory", REFUSED, Anyone, from_memory),
    row("56", "file.write", "write from a program started by ld.so", REFUSED, Anyone, by_loader),
    row("57", "file.write", "write from a static program", REFUSED, Anyone, |inside| {
        Caller::new().then_write(&inside.file()).run_in(&inside.scratch)
    }),
    row("58", "file.write", "write by 32-bit calls", REFUSED, Machine, by_interrupt),
    row("59", "file.write", "write by x32 calls", REFUSED, Machine, by_x32),
    row("60", "kernel.rights", "gain rights by a setuid program", REFUSED, Machine, setuid),
    row("61", "kernel.calls", "type into a terminal by TIOCSTI", REFUSED, Machine, |inside| {
        on_terminal(inside, libc::TIOCSTI, b"!")
    }),
    row("61b", "kernel.calls", "paste into a terminal by TIOCLINUX", REFUSED, Machine, |inside| {
        // TIOCL_PASTESEL.
        on_terminal(inside, libc::TIOCLINUX, &[3])
    }),
    row("62", "kernel.rights", "have any capability", REFUSED, Anyone, capabilities),
];

fn bpf(inside: &Inside) -> Tried {
    // An array of one element: map_type, key_size, value_size, max_entries.
    let mut attributes: Vec<u8> = [2u32, 4, 4, 1].iter().flat_map(|field| field.to_le_bytes()).collect();
    attributes.resize(72, 0);
    Caller::new().call(libc::SYS_bpf, [0.into(), attributes.into(), 72.into()]).run_in(&inside.scratch)
}

fn performance(inside: &Inside) -> Tried {
    let mut attributes = vec![0; 112];
    attributes[0] = 1; // A software event: the clock.
    attributes[4] = 112;
    attributes[40] = 0b110_0001; // Disabled; without the kernel and the hypervisor.
    Caller::new()
        .call(libc::SYS_perf_event_open, [attributes.into(), 0.into(), (-1).into(), (-1).into(), 0.into()])
        .run_in(&inside.scratch)
}

fn add_key(inside: &Inside) -> Tried {
    // To the keyring of the process, which ends with it.
    Caller::new()
        .call(
            libc::SYS_add_key,
            [
                b"user\0".to_vec().into(),
                b"attempt\0".to_vec().into(),
                b"!".to_vec().into(),
                1.into(),
                (-2).into(),
            ],
        )
        .run_in(&inside.scratch)
}

fn from_memory(inside: &Inside) -> Tried {
    let file = rustix::fs::memfd_create("attempt", MemfdFlags::CLOEXEC)?;
    rustix::io::write(&file, &Caller::new().then_write(&inside.file()).assemble())
        .prepared("writing a program")?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    caller::verdict(Command::new(path).stdin(Stdio::null()).status()?)
}

fn by_loader(inside: &Inside) -> Tried {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loaders
        .into_iter()
        .find(|path| Path::new(path).exists())
        .ok_or_else(|| Stop::Absent("there is no ld.so".to_owned()))?;
    let script = format!("echo '!' >> '{}'", inside.file().display());
    let output = Command::new(loader).args(["/bin/sh", "-c", &script]).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    refused(errors.rsplit(':').next().unwrap_or_default().trim())
}

#[cfg(target_arch = "x86_64")]
fn by_interrupt(inside: &Inside) -> Tried {
    const OPEN: u64 = 5;
    const WRITE: u64 = 4;
    let flags = libc::O_WRONLY | libc::O_APPEND;
    Caller::new()
        .interrupt(OPEN, [inside.file().as_path().into(), flags.into(), 0.into()])
        .interrupt(WRITE, [Argument::Result(0), b"!".to_vec().into(), 1.into()])
        .run_in(&inside.scratch)
}

#[cfg(target_arch = "x86_64")]
fn by_x32(inside: &Inside) -> Tried {
    const X32: libc::c_long = 0x4000_0000;
    let flags = libc::O_WRONLY | libc::O_APPEND;
    let file: Argument = inside.file().as_path().into();
    Caller::new()
        .call(X32 + libc::SYS_openat, [libc::AT_FDCWD.into(), file, flags.into(), 0.into()])
        .call(X32 + libc::SYS_write, [Argument::Result(0), b"!".to_vec().into(), 1.into()])
        .run_in(&inside.scratch)
}

#[cfg(not(target_arch = "x86_64"))]
fn by_interrupt(_: &Inside) -> Tried {
    Err(Stop::Absent("this processor has no such calls".to_owned()))
}

#[cfg(not(target_arch = "x86_64"))]
fn by_x32(_: &Inside) -> Tried {
    Err(Stop::Absent("this processor has no such calls".to_owned()))
}

/// Returns programs that run as root whoever starts them, and that wait for input.
fn setuid_programs() -> Vec<PathBuf> {
    let names = ["su", "passwd", "sudo", "newgrp", "chsh", "chfn", "gpasswd", "mount"];
    let folders = ["/usr/bin", "/bin"];
    let paths = folders.into_iter().flat_map(|folder| names.map(|name| Path::new(folder).join(name)));
    // In a user namespace root's files look like nobody's, so the owner says nothing.
    let is_setuid =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|status| status.permissions().mode() & 0o4000 != 0);
    paths.filter(is_setuid).collect()
}

/// Starts setuid programs and looks whether one of them has rights while it waits for input.
fn setuid(_: &Inside) -> Tried {
    let programs = setuid_programs();
    if programs.is_empty() {
        return Err(Stop::Absent("there is no setuid program".to_owned()));
    }
    for program in programs {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { continue };
        let begin = Instant::now();
        let mut has_rights = false;
        while !has_rights
            && begin.elapsed() < Duration::from_millis(20)
            && matches!(child.try_wait(), Ok(None))
        {
            has_rights = has_capabilities(&format!("/proc/{}/status", child.id()), "CapEff");
        }
        let _ = child.kill();
        let _ = child.wait();
        if has_rights {
            return Ok(());
        }
    }
    refused("no setuid program has rights")
}

/// Tells whether a set of capabilities of a process is not empty.
fn has_capabilities(status: &str, set: &str) -> bool {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(set)).unwrap_or_default();
    line.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0')
}

/// Looks for capabilities that the process has, and for those that it could get by starting a program.
fn capabilities(_: &Inside) -> Tried {
    let status = "/proc/self/status";
    let text = fs::read_to_string(status).prepared("reading the status")?;
    let gains_nothing = text.lines().any(|line| line.split_whitespace().eq(["NoNewPrivs:", "1"]));
    let has = ["CapInh", "CapPrm", "CapEff", "CapAmb"].into_iter().any(|set| has_capabilities(status, set));
    // Only root, or whoever has a user namespace, can empty the set that bounds what programs gain.
    let could_gain = !gains_nothing && has_capabilities(status, "CapBnd");
    if has || could_gain { Ok(()) } else { refused("there are none, and none can be gained") }
}

/// Makes a terminal the controlling one of a new session and sends it a request.
fn on_terminal(inside: &Inside, request: libc::Ioctl, data: &[u8]) -> Tried {
    let main = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).prepared("opening a terminal")?;
    rustix::pty::unlockpt(&main).prepared("unlocking a terminal")?;
    let name = rustix::pty::ptsname(&main, Vec::new()).prepared("finding a terminal")?;
    let terminal = fs::File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(name.to_string_lossy().as_ref())
        .prepared("opening the other end of a terminal")?;
    Caller::new()
        .call(libc::SYS_setsid, [])
        .call(libc::SYS_ioctl, [0.into(), libc::TIOCSCTTY.into(), 0.into()])
        .call(libc::SYS_ioctl, [0.into(), request.into(), data.to_vec().into()])
        .run_with(&inside.scratch, terminal.into())
}
