//! What a path leads to, also if it does not exist yet.

use std::fs;
use std::path::{Path, PathBuf};

/// The most links that are followed in a row.
const MAX_LINKS: usize = 40;

/// Returns the absolute path with every link and every `..` resolved, even if the file or its folders do not exist yet.
pub fn canonical(path: &Path) -> PathBuf {
    if let Ok(canonical) = fs::canonicalize(path) {
        return canonical;
    }
    let resolved = follow(path);
    // The system spells what exists in its own way.
    let real = resolved.ancestors().find_map(|known| {
        let rest = resolved.strip_prefix(known).ok()?;
        Some(fs::canonicalize(known).ok()?.join(rest))
    });
    real.unwrap_or(resolved)
}

/// Resolves a path part by part.
fn follow(path: &Path) -> PathBuf {
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut resolved, mut ahead, mut links) = (PathBuf::new(), parts(path), MAX_LINKS);
    while let Some(part) = ahead.pop() {
        match part.to_str() {
            Some(".") => {}
            Some("..") => {
                resolved.pop();
            }
            _ => resolved.push(&part),
        }
        if links > 0
            && let Ok(target) = fs::read_link(&resolved)
        {
            links -= 1;
            resolved.pop();
            ahead.extend(parts(&target));
        }
    }
    resolved
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn dangling_link_resolves_to_its_target() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        std::os::unix::fs::symlink("target", root.join("link")).unwrap();
        assert_eq!(canonical(&root.join("link")), root.join("target"));
        assert_eq!(canonical(&root.join("no/such")), root.join("no/such"));
    }

    #[test]
    fn parents_of_missing_folders_are_resolved_too() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir(root.join("inner")).unwrap();
        std::os::unix::fs::symlink("inner", root.join("link")).unwrap();
        for given in ["missing/../inner/x", "link/x", "link/./../inner/y/../x", "a/b/../../inner/x"] {
            assert_eq!(canonical(&root.join(given)), root.join("inner/x"), "{given}");
        }
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        canonical(&root.join("loop/x"));
    }
}
