//! The directory walk that grep and find share: sorted by path, with hidden files, without what `.gitignore` and similar
//! files exclude (in a repository or not) and without `.git` itself.

use std::path::Path;

use ignore::{DirEntry, Walk, WalkBuilder};

/// Returns the entries below `root`, or `root` itself if it is a file. Unreadable entries are skipped.
pub(crate) fn entries(root: &Path) -> impl Iterator<Item = DirEntry> {
    walk(root).filter_map(Result::ok)
}

fn walk(root: &Path) -> Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .sort_by_file_path(Ord::cmp)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .build()
}
