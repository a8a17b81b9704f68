//! Mounts: what is mounted, and how it is changed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags, open, openat2, statx,
};

use super::{At as _, Failed};

/// No source, no kind of file system, no options.
const NONE: Option<&str> = None;

/// A mount of this process's namespace.
#[derive(Debug, Clone)]
pub(super) struct Mount {
    id: u64,
    pub point: PathBuf,
    flags: MsFlags,
}

/// A file or folder that stays reachable whatever is mounted over its path.
pub(super) struct Held {
    descriptor: OwnedFd,
}

impl Held {
    /// Holds what a path stands for now.
    pub fn new(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self { descriptor: open(path, flags, Mode::empty())? })
    }

    /// Returns a path that leads to it.
    pub fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.descriptor.as_raw_fd().to_string())
    }

    pub fn is_folder(&self) -> bool {
        fs::metadata(self.path()).is_ok_and(|metadata| metadata.is_dir())
    }
}

/// Returns the first mount inside of a folder.
pub(super) fn first_inside(folder: &Path, mounts: &[Mount]) -> Option<PathBuf> {
    let mut points = mounts.iter().map(|mounted| &mounted.point);
    points.find(|point| point.starts_with(folder) && *point != folder).cloned()
}

/// Returns all mounts, in the order in which they were made.
pub(super) fn all() -> io::Result<Vec<Mount>> {
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

/// Parses a line: number, parent, device, root, mount point, options, and more that is not needed.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let point = PathBuf::from(OsStr::from_bytes(&unescaped(fields.nth(3)?)));
    let options = std::str::from_utf8(fields.next()?).ok()?;
    Some(Mount { id, point, flags: flags(options) })
}

