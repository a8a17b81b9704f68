//! Finding the files of skills and templates in a folder.
//!
//! Others may have written to the folder, so a search is bounded: in depth, and in the number of names it looks at.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// How deep folders are searched for skills.
const DEEPEST: usize = 8;

/// The most names that one search looks at.
const MOST_NAMES: usize = 20_000;

/// Files whose rules leave out others.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// The most that counts of all ignore files: rules take hundreds of times the memory of their text.
const IGNORE_LIMIT: u64 = 64 * 1024;

/// Which Markdown files are skills although they are not called `SKILL.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseFiles {
    /// Those directly in the folder that is searched, as in `skills`.
    AtTop,
    /// Those in folders below it, as in `.agents/skills`.
    BelowTop,
}

/// What is left of the names that a search may look at.
#[derive(Debug)]
pub(crate) struct Budget {
    names: usize,
    ignore_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { names: MOST_NAMES, ignore_bytes: IGNORE_LIMIT }
    }
}

impl Budget {
    /// Returns whether a search had to stop.
    pub fn is_spent(&self) -> bool {
        self.names == 0
    }
}

/// Returns the templates directly in a folder, in the order of their names.
pub(crate) fn templates(folder: &Path, budget: &mut Budget) -> Vec<PathBuf> {
    let names = names(folder, budget).into_iter();
    names.map(|name| folder.join(name)).filter(|path| is_markdown(path) && path.is_file()).collect()
}

/// Returns the files of skills in a folder and below, in the order of their names.
pub(crate) fn skills(folder: &Path, loose: LooseFiles, budget: &mut Budget) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut search = Search { loose, budget, rules: Vec::new(), found: &mut found };
    search.folder(folder, 0);
    found
}

struct Search<'a> {
    loose: LooseFiles,
    budget: &'a mut Budget,
    /// The rules of the folders that are being searched, innermost last.
    rules: Vec<Gitignore>,
    found: &'a mut Vec<PathBuf>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let skill = folder.join(SKILL_FILE);
        if skill.is_file() {
            return self.found.push(skill);
        }
        let rules = self.rules.len();
        self.read_rules(folder);
        for name in names(folder, self.budget) {
            let path = folder.join(&name);
            // Links are followed, as users keep skills in one place and link to them.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if name == "node_modules" || self.is_ignored(&path, metadata.is_dir()) {
                continue;
            }
            let counts = match self.loose {
                LooseFiles::AtTop => depth == 0,
                LooseFiles::BelowTop => depth > 0,
            };
            if metadata.is_dir() && depth < DEEPEST {
                self.folder(&path, depth + 1);
            } else if metadata.is_file() && counts && is_markdown(&path) {
                self.found.push(path);
            }
        }
        self.rules.truncate(rules);
    }

    fn read_rules(&mut self, folder: &Path) {
        for name in IGNORE_FILES {
            let path = folder.join(name);
            let Ok(file) = bowline_files::open(&path) else { continue };
            let Ok(beginning) = bowline_files::read_beginning(file, &path, self.budget.ignore_bytes) else {
                continue;
            };
            self.budget.ignore_bytes -= beginning.bytes.len() as u64;
            let mut builder = GitignoreBuilder::new(folder);
            for line in String::from_utf8_lossy(&beginning.bytes).lines() {
                let _ = builder.add_line(None, line);
            }
            self.rules.extend(builder.build());
        }
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let decided = self.rules.iter().rev().map(|rules| rules.matched(path, is_folder));
        decided
            .map(|matched| matched.map(|_| ()))
            .find(|matched| !matched.is_none())
            .unwrap_or(Match::None)
            .is_ignore()
    }
}

/// Returns the paths in a folder whose names do not begin with a dot, sorted, without installed packages and what its own
/// ignore files leave out.
pub(crate) fn entries(folder: &Path, budget: &mut Budget) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut search = Search { loose: LooseFiles::AtTop, budget, rules: Vec::new(), found: &mut Vec::new() };
    search.read_rules(folder);
    for name in names(folder, search.budget) {
        let path = folder.join(&name);
        if name != "node_modules" && !search.is_ignored(&path, path.is_dir()) {
            found.push(path);
        }
    }
    found
}

/// Returns the names in a folder that do not begin with a dot, sorted.
pub(crate) fn names(folder: &Path, budget: &mut Budget) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.flatten() {
        if budget.names == 0 {
            break;
        }
        budget.names -= 1;
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort_unstable();
    names
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in files {
            let (path, text) = path.split_once('=').unwrap_or((path, ""));
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn found(folder: &tempfile::TempDir, loose: LooseFiles) -> Vec<String> {
        let files = skills(folder.path(), loose, &mut Budget::default());
        let relative = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
        files.into_iter().map(relative).collect()
    }

    #[test]
    fn folder_with_a_skill_file_is_not_searched_deeper() {
        let folder = tree(&["a/SKILL.md", "a/b/SKILL.md", "c/d/SKILL.md", "e.md", "c/f.md", "g.txt"]);
        assert_eq!(found(&folder, LooseFiles::AtTop), ["a/SKILL.md", "c/d/SKILL.md", "e.md"]);
        assert_eq!(found(&folder, LooseFiles::BelowTop), ["a/SKILL.md", "c/d/SKILL.md", "c/f.md"]);
    }

    #[test]
    fn hidden_installed_and_ignored_files_are_left_out() {
        let folder = tree(&[
            ".hidden/SKILL.md",
            "node_modules/x/SKILL.md",
            ".gitignore=drafts/\n*.tmp.md\n",
            "drafts/a/SKILL.md",
            "kept/.ignore=!kept.tmp.md\n",
            "kept/a/SKILL.md",
            "note.tmp.md",
            "other/.fdignore=secret\n",
            "other/secret/SKILL.md",
        ]);
        assert_eq!(found(&folder, LooseFiles::AtTop), ["kept/a/SKILL.md"]);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_and_loops_end() {
        use std::os::unix::fs::symlink;
        let folder = tree(&["real/a/SKILL.md", "root/b/SKILL.md"]);
        symlink(folder.path().join("real"), folder.path().join("root/link")).unwrap();
        symlink(folder.path().join("root"), folder.path().join("real/loop")).unwrap();
        let files = skills(&folder.path().join("root"), LooseFiles::AtTop, &mut Budget::default());
        assert!(files.len() > 2 && files.len() < 100, "{files:?}");
    }

    #[test]
    fn number_of_names_is_bounded() {
        let folder = tree(&["a.md", "b.md", "c.md"]);
        let mut budget = Budget { names: 2, ..Budget::default() };
        assert_eq!(templates(folder.path(), &mut budget).len(), 2);
        assert!(budget.is_spent());
    }
}
