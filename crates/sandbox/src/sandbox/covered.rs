//! What the mounts of a keeper cover. A mount is gone, without a word of the kernel, when another program replaces the file
//! below it by renaming a new one over it, as git, npm and editors do. Then the keeper enforces less than it promises, and
//! another one takes its place.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::plan::Plan;

/// What a keeper covers and stands on, as it was when it was planned.
#[derive(Debug)]
pub(super) struct Covered {
    paths: Vec<(PathBuf, Option<Identity>)>,
    /// What does not exist, by the folders in which it would appear.
    absent: Mutex<Vec<Absent>>,
}

/// The device and the number of a file.
type Identity = (u64, u64);

/// Names that are not in a folder. As long as the folder has not changed, they need not be looked for one by one.
#[derive(Debug)]
struct Absent {
    folder: PathBuf,
    state: Option<(Identity, i64, i64)>,
    paths: Vec<PathBuf>,
}

impl Covered {
    /// Notes what a plan is about.
    pub fn note(plan: &Plan) -> Self {
        let paths = plan.masked.iter().chain(&plan.read_only_inside).chain(&plan.roots);
        let paths = paths.map(|path| (path.clone(), identity(path))).collect();
        let mut absent: Vec<Absent> = Vec::new();
        for path in &plan.absent {
            let Some(folder) = path.ancestors().skip(1).find(|folder| folder.is_dir()) else { continue };
            match absent.iter_mut().find(|absent| absent.folder == folder) {
                Some(absent) => absent.paths.push(path.clone()),
                None => absent.push(Absent {
                    folder: folder.to_owned(),
                    state: state(folder),
                    paths: vec![path.clone()],
                }),
            }
        }
        Self { paths, absent: Mutex::new(absent) }
    }

    /// Tells whether something has been replaced or made since. Takes a look at a few names, before every call.
    pub fn is_changed(&self) -> bool {
        let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        self.paths.iter().any(|(path, before)| identity(path) != *before)
            || absent.iter_mut().any(Absent::is_changed)
    }
}

impl Absent {
    fn is_changed(&mut self) -> bool {
        let now = state(&self.folder);
        if now == self.state {
            return false;
        }
        // Before the names are looked for: what is made meanwhile changes the folder again.
        self.state = now;
        // A folder on the way to a name may be new.
        let first = |path: &Path| {
            let below = path.strip_prefix(&self.folder).ok()?;
            below.components().next().map(|part| self.folder.join(part))
        };
        self.paths.iter().filter_map(|path| first(path)).any(|path| identity(&path).is_some())
    }
}

fn identity(path: &Path) -> Option<Identity> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Returns what changes whenever a name appears in a folder.
fn state(folder: &Path) -> Option<(Identity, i64, i64)> {
    let found = folder.symlink_metadata().ok()?;
    Some(((found.dev(), found.ino()), found.ctime(), found.ctime_nsec()))
}
