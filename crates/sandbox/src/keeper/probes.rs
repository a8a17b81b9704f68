//! The probes: each tries, inside of the keeper, what a promise rules out. One that gets through stops everything.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::Path;
use std::time::Duration;

use bowline_core::sandbox::{SandboxLevel, SandboxNetwork};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open, test_kill_process};

use crate::frames::ProbeResult;
use crate::policy::Policy;

/// How long a connection is tried. Where nothing listens it is refused at once.
const PATIENCE: Duration = Duration::from_millis(50);

/// How many files of a masked folder are tried.
const MOST_NAMES: usize = 100;

/// What a probe returns: whether what it tried was refused, or nothing if it could not be tried here.
type Probe = fn(&Policy) -> Option<bool>;

/// Every probe, with the promise that it tries.
const PROBES: &[(&str, Probe)] = &[
    ("file.write", write_outside),
    ("file.create", create_outside),
    ("file.metadata", change_mode_outside),
    ("file.hardlink", link_outside),
    ("file.masked", read_masked),
    ("network.outside", connect_outside),
    ("network.vsock", |_| Some(family_is_refused(AddressFamily::from_raw(VSOCK)))),
    ("network.packet", |_| Some(family_is_refused(AddressFamily::PACKET))),
    ("socket.abstract", connect_abstract),
    ("socket.path", connect_path),
    ("process.signal", signal_parent),
    ("kernel.mount", |_| Some(mount_is_refused())),
    ("kernel.namespaces", |_| Some(unshare(CloneFlags::CLONE_NEWUSER).is_err())),
    ("kernel.calls", |_| Some(filtered_call_is_refused())),
    ("kernel.rights", |_| Some(has_no_rights())),
];

/// The number of the family of sockets that reach the hypervisor.
const VSOCK: u16 = 40;

/// Tries every promise.
pub(super) fn run(policy: &Policy) -> Vec<ProbeResult> {
    let tried = PROBES.iter().filter_map(|(promise, probe)| {
        Some(ProbeResult { promise: (*promise).to_owned(), refused: probe(policy)? })
    });
    tried.collect()
}

/// Returns the path of a target outside.
fn target(policy: &Policy, name: &str) -> Option<std::path::PathBuf> {
    Some(policy.targets.folder.as_ref()?.join(name))
}

/// Opens a file of the user for writing, without writing.
fn write_outside(policy: &Policy) -> Option<bool> {
    let path = target(policy, "file")?;
    // It must be there, or the refusal would say nothing.
    File::open(&path).ok()?;
    Some(OpenOptions::new().write(true).open(path).is_err())
}

fn create_outside(policy: &Policy) -> Option<bool> {
    let path = target(policy, "created")?;
    Some(OpenOptions::new().write(true).create_new(true).open(path).is_err())
}

fn change_mode_outside(policy: &Policy) -> Option<bool> {
    // Landlock knows no such right, and the report says so.
    (policy.level == SandboxLevel::Full).then_some(())?;
    let path = target(policy, "file")?;
    Some(fs::set_permissions(path, fs::Permissions::from_mode(0o644)).is_err())
}

/// Gives a file outside a second name inside, by which it could be changed.
fn link_outside(policy: &Policy) -> Option<bool> {
    let inside = match policy.level {
        SandboxLevel::Full => Path::new("/tmp"),
        _ => &policy.private_tmp,
    };
    let name = inside.join(".bowline-link");
    let is_refused = fs::hard_link(target(policy, "file")?, &name).is_err();
    let _ = fs::remove_file(name);
    Some(is_refused)
}

fn read_masked(policy: &Policy) -> Option<bool> {
    (!policy.masked.is_empty()).then(|| !policy.masked.iter().any(|masked| is_readable(policy, masked)))
}

fn is_readable(policy: &Policy, masked: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(masked) else {
        // Not the whole file: it may be large.
        return File::open(masked).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|read| read > 0));
    };
    // Without a mount, names can be listed, but nothing can be opened.
    match policy.level {
        SandboxLevel::Full => entries.next().is_some(),
        _ => entries
            .take(MOST_NAMES)
            .flatten()
            .any(|entry| File::open(entry.path()).is_ok_and(|file| is_file(&file))),
    }
}

fn is_file(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn connect_outside(policy: &Policy) -> Option<bool> {
    (policy.network != SandboxNetwork::Full).then_some(())?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, policy.targets.tcp_port));
    Some(TcpStream::connect_timeout(&address, PATIENCE).is_err())
}

fn family_is_refused(family: AddressFamily) -> bool {
    socket(family, SocketType::DGRAM, None).is_err()
}

fn connect_abstract(policy: &Policy) -> Option<bool> {
    let address = UnixAddress::from_abstract_name(policy.targets.abstract_socket.as_bytes()).ok()?;
    Some(UnixStream::connect_addr(&address).is_err())
}

fn connect_path(policy: &Policy) -> Option<bool> {
    Some(UnixStream::connect(target(policy, "socket")?).is_err())
}

fn signal_parent(policy: &Policy) -> Option<bool> {
    let parent = Pid::from_raw(i32::try_from(policy.parent).ok()?)?;
    Some(test_kill_process(parent).is_err())
}

fn mount_is_refused() -> bool {
    let none: Option<&str> = None;
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::empty(), none).is_err()
}

/// Takes a descriptor of this process by a call that only the filter refuses.
fn filtered_call_is_refused() -> bool {
    let take = || {
        let own = pidfd_open(getpid(), PidfdFlags::empty())?;
        pidfd_getfd(own, 0, PidfdGetfdFlags::empty())
    };
    take().is_err()
}

/// Tells whether the kernel says that this process has no rights, can get none, and is filtered.
fn has_no_rights() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(':')).map(str::trim).unwrap_or_default()
    };
    let is_none = |name: &str| u64::from_str_radix(value(name), 16) == Ok(0);
    ["CapEff", "CapPrm", "CapInh", "CapAmb"].into_iter().all(is_none)
        && value("NoNewPrivs") == "1"
        && value("Seccomp") == "2"
}
