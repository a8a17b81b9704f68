//! A small `/dev`: what programs need, terminals and shared memory of its own, and nothing of the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use super::mounts::{Held, mount_memory};
use super::{At as _, Failed};

const NAMES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

const NONE: Option<&str> = None;

/// Mounts the new folder over the old one.
pub(super) fn mount_new() -> Result<(), Failed> {
    let step = "making a new /dev";
    // The old devices are reached by descriptor once the new folder covers them.
    let held: Vec<_> = NAMES
        .iter()
        .filter_map(|name| Some((*name, Held::new(&Path::new("/dev").join(name)).ok()?)))
        .collect();
    let flags = MsFlags::MS_NOSUID;
    mount(Some("tmpfs"), "/dev", Some("tmpfs"), flags, Some("mode=755,size=64k")).at(step)?;
    for (name, held) in &held {
        let target = Path::new("/dev").join(name);
        fs::write(&target, "").at(step)?;
        mount(Some(&held.path()), &target, NONE, MsFlags::MS_BIND, NONE).at(step)?;
    }
    for (name, target) in LINKS {
        symlink(target, Path::new("/dev").join(name)).at(step)?;
    }
    fs::create_dir("/dev/pts").at(step)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=620");
    mount(Some("devpts"), "/dev/pts", Some("devpts"), flags, options).at(step)?;
    fs::create_dir("/dev/shm").at(step)?;
    mount_memory("/dev/shm", "mode=1777")?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
    mount(NONE, "/dev", NONE, flags, NONE).at(step)
}
