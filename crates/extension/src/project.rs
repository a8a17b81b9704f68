//! Which folders around the working folder belong to its project.

use std::path::Path;

/// The folders of a project.
#[derive(Debug)]
pub(crate) struct Project<'a> {
    /// From the working folder outwards.
    pub folders: Vec<&'a Path>,
    /// The root of the repository.
    pub root: Option<&'a Path>,
}

impl<'a> Project<'a> {
    /// Returns the folders up to the root of the repository. Without a repository they end at the home directory, or,
    /// outside of it, with the working folder. So which folders are searched does not depend on who else uses the
    /// machine, and a worktree inside another repository hides the files of that repository.
    pub fn around(working: &'a Path, home: Option<&Path>) -> Self {
        let ours = |folder: &Path| folder == working || !bowline_files::is_shared(folder);
        let candidates: Vec<_> = working.ancestors().take_while(|folder| ours(folder)).collect();
        let real_home = home.and_then(|home| home.canonicalize().ok());
        let is_home = |folder: &Path| Some(folder) == home || Some(folder) == real_home.as_deref();
        let in_home = candidates.iter().position(|folder| is_home(folder));
        let known = in_home.map_or(candidates.len(), |last| last + 1);
        let in_repository =
            candidates[..known].iter().position(|folder| folder.join(".git").symlink_metadata().is_ok());
        let last = in_repository.or(in_home).unwrap_or(0);
        Self {
            root: in_repository.map(|last| candidates[last]),
            folders: candidates.into_iter().take(last + 1).collect(),
        }
    }
}
