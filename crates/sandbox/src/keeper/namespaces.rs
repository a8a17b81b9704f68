//! The namespaces of a keeper, and what its files look like from inside.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getgid, getuid};

use super::mounts::{self, Held};
use super::{At as _, Failed, capabilities, devices};
use crate::policy::Policy;

/// Enters namespaces of its own, in which this process has all rights. The next child is process 1 of its own.
pub(super) fn enter(own_network: bool) -> Result<(), Failed> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    flags.set(CloneFlags::CLONE_NEWNET, own_network);
    unshare(flags).at("making namespaces")?;
    // Without it, the map of groups may only be written by the machine's root.
    fs::write("/proc/self/setgroups", "deny").at("giving up further groups")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).at("keeping the user's number")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).at("keeping the group's number")
}

/// Returns the paths of all sockets that a program of the machine listens at.
pub(super) fn listening_sockets() -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let start = |line: &&[u8]| line.windows(2).position(|pair| pair == b" /");
    let lines = table.split(|byte| *byte == b'\n');
    let paths = lines.filter_map(|line| start(&line).map(|start| OsStr::from_bytes(&line[start + 1..])));
    let mut paths: Vec<_> = paths.map(PathBuf::from).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Arranges the files.
pub(super) fn arrange(policy: &Policy, sockets: &[PathBuf]) -> Result<(), Failed> {
    mounts::make_private().at("separating the mounts")?;
    let before = mounts::all().at("reading the mounts")?;
    let writable = hold_all(&policy.writable)?;
    let granted = hold_all(&policy.granted)?;
    let visible = hold_all(&policy.visible)?;
    let private_tmp = Held::new(&policy.private_tmp).at("opening the private /tmp")?;
    let store = policy.home_store.as_deref().map(Held::new).transpose();
    let store = store.at("opening the store of the home folder")?;
    let home = policy.home.as_deref().filter(|_| store.is_some()).map(Held::new).transpose();
    let home = home.at("opening the home folder")?;
    let changes = policy.workspace_store.as_deref().map(Held::new).transpose();
    let changes = changes.at("opening the folder for changes")?;
    let kept = KeptOfRun::look();

    mounts::make_all_read_only(&before)?;
    cover_run(&kept)?;
    devices::mount_new()?;
    mounts::bind_writable(&private_tmp, Path::new("/tmp"), &[])?;
    for (path, held) in &visible {
        if !is_same_place(path, held) {
            mounts::bind_read_only(held, path)?;
        }
    }
    if let (Some(path), Some(home), Some(store)) = (&policy.home, &home, &store) {
        mounts::mount_overlay(path, home, store)?;
    }
    for (path, held) in &writable {
        match changes.as_ref().filter(|_| *path == policy.working_directory) {
            Some(changes) => mounts::mount_overlay(path, held, changes)?,
            None => mounts::bind_writable(held, path, &before)?,
        }
    }
    // A path may be gone from an overlay that was changed before.
    let is_there = |path: &&PathBuf| changes.is_none() || path.symlink_metadata().is_ok();
    for folder in policy.git_folders.iter().filter(is_there) {
        mounts::pin(folder)?;
    }
    for path in policy.read_only_inside.iter().filter(is_there) {
        let held = Held::new(path).at(format!("opening {}", path.display()))?;
        mounts::bind_read_only(&held, path)?;
    }
    for (path, held) in &granted {
        mounts::bind_writable(held, path, &before)?;
    }
    for path in &policy.masked {
        mounts::mask(path)?;
    }
    mask_sockets(policy, sockets)
}

/// Holds what the paths stand for, the shortest path first, so that what is inside another comes later.
fn hold_all(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Held)>, Failed> {
    let mut paths = paths.to_vec();
    paths.sort();
    paths.dedup();
    let held = paths.into_iter().map(|path| {
        let held = Held::new(&path).at(format!("opening {}", path.display()))?;
        Ok((path, held))
    });
    held.collect()
}

/// Tells whether a path still leads to what is held, as it does unless something covers it.
fn is_same_place(path: &Path, held: &Held) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    of(path).is_some() && of(path) == of(&held.path())
}

/// What of `/run` programs need: links, such as to the programs of NixOS, and the addresses of name servers.
struct KeptOfRun {
    links: Vec<(PathBuf, PathBuf)>,
    name_servers: Option<(PathBuf, Vec<u8>)>,
}

/// The most bytes of a list of name servers.
const LONGEST_LIST: u64 = 64 * 1024;

impl KeptOfRun {
    fn look() -> Self {
        let entries = fs::read_dir("/run").into_iter().flatten().flatten();
        let links = entries.filter_map(|entry| Some((entry.path(), fs::read_link(entry.path()).ok()?)));
        let list = fs::canonicalize("/etc/resolv.conf").ok().filter(|path| path.starts_with("/run"));
        let name_servers = list.and_then(|path| {
            let bytes =
                bowline_files::read_beginning(bowline_files::open(&path).ok()?, &path, LONGEST_LIST).ok()?;
            Some((path, bytes.bytes))
        });
        Self { links: links.collect(), name_servers }
    }
}

/// Covers `/run`, where the sockets of services are.
fn cover_run(kept: &KeptOfRun) -> Result<(), Failed> {
    if !fs::symlink_metadata("/run").is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    mounts::mount_memory("/run", "mode=755,size=4m")?;
    let fill = || -> io::Result<()> {
        for (path, target) in &kept.links {
            symlink(target, path)?;
        }
        if let Some((path, bytes)) = &kept.name_servers {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(())
    };
    fill().at("filling /run")
}

/// Covers the sockets that programs of the machine listen at: Docker, the SSH agent, D-Bus, X11, editors.
fn mask_sockets(policy: &Policy, sockets: &[PathBuf]) -> Result<(), Failed> {
    let is_socket =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    let is_inside = |path: &Path| policy.writable.iter().any(|root| path.starts_with(root));
    for socket in sockets.iter().filter(|path| is_socket(path) && !is_inside(path)) {
        // Programs remove theirs at any moment.
        mounts::mask(socket).or_else(|failed| if is_socket(socket) { Err(failed) } else { Ok(()) })?;
    }
    Ok(())
}

/// Enters the working directory again: it was entered through a mount that is covered now.
#[expect(clippy::disallowed_methods, reason = "the keeper has a working directory of its own")]
pub(super) fn enter_working_directory(policy: &Policy) -> Result<(), Failed> {
    std::env::set_current_dir(&policy.working_directory).at("entering the working directory")?;
    capabilities::hand_on().at("handing on the rights of the namespace")
}