/// Undoes the escapes of the table: a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match (byte, digits) {
            (b'\\', Some(digits)) => {
                let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
                rest = &after[3..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

/// Returns the flags that must be repeated when a mount is changed, because an outer namespace may have locked them. The
/// kernel keeps those about access times by itself.
fn flags(options: &str) -> MsFlags {
    options.split(',').fold(MsFlags::empty(), |flags, option| {
        flags
            | match option {
                "ro" => MsFlags::MS_RDONLY,
                "nosuid" => MsFlags::MS_NOSUID,
                "nodev" => MsFlags::MS_NODEV,
                "noexec" => MsFlags::MS_NOEXEC,
                _ => MsFlags::empty(),
            }
    })
}

/// Keeps what is mounted from now on out of all other namespaces.
pub(super) fn make_private() -> nix::Result<()> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
}

/// Makes every mount read-only, and setuid programs mere programs.
pub(super) fn make_all_read_only(mounts: &[Mount]) -> Result<(), Failed> {
    for mounted in mounts {
        let flags = mounted.flags | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
        if let Err(error) = remount(&mounted.point, flags) {
            // What is covered by another mount cannot be reached, by anyone.
            if is_reachable(mounted) {
                return Err(error).at(format!("making {} read-only", mounted.point.display()));
            }
        }
    }
    Ok(())
}

fn remount(point: &Path, flags: MsFlags) -> nix::Result<()> {
    mount(NONE, point, NONE, flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND, NONE)
}

/// Tells whether the path of a mount leads to it.
fn is_reachable(mounted: &Mount) -> bool {
    let found = statx(CWD, &mounted.point, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
    found.is_ok_and(|found| found.stx_mnt_id == mounted.id)
}

/// Mounts what is held at a path, with everything mounted below it.
fn bind(held: &Held, target: &Path) -> nix::Result<()> {
    mount(Some(&held.path()), target, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)
}

/// Makes what is held at its path writable again, as far as it was. `mounts` are those of the beginning.
pub(super) fn bind_writable(held: &Held, path: &Path, mounts: &[Mount]) -> Result<(), Failed> {
    let step = || format!("making {} writable", path.display());
    let outer = mounts.iter().rfind(|mounted| path.starts_with(&mounted.point));
    let outer = outer.map_or(MsFlags::empty(), |mounted| mounted.flags);
    if outer.contains(MsFlags::MS_RDONLY) {
        let problem = "it is on a read-only file system".to_owned();
        return Err(Failed { step: step(), problem });
    }
    make_place(path, held.is_folder()).at(step())?;
    bind(held, path).at(step())?;
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    remount(path, outer | plain).at(step())?;
    for inside in mounts.iter().filter(|mounted| mounted.point != path && mounted.point.starts_with(path)) {
        if !inside.flags.contains(MsFlags::MS_RDONLY) {
            // One that is covered by another need not be reached.
            let _ = remount(&inside.point, inside.flags | plain);
        }
    }
    Ok(())
}

/// Mounts what is held at a path, read-only.
pub(super) fn bind_read_only(held: &Held, path: &Path) -> Result<(), Failed> {
    let step = || format!("keeping {} read-only", path.display());
    make_place(path, held.is_folder()).at(step())?;
    bind(held, path).at(step())?;
    let locked = flags_at(path);
    remount(path, locked | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV).at(step())
}

/// Mounts a folder on itself, so that it cannot be renamed.
pub(super) fn pin(path: &Path) -> Result<(), Failed> {
    let step = || format!("keeping {} in its place", path.display());
    let held = Held::new(path).at(step())?;
    bind(&held, path).at(step())
}

/// Returns the flags of the mount that a path is on. Those that are locked must be kept when it is mounted again.
fn flags_at(path: &Path) -> MsFlags {
    let Ok(found) = rustix::fs::statvfs(path) else { return MsFlags::empty() };
    let known = [
        (StatVfsMountFlags::RDONLY, MsFlags::MS_RDONLY),
        (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
        (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
    ];
    let set = known.into_iter().filter(|(flag, _)| found.f_flag.contains(*flag));
    set.fold(MsFlags::empty(), |flags, (_, flag)| flags | flag)
}

/// Covers a path so that nothing can be read there: an empty folder without rights, or an empty file.
pub(super) fn mask(path: &Path) -> Result<(), Failed> {
    let step = || format!("masking {}", path.display());
    // Names may be links that tools have made in the overlay of a home folder. What they hide cannot be read by them.
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(opened) = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) else {
        return Ok(());
    };
    let held = Held { descriptor: opened };
    let (is_folder, path) = (held.is_folder(), held.path());
    let mounted = if is_folder {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
        mount(Some("tmpfs"), &path, Some("tmpfs"), flags, Some("mode=000,size=4k"))
    } else {
        mount(Some("/dev/null"), &path, NONE, MsFlags::MS_BIND, NONE)
    };
    match mounted {
        // It is gone: sockets of other programs come and go.
        Err(Errno::ENOENT) => Ok(()),
        mounted => mounted.at(step()),
    }
}

/// Mounts an empty file system in memory.
pub(super) fn mount_memory(path: &str, options: &str) -> Result<(), Failed> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some(options)).at(format!("mounting {path}"))
}

/// Mounts a folder over another: what is written goes to `store`, what is not there is read from `lower`.
pub(super) fn mount_overlay(folder: &Path, lower: &Held, store: &Held) -> Result<(), Failed> {
    let step = || format!("mounting an overlay over {}", folder.display());
    make_place(folder, true).at(step())?;
    // The overlay needs a writable way to its store, which is gone again afterwards.
    let place = Path::new("/run/bowline-store");
    fs::create_dir_all(place).at(step())?;
    bind(store, place).at(step())?;
    remount(place, flags_at(place).difference(MsFlags::MS_RDONLY) | MsFlags::MS_NOSUID | MsFlags::MS_NODEV)
        .at(step())?;
    for name in ["upper", "work"] {
        fs::create_dir_all(place.join(name)).at(step())?;
    }
    // By its descriptor, because options cannot have every character of a path.
    let options = format!(
        "lowerdir={},upperdir={1}/upper,workdir={1}/work,userxattr",
        lower.path().display(),
        place.display()
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("overlay"), folder, Some("overlay"), flags, Some(options.as_str())).at(step())?;
    nix::mount::umount2(place, nix::mount::MntFlags::MNT_DETACH).at(step())
}

/// Makes a place to mount on, if the path is in a folder that is new. Elsewhere it exists.
fn make_place(path: &Path, is_folder: bool) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if is_folder {
        return fs::create_dir_all(path);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_the_table_is_parsed_with_its_escapes_and_locked_flags() {
        let line =
            br"36 35 98:0 /mnt1 /mnt\040two\134x rw,nosuid,noexec,relatime master:1 - ext3 /dev/root rw";
        let mounted = parse(line).unwrap();
        assert_eq!((mounted.id, mounted.point), (36, PathBuf::from(r"/mnt two\x")));
        assert_eq!(mounted.flags, MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC);
        assert!(parse(b"").is_none() && parse(b"x y").is_none());
    }

    #[test]
    fn backslash_without_digits_is_itself() {
        assert_eq!(unescaped(br"a\9b\"), br"a\9b\");
        assert_eq!(unescaped(br"\0401"), b" 1");
    }
}
