//! Attempts 32 to 39: the machine below the files, and the folders that every process shares.
//!
//! None of them does any harm where it gets through: devices are only opened, and a kernel setting gets its own value.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode};

use super::attempt::expected::{PRIVATE_OR_NOT_ENFORCED, PRIVATE_OR_REFUSED, REFUSED};
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, row};
use super::files::append;
use super::inside::Inside;

use Reach::{Anyone, Machine};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("32", "kernel.devices", "open a disk", REFUSED, Machine, disk),
    row("33", "kernel.devices", "make a device file and open it", REFUSED, Machine, make_device),
    row("34", "kernel.devices", "open /dev/mem", REFUSED, Machine, |_| open("/dev/mem")),
    row("35", "kernel.devices", "write a kernel setting", REFUSED, Machine, setting),
    row("36", "kernel.devices", "open /proc/sysrq-trigger", REFUSED, Machine, |_| {
        open("/proc/sysrq-trigger")
    }),
    row("37", "kernel.devices", "open control group files", REFUSED, Machine, control_groups),
    row("38", "ipc", "write the machine's /dev/shm", PRIVATE_OR_NOT_ENFORCED, Anyone, |inside| {
        write_shared(&inside.facts.file_in_shm)
    }),
    row("39", "file.create", "write the machine's /tmp", PRIVATE_OR_REFUSED, Anyone, |inside| {
        write_shared(&inside.facts.file_in_tmp)
    }),
];

/// Opens a file for writing and writes nothing.
fn open(path: &str) -> Tried {
    Ok(OpenOptions::new().write(true).open(path).map(drop)?)
}

/// Returns the name and the number of every disk.
fn disks() -> Vec<(PathBuf, u64)> {
    let folders = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let disks = folders.filter_map(|folder| {
        let text = fs::read_to_string(folder.path().join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        let number = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        Some((Path::new("/dev").join(folder.file_name()), number))
    });
    disks.collect()
}

/// Opens a disk for writing, as the kernel lets only those do who could then write it.
fn disk(_: &Inside) -> Tried {
    let mut last = Stop::Absent("no disks are known".to_owned());
    for (path, _) in disks() {
        match File::options().read(true).write(true).open(&path) {
            Ok(file) if file.metadata().is_ok_and(|status| status.file_type().is_block_device()) => {
                return Ok(());
            }
            Ok(_) => {}
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn make_device(inside: &Inside) -> Tried {
    let (_, number) = *disks().first().ok_or_else(|| Stop::Absent("no disks are known".to_owned()))?;
    let path = inside.scratch.join("disk");
    rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::BlockDevice, Mode::RUSR | Mode::WUSR, number)?;
    Ok(File::options().read(true).open(path).map(drop)?)
}

fn setting(_: &Inside) -> Tried {
    let path = "/proc/sys/kernel/panic";
    let value = fs::read(path).prepared("reading a kernel setting")?;
    Ok(fs::write(path, value)?)
}

fn control_groups(_: &Inside) -> Tried {
    let candidates = ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs"];
    let Some(path) = candidates.into_iter().find(|path| Path::new(path).exists()) else {
        let at_all = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().next();
        let Some(folder) = at_all else {
            return Err(Stop::Absent("no control groups are mounted".to_owned()));
        };
        return open(&folder.path().join("cgroup.procs").to_string_lossy());
    };
    open(path)
}

/// Changes a file of the checker in a shared folder, and makes another one beside it.
fn write_shared(file: &Path) -> Tried {
    let changed = append(file);
    let created = fs::write(file.with_extension("new"), "!");
    changed.or_else(|_| Ok(created?))
}
