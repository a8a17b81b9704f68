//! What the real workspace was when tools began to change their view of it. A path that is not the same any more was changed
//! by somebody else, and is not overwritten.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use bowline_undo::{Folder, Kind, Stat};
use serde::{Deserialize, Serialize};

use super::upper;
use crate::error::Error;

/// The most paths of a workspace. Noting more would take too long before each start.
pub(crate) const MOST_PATHS: usize = 500_000;

/// How many folders may be within each other. Each takes a descriptor while it is read.
const DEEPEST: usize = 128;

/// The longest line that is read.
const LONGEST_LINE: u64 = 64 * 1024;

/// What tells whether a path has changed: of a folder only what it is, because what is in it has entries of its own. Numbers
/// of devices are left out, because they may differ after a restart of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(Kind, u32, u64, i64, u64);

impl Stamp {
    pub fn of(stat: &Stat) -> Self {
        match stat.kind {
            Kind::Folder => Self(stat.kind, stat.mode, stat.inode, 0, 0),
            _ => Self(stat.kind, stat.mode, stat.inode, stat.changed, stat.size),
        }
    }
}

/// The paths of a workspace at some moment.
#[derive(Debug, Default)]
pub(crate) struct Baseline(HashMap<String, Stamp>);

impl Baseline {
    /// Returns why a path must not be overwritten: it is not what it was.
    pub fn conflict(&self, path: &str, now: Option<&Stat>) -> Option<&'static str> {
        match (self.0.get(path), now) {
            (None, None) => None,
            (Some(_), None) => Some("it was deleted in the workspace meanwhile"),
            (None, Some(_)) => Some("it was created in the workspace meanwhile"),
            (Some(was), Some(now)) => {
                (*was != Stamp::of(now)).then_some("it was changed in the workspace meanwhile")
            }
        }
    }

    /// Returns what the workspace is now, but for paths with pending changes: those stay what they were.
    pub fn renewed(&self, workspace: &Path, upper: &Path) -> Result<Self, Error> {
        let folder = Folder::open(workspace).map_err(Error::changes)?;
        let device = folder.own_stat().map_err(Error::changes)?.device;
        let mut scan = Scan { found: HashMap::new(), device };
        scan.read(&folder, "", 0)?;
        let changed = upper::changed_paths(upper);
        let mut found = scan.found;
        match changed {
            Some(changed) => {
                let is_pending = |path: &str| changed.covers(path);
                found.retain(|path, _| !is_pending(path));
                let kept = self.0.iter().filter(|(path, _)| is_pending(path));
                found.extend(kept.map(|(path, stamp)| (path.clone(), *stamp)));
            }
            // There is too much to tell, so everything that was known stays.
            None => found.extend(self.0.iter().map(|(path, stamp)| (path.clone(), *stamp))),
        }
        Ok(Self(found))
    }

    /// Reads what was written; `None` if there is nothing, or not all of it.
    pub fn read(path: &Path) -> Option<Self> {
        let mut reader = BufReader::new(File::open(path).ok()?);
        let mut found = HashMap::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
            if line.is_empty() {
                return Some(Self(found));
            }
            let (path, stamp) = serde_json::from_slice::<(String, Stamp)>(&line).ok()?;
            found.insert(path, stamp);
        }
    }

    /// Writes it as lines of JSON, all or nothing.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("new");
        let _ = fs::remove_file(&temporary);
        let file = bowline_files::private_file().write(true).create_new(true).open(&temporary)?;
        let mut output = BufWriter::new(file);
        for entry in &self.0 {
            serde_json::to_writer(&mut output, &entry)?;
            output.write_all(b"\n")?;
        }
        output.flush()?;
        fs::rename(temporary, path)
    }
}

struct Scan {
    found: HashMap<String, Stamp>,
    device: u64,
}

impl Scan {
    fn read(&mut self, folder: &Folder, below: &str, depth: usize) -> Result<(), Error> {
        // What cannot be read is not known, so nothing of it is overwritten.
        let Ok((names, _)) = folder.names(MOST_PATHS) else { return Ok(()) };
        for name in names.iter().filter(|name| !name.is_lossy) {
            let Ok(Some(stat)) = folder.stat(&name.name) else { continue };
            let path = upper::join(below, &name.name);
            if self.found.len() >= MOST_PATHS {
                return Err(Error::TooManyFiles { most: MOST_PATHS });
            }
            self.found.insert(path.clone(), Stamp::of(&stat));
            if stat.kind == Kind::Folder
                && stat.device == self.device
                && depth < DEEPEST
                && let Ok(inner) = folder.enter(&name.name)
            {
                self.read(&inner, &path, depth + 1)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_paths_keep_their_stamp_and_others_get_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, upper) = (folder.path().join("work"), folder.path().join("upper"));
        fs::create_dir_all(workspace.join("d")).unwrap();
        fs::create_dir_all(&upper).unwrap();
        for name in ["a", "b", "d/c"] {
            fs::write(workspace.join(name), "one").unwrap();
        }
        let first = Baseline::default().renewed(&workspace, &upper).unwrap();
        let path = folder.path().join("baseline");
        first.write(&path).unwrap();
        let first = Baseline::read(&path).unwrap();
        let stat = |name: &str| {
            let root = Folder::open(&workspace).unwrap();
            let (parent, name) = root.parent_of(name).unwrap();
            parent.stat(name).unwrap()
        };
        for name in ["a", "b", "d", "d/c"] {
            assert_eq!(first.conflict(name, stat(name).as_ref()), None, "{name}");
        }
        for name in ["a", "b", "d/c"] {
            fs::write(workspace.join(name), "other").unwrap();
        }
        // A whole folder is replaced.
        fs::write(upper.join("a"), "mine").unwrap();
        fs::write(upper.join("d"), "mine").unwrap();
        let second = first.renewed(&workspace, &upper).unwrap();
        assert!(second.conflict("a", stat("a").as_ref()).is_some());
        assert!(second.conflict("d/c", stat("d/c").as_ref()).is_some());
        assert_eq!(second.conflict("b", stat("b").as_ref()), None);
        assert!(second.conflict("b", None).is_some());
        assert!(second.conflict("new", stat("b").as_ref()).is_some());
    }
}
