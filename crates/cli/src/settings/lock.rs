//! The lock of a settings file that pi uses, too: a folder with the file's name and `.lock`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::failure::Failure;

/// How often a lock that another process holds is tried.
const GLANCE: Duration = Duration::from_millis(20);

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

/// The age of a lock whose process must have died: it is held for as long as it takes to write a file.
const STALE: Duration = Duration::from_secs(10);

/// The exclusive right to change a settings file, held until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    folder: PathBuf,
}

impl Lock {
    pub fn acquire(settings: &Path) -> Result<Self, Failure> {
        let mut name = settings.as_os_str().to_owned();
        name.push(".lock");
        let folder = PathBuf::from(name);
        let started = Instant::now();
        loop {
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Self { folder }),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Failure::io("locking the settings")(error));
                }
                Err(_) if is_stale(&folder) => {
                    let _ = fs::remove_dir(&folder);
                }
                Err(_) if started.elapsed() > PATIENCE => {
                    let folder = folder.display();
                    return Err(Failure::Settings {
                        path: settings.display().to_string(),
                        problem: format!("another process is changing it; if there is none, remove {folder}"),
                    });
                }
                Err(_) => std::thread::sleep(GLANCE),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

fn is_stale(folder: &Path) -> bool {
    let modified = folder.symlink_metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > STALE))
}
