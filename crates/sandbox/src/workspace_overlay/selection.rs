//! The pending changes that a command is about.

use std::path::Path;

use bowline_core::file_changes::LeftAlone;

use super::listing::Entry;

/// Paths with everything below them, or all paths.
pub(super) struct Selection(Option<Vec<String>>);

impl Selection {
    /// Returns the selection of paths as a client writes them: relative to the workspace, or absolute.
    pub fn new(paths: Option<&[String]>, workspace: &Path) -> Self {
        let relative = |path: &String| {
            let inside = Path::new(path).strip_prefix(workspace).ok().and_then(Path::to_str);
            let path = inside.unwrap_or(path).trim_start_matches("./").trim_end_matches('/');
            if path == "." { String::new() } else { path.to_owned() }
        };
        Self(paths.map(|paths| paths.iter().map(relative).collect()))
    }

    /// Tells whether it is about everything.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Tells whether a path is selected.
    pub fn has(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|roots| roots.iter().any(|root| is_in(path, root)))
    }

    /// Returns the paths that stand for no change.
    pub fn missing(&self, entries: &[Entry]) -> Vec<LeftAlone> {
        let is_missing = |root: &&String| !entries.iter().any(|entry| is_in(&entry.path, root));
        let missing = self.0.iter().flatten().filter(is_missing);
        let reason = "there is no pending change at this path";
        missing.map(|root| LeftAlone { path: root.clone(), reason: reason.to_owned() }).collect()
    }
}

fn is_in(path: &str, root: &str) -> bool {
    root.is_empty() || path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(root: &str, path: &str, expected: bool) {
        let selection = Selection::new(Some(&[root.to_owned()]), Path::new("/w"));
        assert_eq!(selection.has(path), expected, "{root} {path}");
    }

    #[test]
    fn path_stands_for_itself_and_what_is_below_it() {
        check("a", "a", true);
        check("a/", "a/b", true);
        check("./a", "a/b/c", true);
        check("/w/a", "a/b", true);
        check("a", "ab", false);
        check("a/b", "a", false);
        check("/v/a", "a", false);
        check(".", "a", true);
        check("/w", "a", true);
        assert!(!Selection::new(Some(&[]), Path::new("/w")).has("a"));
        assert!(Selection::new(None, Path::new("/w")).has("a"));
    }
}
