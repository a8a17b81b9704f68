//! Patterns for the files of a package.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::folder_search::{self, Budget};

/// How deep folders are searched for what a pattern matches.
const DEEPEST: usize = 8;

/// Returns a pattern in which `*` does not match a slash. One that is wrong matches nothing.
pub(super) fn pattern(text: &str) -> Option<GlobMatcher> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// Tells whether a text is a pattern and not a path.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '{', '['])
}

/// Returns what in a folder a pattern matches, in the order of the names. Names that begin with a dot are passed over.
pub(super) fn expand(root: &Path, text: &str, budget: &mut Budget) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(matcher) = pattern(text) {
        // What comes before the first wildcard is a folder that needs no search.
        let fixed: PathBuf = text.split('/').take_while(|part| !is_pattern(part) && *part != "..").collect();
        let into_dependencies = text.split('/').any(|part| part == "node_modules");
        let mut search = Search { root, matcher, into_dependencies, budget, found: &mut found };
        search.folder(&root.join(fixed), 0);
    }
    found
}

struct Search<'a> {
    root: &'a Path,
    matcher: GlobMatcher,
    /// Whether the pattern names installed packages.
    into_dependencies: bool,
    budget: &'a mut Budget,
    found: &'a mut Vec<PathBuf>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        for name in folder_search::names(folder, self.budget) {
            if name == "node_modules" && !self.into_dependencies {
                continue;
            }
            let path = folder.join(&name);
            let relative = path.strip_prefix(self.root).unwrap_or(&path);
            if self.matcher.is_match(relative) {
                self.found.push(path.clone());
            }
            // Links to folders are not followed, so that no search comes round.
            let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            if is_folder && depth < DEEPEST {
                self.folder(&path, depth + 1);
            }
        }
    }
}
