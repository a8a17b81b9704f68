//! The files that path rules forbid, for whatever enforces them. A mount knows no patterns, so patterns are compared with
//! the files that there are at the start.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::path_pattern::PathPattern;
use crate::rules::{Access, ForbiddenPaths, Rule, Unsearched};

/// How many names are looked at, how deep, and how many may be found.
const MOST_NAMES: usize = 200_000;
const DEEPEST: usize = 32;
const MOST_FOUND: usize = 10_000;

/// Returns the files that rules forbid in a project, which is canonical, and elsewhere.
pub(crate) fn expand<'rule>(rules: impl Iterator<Item = &'rule Rule>, folder: &Path) -> ForbiddenPaths {
    let mut forbidden = ForbiddenPaths::default();
    for (pattern, access) in rules.filter_map(Rule::forbidden_path) {
        let found = matching(pattern, folder).unwrap_or_else(|unsearched| {
            let whole = unsearched.folder.clone();
            forbidden.unsearched.push(unsearched);
            vec![whole]
        });
        let list = match access {
            Access::Read => &mut forbidden.read,
            Access::Write => &mut forbidden.write,
        };
        list.extend(found);
    }
    for list in [&mut forbidden.read, &mut forbidden.write] {
        list.sort();
        list.dedup();
    }
    forbidden
}

/// Returns what a pattern matches, or why that cannot be known.
fn matching(pattern: &PathPattern, folder: &Path) -> Result<Vec<PathBuf>, Unsearched> {
    let (start, has_wildcards) = pattern.start(folder);
    if !has_wildcards {
        return Ok(vec![start]);
    }
    let unsearched =
        |limit: String| Err(Unsearched { pattern: pattern.text.clone(), folder: start.clone(), limit });
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(start.clone(), 0)]);
    let mut names = 0;
    while let Some((current, depth)) = folders.pop_front() {
        // One that cannot be read has nothing for tools either.
        let Ok(entries) = current.read_dir() else { continue };
        for entry in entries.flatten() {
            names += 1;
            if names > MOST_NAMES {
                return unsearched(format!("more than {MOST_NAMES} names"));
            }
            let path = entry.path();
            // A folder that is found is forbidden with everything in it.
            if pattern.is_below(&path, &start) {
                found.push(path);
                if found.len() > MOST_FOUND {
                    return unsearched(format!("more than {MOST_FOUND} files that the rule forbids"));
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth >= DEEPEST {
                    return unsearched(format!("folders nested deeper than {DEEPEST}"));
                }
                folders.push_back((path, depth + 1));
            }
        }
    }
    Ok(found)
}
