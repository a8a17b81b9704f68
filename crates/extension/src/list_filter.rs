//! The entries of a list of paths in the settings: paths to search, and what to leave out of what is found.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The most entries of a list that count.
const MOST_ENTRIES: usize = 1000;

/// A list of paths in the settings.
#[derive(Debug, Default)]
pub struct PathList {
    /// Files and folders to search, as absolute paths.
    pub paths: Vec<PathBuf>,
    /// The folder that relative paths start from.
    base: PathBuf,
    /// What `!` excludes.
    excluded: Vec<GlobMatcher>,
    /// What `+` brings back although it is excluded.
    kept: Vec<PathBuf>,
    /// What `-` removes in any case.
    removed: Vec<PathBuf>,
}

impl PathList {
    /// Reads the entries of a list. Relative paths start at `base`, and `~` stands for the home directory. What is
    /// wrong with an entry goes to `problems`.
    pub fn new(entries: &[String], base: &Path, home: Option<&Path>, problems: &mut Vec<String>) -> Self {
        let mut list = Self { base: base.to_owned(), ..Self::default() };
        if entries.len() > MOST_ENTRIES {
            problems.push(format!("only the first {MOST_ENTRIES} entries of a list of paths count"));
        }
        for entry in entries.iter().take(MOST_ENTRIES) {
            let absolute = |path: &str| absolute(path, base, home);
            if let Some(pattern) = entry.strip_prefix('!') {
                let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
                match GlobBuilder::new(pattern).literal_separator(true).build() {
                    Ok(glob) => list.excluded.push(glob.compile_matcher()),
                    Err(error) => problems.push(format!("\"{entry}\" is not a pattern: {error}")),
                }
            } else if let Some(path) = entry.strip_prefix('+') {
                list.kept.push(absolute(path));
            } else if let Some(path) = entry.strip_prefix('-') {
                list.removed.push(absolute(path));
            } else if !entry.is_empty() {
                list.paths.push(absolute(entry));
            }
        }
        list
    }

    /// Returns whether a file that was found is used. A skill may be named by its file or by its folder.
    pub fn keeps(&self, file: &Path) -> bool {
        let folder = file.parent().filter(|_| file.file_name().is_some_and(|name| name == "SKILL.md"));
        let is_one_of =
            |paths: &[PathBuf]| paths.iter().any(|path| path == file || Some(path.as_path()) == folder);
        if is_one_of(&self.removed) {
            return false;
        }
        let matches = |glob: &GlobMatcher, path: &Path| {
            let relative = path.strip_prefix(&self.base).unwrap_or(path);
            glob.is_match(relative)
                || glob.is_match(path)
                || path.file_name().is_some_and(|name| glob.is_match(name))
        };
        let is_excluded = self
            .excluded
            .iter()
            .any(|glob| matches(glob, file) || folder.is_some_and(|folder| matches(glob, folder)));
        !is_excluded || is_one_of(&self.kept)
    }
}

/// Returns an absolute path without `.` and `..`.
pub(crate) fn absolute(path: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let path = match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => base.join(path),
    };
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> (PathList, Vec<String>) {
        let entries: Vec<_> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let mut problems = Vec::new();
        (PathList::new(&entries, Path::new("/own"), Some(Path::new("/home/me")), &mut problems), problems)
    }

    #[test]
    fn paths_are_relative_to_the_settings_or_to_the_home_directory() {
        let (list, problems) = list(&["a", "./b/../c", "~/d", "~", "/e", "~other", ""]);
        let expected = ["/own/a", "/own/c", "/home/me/d", "/home/me", "/e", "/own/~other"];
        assert_eq!(list.paths, expected.map(PathBuf::from));
        assert!(problems.is_empty());
    }

    #[test]
    fn removal_beats_keeping_which_beats_exclusion() {
        let (list, _) =
            list(&["!skills/*", "+skills/kept", "-skills/kept-too", "+skills/kept-too", "!*.tmp.md"]);
        for (file, is_kept) in [
            ("/own/skills/a/SKILL.md", false),
            ("/own/skills/kept/SKILL.md", true),
            ("/own/skills/kept-too/SKILL.md", false),
            ("/own/skills/deep/er/SKILL.md", true),
            ("/elsewhere/skills/a/SKILL.md", true),
            ("/elsewhere/x.tmp.md", false),
            ("/own/prompts/a.md", true),
        ] {
            assert_eq!(list.keeps(Path::new(file)), is_kept, "{file}");
        }
    }

    #[test]
    fn invalid_patterns_and_long_lists_are_reported() {
        assert!(list(&["![a"]).1[0].starts_with("\"![a\" is not a pattern: "));
        assert_eq!(list(&["a"; 1001]).1.len(), 1);
        assert_eq!(list(&["a"; 1001]).0.paths.len(), 1000);
    }
}
