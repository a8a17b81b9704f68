//! Paths that are never applied, because other programs of the user do what is written there. What tools wrote there stays
//! in the overlay, where the user can read it.

use std::path::PathBuf;

use crate::{git_folders, plan};

/// The folders of a git folder that hold names which others choose.
const NAMES_OF_OTHERS: [&str; 3] = ["refs", "logs", "objects"];

const AGENTS: &str = "it configures agents, editors or shells, which run what it names";
const GIT: &str = "it configures git, which runs what it names";
const POINTER: &str = "it leads git to another folder, whose configuration git would follow";
const RULE: &str = "a rule of yours forbids to write it";

/// Says which paths are never applied.
#[derive(Debug, Default)]
pub(crate) struct Protection {
    /// Paths that rules of the user close, relative to the workspace.
    denied: Vec<String>,
}

impl Protection {
    /// Returns the protection of a workspace. The paths are absolute.
    pub fn new(workspace: &std::path::Path, denied: &[PathBuf]) -> Self {
        let inside = denied.iter().filter_map(|path| path.strip_prefix(workspace).ok()?.to_str());
        Self { denied: inside.map(str::to_owned).collect() }
    }

    /// Returns why a path is never applied, if so. `is_folder` tells what it becomes, or what it was if it is deleted.
    pub fn refusal(&self, path: &str, is_folder: bool) -> Option<&'static str> {
        let is_in =
            |root: &String| path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if self.denied.iter().any(is_in) {
            return Some(RULE);
        }
        // Some file systems do not tell capital letters apart.
        let lower = path.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split('/').collect();
        if parts.first().is_some_and(|first| plan::PROTECTED.contains(first)) {
            return Some(AGENTS);
        }
        let git = parts.iter().position(|part| *part == ".git")?;
        if git + 1 == parts.len() {
            return (!is_folder).then_some(POINTER);
        }
        for part in &parts[git + 1..] {
            if git_folders::PROTECTED.contains(part) {
                return Some(GIT);
            }
            if git_folders::POINTERS.contains(part) {
                return Some(POINTER);
            }
            if NAMES_OF_OTHERS.contains(part) {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, is_protected: bool) {
        let denied = [PathBuf::from("/w/migrations"), PathBuf::from("/elsewhere")];
        let protection = Protection::new(std::path::Path::new("/w"), &denied);
        assert_eq!(protection.refusal(path, false).is_some(), is_protected, "{path}");
    }

    #[test]
    fn what_makes_programs_run_is_protected_and_the_rest_is_not() {
        for path in [
            ".vscode/tasks.json",
            ".VSCode/tasks.json",
            ".envrc",
            ".git",
            "sub/.git",
            ".git/config",
            ".Git/Config",
            ".git/hooks/pre-commit",
            ".git/commondir",
            "deep/er/.git/config.worktree",
            ".git/modules/lib/hooks/pre-commit",
            ".git/modules/a/b/config",
            ".git/worktrees/x/gitdir",
            "migrations",
            "migrations/1.sql",
        ] {
            check(path, true);
        }
        for path in [
            "src/.vscode",
            ".git/index",
            ".git/refs/heads/hooks",
            ".git/logs/refs/heads/config",
            ".git/objects/ab/cd",
            ".gitignore",
            "config",
            "hooks/pre-commit",
            "migrations2",
        ] {
            check(path, false);
        }
        assert_eq!(Protection::default().refusal("sub/.git", true), None);
    }
}
