//! Git folders of a workspace, found by reading. Nothing of a repository is run, and what it says of other folders is
//! believed only if they say the same of it.

use std::fs;
use std::path::{Path, PathBuf};

/// How deep nested repositories are looked for.
const DEEPEST: usize = 4;

/// How many entries of folders are looked at.
const MOST_ENTRIES: usize = 20_000;

/// How many git folders are protected. Each takes a few mounts.
const MOST_FOLDERS: usize = 200;

/// The longest file that points to another folder.
const LONGEST_POINTER: u64 = 8 * 1024;

/// Folders of packages and build products, in which a repository would not be one of the user's.
const SKIPPED: [&str; 4] = ["node_modules", "target", ".venv", "__pycache__"];

/// What in a git folder makes git run programs.
pub(crate) const PROTECTED: [&str; 3] = ["config", "config.worktree", "hooks"];

/// Files in a git folder that lead git to another one.
pub(crate) const POINTERS: [&str; 2] = ["commondir", "gitdir"];

/// The git folders of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitFolders {
    /// Those inside of the workspace.
    pub inside: Vec<PathBuf>,
    /// Those of a linked worktree or a submodule, which are elsewhere and must be writable, too.
    pub outside: Vec<PathBuf>,
    /// Files and links named `.git` inside of the workspace, which lead to one of these.
    pub files: Vec<PathBuf>,
    /// Folders in which a repository keeps what it knows of its linked worktrees. Each leads back to the repository.
    pub worktrees: Vec<PathBuf>,
    /// How many were left out because there are too many.
    pub left_out: usize,
}

impl GitFolders {
    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.inside.iter().chain(&self.outside)
    }

    /// Looks for the git folders of a workspace, which must be canonical. Reads folders, so it may take a while.
    pub fn find(workspace: &Path) -> Self {
        let mut found = Self::default();
        let mut left = MOST_ENTRIES;
        search(workspace, &mut found, &mut left, 0);
        if let Some(folders) = linked(workspace) {
            found.outside = folders.into_iter().filter(|folder| !folder.starts_with(workspace)).collect();
        }
        let mut modules = Vec::new();
        found.all().for_each(|folder| modules_of(&folder.join("modules"), &mut modules, 0));
        for module in modules {
            let list = if module.starts_with(workspace) { &mut found.inside } else { &mut found.outside };
            list.push(module);
        }
        found.inside.sort();
        found.inside.dedup();
        found.outside.sort();
        found.outside.dedup();
        // The nearest ones first: each costs a mount.
        found.inside.sort_by_key(|folder| folder.components().count());
        found.left_out = found.inside.len().saturating_sub(MOST_FOLDERS);
        found.inside.truncate(MOST_FOLDERS);
        found.inside.sort();
        found.files.truncate(MOST_FOLDERS);
        let worktrees = found.all().flat_map(|folder| folders_in(&folder.join("worktrees")));
        found.worktrees = worktrees.take(MOST_FOLDERS).collect();
        found
    }

    /// Adds what was found in another workspace.
    pub fn extend(&mut self, other: Self) {
        self.inside.extend(other.inside);
        self.outside.extend(other.outside);
        self.files.extend(other.files);
        self.worktrees.extend(other.worktrees);
        self.left_out += other.left_out;
    }

    /// Tells whether a file or link named `.git` leads to what one of these repositories keeps for its own submodules and
    /// worktrees.
    pub fn has_made(&self, file: &Path) -> bool {
        let named = read(file).and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()));
        let target = named.and_then(|named| file.parent()?.join(named).canonicalize().ok());
        target.is_some_and(|target| {
            self.all()
                .any(|git| ["modules", "worktrees"].iter().any(|kind| target.starts_with(git.join(kind))))
        })
    }
}

/// Tells whether the folder of a linked worktree leads back to the repository that it is in.
pub(crate) fn leads_back(worktree: &Path) -> bool {
    let Some(common) = read(&worktree.join("commondir")) else { return true };
    let repository = worktree.parent().and_then(Path::parent).and_then(|folder| folder.canonicalize().ok());
    repository.is_some() && worktree.join(common.trim()).canonicalize().ok() == repository
}

fn search(folder: &Path, found: &mut GitFolders, left: &mut usize, depth: usize) {
    let git = folder.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(metadata) if metadata.is_dir() => found.inside.push(git),
        Ok(_) => found.files.push(git),
        Err(_) => {}
    }
    if depth >= DEEPEST {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let name = entry.file_name();
        let is_skipped = name == ".git" || SKIPPED.iter().any(|skipped| name == *skipped);
        if !is_skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&entry.path(), found, left, depth + 1);
        }
    }
}

/// Finds the git folders of the submodules that a repository keeps in its own. Their names may have slashes.
fn modules_of(folder: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    for module in folders_in(folder) {
        if found.len() >= MOST_FOLDERS {
            return;
        }
        if module.join("HEAD").exists() {
            modules_of(&module.join("modules"), found, depth + 1);
            found.push(module);
        } else if depth < DEEPEST {
            modules_of(&module, found, depth + 1);
        }
    }
}

