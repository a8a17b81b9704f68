//! The folder that an overlay writes to, as overlayfs leaves it: a deleted path is a whiteout, and a folder that took the
//! place of another hides what is below it.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use bowline_undo::{Folder, Kind};
use rustix::fs::{AtFlags, FileType, Mode, fgetxattr, fremovexattr, major, minor, mknodat, statat};

/// The most names that are read of one folder.
pub(super) const MOST_NAMES: usize = 100_000;

/// How many folders may be within each other.
pub(super) const DEEPEST: usize = 64;

/// The most changed paths that are told apart.
const MOST_CHANGED: usize = 200_000;

/// The most bytes of their paths.
const MOST_PATH_BYTES: usize = 64 << 20;

const OPAQUE: &str = "user.overlay.opaque";
const WHITEOUT: &str = "user.overlay.whiteout";

/// Returns the path of a name in a folder; both are relative to the workspace.
pub(super) fn join(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

/// Tells whether a name says that there is nothing.
pub(super) fn is_whiteout(folder: &Folder, name: &str) -> bool {
    let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::CharacterDevice => (major(found.st_rdev), minor(found.st_rdev)) == (0, 0),
        // Where no device can be made, an attribute of an empty file says so.
        FileType::RegularFile if found.st_size == 0 => {
            let opened = folder.open_file(name);
            opened.is_ok_and(|(file, _)| fgetxattr(&file, WHITEOUT, &mut [0_u8; 8][..]).is_ok())
        }
        _ => false,
    }
}

/// Tells whether a folder hides what is at its path below it.
pub(super) fn is_opaque(folder: &Folder) -> bool {
    let mut value = [0_u8; 8];
    fgetxattr(folder.as_fd(), OPAQUE, &mut value[..]).is_ok_and(|length| value[..length] == *b"y")
}

/// Has every folder that hides others say so name by name, so that single names can be taken out of it. `real` is what it
/// covers. Nothing may be mounted.
pub(super) fn uncover(upper: &Folder, real: Option<&Folder>, hides: bool, depth: usize) -> io::Result<()> {
    let failed = |error: bowline_undo::Error| io::Error::other(error.to_string());
    let hides = hides || is_opaque(upper);
    let (names, has_more) = upper.names(MOST_NAMES).map_err(failed)?;
    if has_more {
        return Err(io::Error::other("there are too many changes to take some of them out"));
    }
    for name in names.iter().filter(|name| !name.is_lossy) {
        let is_folder = upper.stat(&name.name).map_err(failed)?.is_some_and(|stat| stat.kind == Kind::Folder);
        // What is deeper is never listed, so nothing of it is taken out.
        if is_folder && depth < DEEPEST {
            let inner_real = real.and_then(|real| real.enter(&name.name).ok());
            let inner = upper.enter(&name.name).map_err(failed)?;
            uncover(&inner, inner_real.as_ref(), hides, depth + 1)?;
        }
    }
    if !hides {
        return Ok(());
    }
    if let Some(real) = real {
        let here: HashSet<&str> = names.iter().map(|name| name.name.as_str()).collect();
        let (covered, has_more) = real.names(MOST_NAMES).map_err(failed)?;
        if has_more || covered.iter().any(|name| name.is_lossy) {
            return Err(io::Error::other(format!(
                "{} has names that cannot be told apart",
                real.path().display()
            )));
        }
        for name in covered.iter().filter(|name| !here.contains(name.name.as_str())) {
            mknodat(upper, &*name.name, FileType::CharacterDevice, Mode::empty(), 0)?;
        }
    }
    match fremovexattr(upper.as_fd(), OPAQUE) {
        Ok(()) | Err(rustix::io::Errno::NODATA) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The paths that an overlay covers with something of its own.
#[derive(Debug, Default)]
pub(super) struct Changed {
    paths: HashSet<String>,
    bytes: usize,
}

impl Changed {
    /// Tells whether a path, or a folder that it is in, has been changed.
    pub fn covers(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        self.paths.contains(path) || above.into_iter().any(|above| self.paths.contains(above))
    }
}

/// Returns the changed paths; `None` if there are too many, or they cannot be read. Folders are among them only if they hide
/// what they cover.
pub(super) fn changed_paths(upper: &Path) -> Option<Changed> {
    let mut changed = Changed::default();
    let Ok(folder) = Folder::open(upper) else { return (!upper.exists()).then_some(changed) };
    collect(&folder, "", 0, &mut changed).then_some(changed)
}

fn collect(folder: &Folder, below: &str, depth: usize, changed: &mut Changed) -> bool {
    let Ok((names, has_more)) = folder.names(MOST_NAMES) else { return false };
    if has_more || depth > DEEPEST {
        return false;
    }
    for name in names.iter().filter(|name| !name.is_lossy) {
        let path = join(below, &name.name);
        let inner = match folder.stat(&name.name) {
            Ok(Some(stat)) if stat.kind == Kind::Folder => folder.enter(&name.name).ok(),
            Ok(_) => None,
            Err(_) => return false,
        };
        match inner.filter(|inner| !is_opaque(inner)) {
            Some(inner) => {
                if !collect(&inner, &path, depth + 1, changed) {
                    return false;
                }
            }
            None => {
                changed.bytes += path.len();
                if changed.paths.len() >= MOST_CHANGED || changed.bytes > MOST_PATH_BYTES {
                    return false;
                }
                changed.paths.insert(path);
            }
        }
    }
    true
}
