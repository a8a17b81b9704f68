//! What the mounts of a keeper cover. A mount is gone, without a word of the kernel, when another program replaces the file
//! below it by renaming a new one over it, as git, npm and editors do. Then the keeper enforces less than it promises, and
//! another one takes its place.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::plan::Plan;

/// How long an answer stands. Many short commands do not cost a look each.
const STANDS: Duration = Duration::from_millis(100);

/// What a keeper covers and stands on, as it was when it was planned.
#[derive(Debug)]
pub(super) struct Covered {
    paths: Vec<(PathBuf, Option<Identity>)>,
    looked: Mutex<Instant>,
}

/// The device and the number of a file.
type Identity = (u64, u64);

impl Covered {
    /// Notes what a plan is about.
    pub fn note(plan: &Plan) -> Self {
        let paths = plan.masked.iter().chain(&plan.read_only_inside).chain(&plan.roots).chain(&plan.absent);
        let paths = paths.map(|path| (path.clone(), identity(path)));
        Self { paths: paths.collect(), looked: Mutex::new(Instant::now()) }
    }

    /// Tells whether something has been replaced or made since.
    pub fn is_changed(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() < STANDS {
            return false;
        }
        *looked = Instant::now();
        self.paths.iter().any(|(path, before)| identity(path) != *before)
    }
}

fn identity(path: &Path) -> Option<Identity> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}
