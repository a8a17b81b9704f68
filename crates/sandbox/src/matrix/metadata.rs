//! Attempts 25 to 31: changing what is known about files outside, rather than what is in them.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rustix::fs::{CWD, FallocateFlags, IFlags, Timespec, Timestamps, XattrFlags};

use super::attempt::expected::{REFUSED, REFUSED_IN_FULL};
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, row};
use super::inside::Inside;

use Reach::{Anyone, Machine};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("25", "file.metadata", "change the mode of a file", REFUSED_IN_FULL, Anyone, |inside| {
        Ok(fs::set_permissions(inside.file(), fs::Permissions::from_mode(0o666))?)
    }),
    row("26", "file.metadata", "change the times of a file", REFUSED_IN_FULL, Anyone, times),
    row("27", "file.metadata", "set an extended attribute", REFUSED_IN_FULL, Machine, |inside| {
        Ok(rustix::fs::setxattr(inside.file(), "user.attempt", b"!", XattrFlags::empty())?)
    }),
    row("28", "file.metadata", "change the owner of a file", REFUSED_IN_FULL, Anyone, owner),
    row("29", "file.metadata", "change the mode of a folder", REFUSED_IN_FULL, Anyone, |inside| {
        Ok(fs::set_permissions(&inside.outside, fs::Permissions::from_mode(0o777))?)
    }),
    row("30", "file.metadata", "set inode flags of a file", REFUSED_IN_FULL, Machine, flags),
    row("31", "file.write", "punch a hole into a file", REFUSED, Anyone, punch),
];

fn times(inside: &Inside) -> Tried {
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, inside.file(), &times, rustix::fs::AtFlags::empty())?)
}

/// Gives the file to whom it belongs: everybody may, and it changes the time of the last change.
fn owner(inside: &Inside) -> Tried {
    let status = fs::metadata(inside.file()).prepared("looking at the file outside")?;
    Ok(std::os::unix::fs::chown(inside.file(), Some(status.uid()), Some(status.gid()))?)
}

fn flags(inside: &Inside) -> Tried {
    let file = File::open(inside.file()).prepared("opening the file outside for reading")?;
    let flags = rustix::fs::ioctl_getflags(&file)
        .map_err(|error| Stop::Absent(format!("the file system has no inode flags: {error}")))?;
    Ok(rustix::fs::ioctl_setflags(&file, flags | IFlags::NODUMP)?)
}

fn punch(inside: &Inside) -> Tried {
    let file = File::options().write(true).open(inside.file())?;
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, how, 0, 4)?)
}