/// Returns the folders in a folder, as far as there are not too many.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).take(MOST_FOLDERS).collect()
}

/// Returns the folders that the `.git` file of a linked worktree or a submodule names, if they name the workspace, too.
/// Otherwise a file in a workspace could make any folder writable.
fn linked(workspace: &Path) -> Option<Vec<PathBuf>> {
    let pointer = workspace.join(".git");
    let named = read(&pointer)?;
    let own = workspace.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    if !own.join("HEAD").is_file() {
        return None;
    }
    if let Some(back) = read(&own.join("gitdir")) {
        let names_workspace = own.join(back.trim()).canonicalize().ok()? == pointer.canonicalize().ok()?;
        let common = own.join(read(&own.join("commondir"))?.trim()).canonicalize().ok()?;
        let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
        let belongs = own.parent() == Some(&common.join("worktrees"));
        return (names_workspace && is_repository && belongs).then(|| vec![own, common]);
    }
    let config = read(&own.join("config"))?;
    let worktree =
        config.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='));
    let names_workspace = own.join(worktree?.trim()).canonicalize().ok()? == workspace;
    let is_module = own.ancestors().skip(1).any(|folder| folder.ends_with(".git/modules"));
    (names_workspace && is_module).then(|| vec![own])
}

/// Returns the text of a small file.
fn read(path: &Path) -> Option<String> {
    bowline_files::read_text(path, LONGEST_POINTER).ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
        let output = command.current_dir(folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let main = root.join("main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        (folder, main)
    }

    #[test]
    fn nested_repositories_are_found_and_packages_are_not_searched() {
        let (_folder, main) = repository();
        for name in ["nested", "node_modules/package", "a/b/c/d/e/too-deep"] {
            let nested = main.join(name);
            fs::create_dir_all(&nested).unwrap();
            git(&nested, &["init", "-q"]);
        }
        let found = GitFolders::find(&main);
        assert_eq!(found.inside, [main.join(".git"), main.join("nested/.git")]);
        assert!(found.outside.is_empty(), "{:?}", found.outside);
    }

    #[test]
    fn linked_worktree_names_its_repository() {
        let (_folder, main) = repository();
        let linked = main.parent().unwrap().join("linked");
        git(&main, &["worktree", "add", "-q", linked.to_str().unwrap()]);
        let found = GitFolders::find(&linked);
        assert_eq!(found.outside, [main.join(".git"), main.join(".git/worktrees/linked")]);
    }

    #[test]
    fn file_that_names_a_folder_is_not_believed_unless_that_names_it_too() {
        let (_folder, main) = repository();
        let root = main.parent().unwrap();
        let hostile = root.join("hostile");
        fs::create_dir(&hostile).unwrap();
        for target in [&main.join(".git"), &root.join("nothing"), &root.to_owned()] {
            fs::write(hostile.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
            assert_eq!(GitFolders::find(&hostile).outside, Vec::<PathBuf>::new(), "{}", target.display());
        }
    }

    #[test]
    fn submodules_are_found_whatever_their_names_and_so_are_worktrees() {
        let (_folder, main) = repository();
        let above = main.parent().unwrap().join("above");
        fs::create_dir(&above).unwrap();
        git(&above, &["init", "-q"]);
        git(&above, &["submodule", "--quiet", "add", main.to_str().unwrap(), "third_party/lib"]);
        git(&above, &["commit", "-qm", "x"]);
        git(&above, &["worktree", "add", "-q", above.join("side").to_str().unwrap()]);
        let found = GitFolders::find(&above);
        assert_eq!(found.inside, [above.join(".git"), above.join(".git/modules/third_party/lib")]);
        let mut files = found.files.clone();
        files.sort();
        assert_eq!(files, [above.join("side/.git"), above.join("third_party/lib/.git")]);
        assert!(files.iter().all(|file| found.has_made(file)));
        assert_eq!(found.worktrees, [above.join(".git/worktrees/side")]);
        assert!(leads_back(&found.worktrees[0]));
        fs::write(found.worktrees[0].join("commondir"), "/elsewhere").unwrap();
        assert!(!leads_back(&found.worktrees[0]));
        fs::write(above.join("third_party/lib/.git"), "gitdir: /elsewhere").unwrap();
        assert!(!found.has_made(&above.join("third_party/lib/.git")));
    }

    #[test]
    fn submodule_as_a_workspace_has_its_folder_in_the_repository_above() {
        let (_folder, main) = repository();
        let above = main.parent().unwrap().join("above");
        fs::create_dir(&above).unwrap();
        git(&above, &["init", "-q"]);
        git(&above, &["submodule", "--quiet", "add", main.to_str().unwrap(), "part"]);
        let found = GitFolders::find(&above.join("part"));
        assert_eq!(found.outside, [above.join(".git/modules/part")]);
        let found = GitFolders::find(&above);
        assert_eq!(found.inside, [above.join(".git"), above.join(".git/modules/part")]);
    }
}
