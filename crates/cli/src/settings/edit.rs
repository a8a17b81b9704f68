//! Changing a settings file: the one owner of how it is done. Other processes change it too, pi among them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::lock::Lock;
use crate::failure::Failure;

/// The largest file that is changed.
const LARGEST: u64 = 1024 * 1024;

/// Who may read a file that is made because there is none. One that is there stays as private as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewFile {
    /// The user alone.
    Private,
    /// Whoever may read what the user makes, as for the other files of a project.
    Usual,
}

/// Changes a settings file, which is made if there is none. `change` returns the new text of the file for the old one, which
/// is empty if there is none, or says why it cannot be changed. Returns whether the file was changed.
pub(crate) fn edit(
    path: &Path,
    new_file: NewFile,
    change: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<bool, Failure> {
    if let Some(folder) = path.parent() {
        let make = match new_file {
            NewFile::Private => bowline_files::create_private_folder(folder),
            NewFile::Usual => fs::create_dir_all(folder),
        };
        make.map_err(Failure::io("making the folder of the settings"))?;
    }
    let _lock = Lock::acquire(path)?;
    let before = match bowline_files::read_text(path, LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error.into()),
    };
    let after = change(&before)?;
    if after == before {
        return Ok(false);
    }
    replace(path, new_file, &after).map(|()| true)
}

/// Returns what is wrong with a settings file as a failure.
pub(crate) fn refusal(path: &Path) -> impl Fn(String) -> Failure {
    let path = path.display().to_string();
    move |problem| Failure::Settings { path: path.clone(), problem }
}

/// Refuses a file of a project that a link leads out of it.
pub(crate) fn check_inside(project: &Path, path: &Path) -> Result<(), Failure> {
    let nearest = path.ancestors().find_map(|folder| folder.canonicalize().ok());
    match (nearest, project.canonicalize()) {
        (Some(nearest), Ok(project)) if nearest.starts_with(&project) => Ok(()),
        _ => {
            let text = format!("{} leads out of the project, so nothing is written there", path.display());
            Err(Failure::Usage(text))
        }
    }
}

/// Replaces a file: readers see the old content or the new one, and who may read it stays.
fn replace(path: &Path, new_file: NewFile, text: &str) -> Result<(), Failure> {
    // A link is kept; its target is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = target.with_file_name(format!(".{name}.new"));
    // A process that was killed may have left one.
    let _ = fs::remove_file(&temporary);
    let mut options = match new_file {
        NewFile::Private => bowline_files::private_file(),
        NewFile::Usual => fs::OpenOptions::new(),
    };
    let mut write = || {
        let mut file = options.write(true).create_new(true).open(&temporary)?;
        if let Ok(metadata) = target.metadata() {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &target)
    };
    write().map_err(Failure::io("writing the settings"))
}

#[cfg(test)]
mod tests {
    use super::super::members::with_member;
    use super::*;

    #[test]
    fn concurrent_changes_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/settings.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let add =
                        |text: &str| Ok(with_member(text, &[&format!("key{number}")], Some("1")).unwrap());
                    assert!(edit(path, NewFile::Private, add).unwrap());
                });
            }
        });
        let settings: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(settings.as_object().unwrap().len(), 8);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let change = |text: &str| Ok(format!("{text} "));
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        edit(&real, NewFile::Private, change).unwrap();
        assert_eq!(mode(&real), 0o600);
        symlink(&real, &link).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        edit(&link, NewFile::Private, change).unwrap();
        assert_eq!((mode(&real), fs::read_to_string(&real).unwrap()), (0o640, "  ".to_owned()));
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(!edit(&link, NewFile::Private, |text| Ok(text.to_owned())).unwrap());
        assert!(check_inside(folder.path(), &link).is_ok());
        let outside = tempfile::tempdir().unwrap();
        let away = folder.path().join("away");
        symlink(outside.path(), &away).unwrap();
        assert!(check_inside(folder.path(), &away.join("settings.json")).is_err());
    }
}
