//! The directory walk that grep and find share: sorted by path, with hidden files, without what `.gitignore` and similar
//! files exclude (in a repository or not), without `.git` itself and without bowline's own folder. Links are not
//! followed, so there are no loops.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::PathBuf;
use std::vec;

use bowline_files::IgnoreRules;
use tokio_util::sync::CancellationToken;

use crate::builtin::Call;
use crate::closed_paths::Closed;

/// The most names of one folder that are looked at: a folder with a million files must not fill the memory.
pub(crate) const MAX_NAMES: usize = 200_000;

/// The note for a model when there were more.
pub(crate) const LEFT_OUT_NAMES: &str =
    "A folder has more than 200000 names; only that many were looked at. Search a folder below it.";

/// The entries below a folder. Unreadable ones are skipped.
pub(crate) struct Walk<'a> {
    root: PathBuf,
    /// The folders that are being walked, innermost last.
    folders: Vec<Folder>,
    rules: IgnoreRules,
    /// Bowline's own folder, if it is below the root.
    own_folder: Option<PathBuf>,
    left_out_names: bool,
    closed: Closed,
    cancel: &'a CancellationToken,
}

/// A folder and what is left of it.
struct Folder {
    path: PathBuf,
    names: vec::IntoIter<(OsString, FileType)>,
}

/// A file, folder or something else below the root.
pub(crate) struct Entry {
    pub path: PathBuf,
    pub kind: FileType,
}

impl<'a> Walk<'a> {
    /// Starts a walk below the folder `root`, which ends early when it is cancelled.
    pub(crate) fn new(call: &Call, tool: &str, root: PathBuf, cancel: &'a CancellationToken) -> Self {
        let home = call.options.home_directory.as_deref();
        let own_folder = call.options.own_folder.as_deref().and_then(|own| {
            let below =
                bowline_files::canonical(own).strip_prefix(bowline_files::canonical(&root)).ok()?.to_owned();
            Some(root.join(below))
        });
        let mut walk = Self {
            rules: IgnoreRules::around(&root, &call.context.working_directory, home),
            root: root.clone(),
            folders: Vec::new(),
            own_folder,
            left_out_names: false,
            closed: Closed::below(call, tool, &root),
            cancel,
        };
        walk.enter(root);
        walk
    }

    /// Returns whether a folder had too many names to look at all of them.
    pub(crate) fn left_out_names(&self) -> bool {
        self.left_out_names
    }

    /// Returns how many files and folders were left out because a rule closes them.
    pub(crate) fn closed(&self) -> usize {
        self.closed.count
    }

    fn enter(&mut self, path: PathBuf) {
        let Ok(entries) = fs::read_dir(&path) else { return };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            if names.len() == MAX_NAMES {
                self.left_out_names = true;
                break;
            }
            if self.cancel.is_cancelled() {
                return;
            }
            if let Ok(kind) = entry.file_type() {
                names.push((entry.file_name(), kind));
            }
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.rules.enter(&path, &self.root, names.iter().map(|(name, _)| name.as_os_str()));
        self.folders.push(Folder { path, names: names.into_iter() });
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while !self.cancel.is_cancelled() {
            let folder = self.folders.last_mut()?;
            let Some((name, kind)) = folder.names.next() else {
                self.folders.pop();
                self.rules.leave();
                continue;
            };
            let path = folder.path.join(&name);
            if name == ".git"
                || self.own_folder.as_ref() == Some(&path)
                || self.rules.leave_out(&path, kind.is_dir())
                || self.closed.leave_out(&path)
            {
                continue;
            }
            if kind.is_dir() {
                self.enter(path.clone());
            }
            return Some(Entry { path, kind });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;
    use crate::testing::Workshop;

    /// Returns what a walk below `root` finds, relative to the workshop.
    fn walked(workshop: &Workshop, root: &str) -> Vec<String> {
        let call = workshop.built_in_call(json!({}));
        let walk = Walk::new(&call, "find", workshop.path().join(root), &workshop.cancel);
        let relative = |entry: Entry| entry.path.strip_prefix(workshop.path()).unwrap().display().to_string();
        walk.filter(|entry| entry.kind.is_file()).map(relative).collect()
    }

    #[test]
    fn nearest_rule_decides_and_rules_of_git_end_at_the_repository() {
        let workshop = Workshop::with(&[
            (".git/info/exclude", "excluded"),
            (".gitignore", "*.log\n!keep.log\n/top\n"),
            (".ignore", "!whitelisted.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("whitelisted.log", ""),
            ("excluded", ""),
            ("top", ""),
            ("inner/top", ""),
            ("inner/.gitignore", "keep.log\n!b.log\n"),
            ("inner/b.log", ""),
            ("inner/keep.log", ""),
            ("module/.git/HEAD", ""),
            ("module/a.log", ""),
            ("module/excluded", ""),
        ]);
        let all = walked(&workshop, "");
        let files: Vec<_> = all.iter().filter(|path| !path.ends_with("ignore")).collect();
        let expected =
            ["inner/b.log", "inner/top", "keep.log", "module/a.log", "module/excluded", "whitelisted.log"];
        assert_eq!(files, expected);
        assert_eq!(walked(&workshop, "inner"), ["inner/.gitignore", "inner/b.log", "inner/top"]);
    }

    #[test]
    fn rules_of_the_user_are_found_by_the_settings_of_git() {
        let mut workshop =
            Workshop::with(&[("home/.config/git/ignore", "*.swp"), ("work/a.swp", ""), ("work/b.bak", "")]);
        workshop.options.home_directory = Some(workshop.path().join("home"));
        assert_eq!(walked(&workshop, "work"), ["work/b.bak"]);
        fs::write(workshop.path().join("home/.gitconfig"), "[core]\n\texcludesFile = ~/mine\n").unwrap();
        fs::write(workshop.path().join("home/mine"), "*.bak").unwrap();
        assert_eq!(walked(&workshop, "work"), ["work/a.swp"]);
    }

    #[test]
    fn links_are_not_followed_and_a_linked_ignore_file_must_be_inside() {
        let workshop =
            Workshop::with(&[("outside", "*"), ("work/a", ""), ("work/rules", "b"), ("work/b", "")]);
        symlink("..", workshop.path().join("work/loop")).unwrap();
        symlink("../outside", workshop.path().join("work/.ignore")).unwrap();
        symlink("rules", workshop.path().join("work/.gitignore")).unwrap();
        assert_eq!(walked(&workshop, "work"), ["work/a", "work/rules"]);
    }
}
