//! Resolves paths as models write them, and suggests names for those that do not exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// How many names of a directory are compared to find suggestions.
const NAMES_LOOKED_AT: usize = 10_000;

/// The longest name that a file can have, in bytes.
const MAX_NAME: usize = 255;

/// Returns the absolute path that `given` means: `~` is the home directory; a leading `@` (as in file mentions) is dropped
/// and unusual spaces become plain ones, unless a file of exactly that name exists.
pub(crate) fn resolve(working_directory: &Path, home: Option<&Path>, given: &str) -> PathBuf {
    let without_at = given.strip_prefix('@').unwrap_or(given);
    let plain = without_at.replace(is_unusual_space, " ");
    let [verbatim, without_at, plain] =
        [given, without_at, &plain].map(|path| absolute(working_directory, home, path));
    [verbatim, without_at].into_iter().find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(plain)
}

/// Returns whether the character is a space that looks like the plain one.
pub(crate) fn is_unusual_space(character: char) -> bool {
    matches!(character, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

fn absolute(working_directory: &Path, home: Option<&Path>, path: &str) -> PathBuf {
    let in_home = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match (in_home, home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => working_directory.join(path),
    }
}

/// Returns `path` relative to the working directory if it is inside.
pub(crate) fn relative<'a>(working_directory: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(working_directory).unwrap_or(path)
}

/// Returns a path for a list: control characters are escaped, so that a file's name can neither pretend to be two lines
/// nor control a terminal.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns the error for a path that does not exist, with suggestions.
pub(crate) fn not_found(path: &Path) -> Error {
    let directory = path.parent().unwrap_or(path);
    let hint = if directory.is_dir() {
        let wanted = path.file_name().unwrap_or_default().to_string_lossy();
        let names: Vec<_> =
            similar_names(directory, &wanted).into_iter().map(|name| shown(&directory.join(name))).collect();
        if names.is_empty() {
            format!(" List {} to see what is there.", shown(directory))
        } else {
            format!(" Did you mean {}?", names.join(" or "))
        }
    } else {
        let nearest = directory.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(directory);
        format!(" Neither does its directory; {} does.", shown(nearest))
    };
    Error::NotFound { path: shown(path), hint }
}

fn similar_names(directory: &Path, wanted: &str) -> Vec<String> {
    // No file has a longer name, and comparing takes the product of the lengths.
    if wanted.len() > MAX_NAME {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(NAMES_LOOKED_AT);
    let mut ranked: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((distance(&wanted, &name.to_lowercase())?, name))
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the distance of a name from the wanted one, or `None` if it is too different to suggest.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let edits = edit_distance(wanted, name);
    let tolerated = wanted.chars().count().div_ceil(3);
    let contained = wanted.len() >= 3 && name.len() >= 3 && (wanted.contains(name) || name.contains(wanted));
    (edits <= tolerated || contained || stem(wanted) == stem(name)).then_some(edits)
}

/// Returns the Levenshtein distance.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<_> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, character) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_spellings_resolve_to_paths() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let home = Path::new("/home/someone");
        let check = |given: &str, expected: PathBuf| {
            assert_eq!(resolve(root, Some(home), given), expected, "{given}");
        };
        check("a/b", root.join("a/b"));
        check("@a", root.join("a"));
        check("a\u{202f}b", root.join("a b"));
        check("/etc/x", PathBuf::from("/etc/x"));
        check("~/x", home.join("x"));
        check("~", home.to_owned());
        assert_eq!(resolve(root, None, "~/x"), root.join("~/x"));
    }

    #[test]
    fn exact_name_takes_precedence() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["@types", "Screen\u{202f}Shot"] {
            fs::write(directory.path().join(name), "").unwrap();
            assert_eq!(resolve(directory.path(), None, name), directory.path().join(name));
        }
        assert_eq!(
            resolve(directory.path(), None, "@Screen\u{202f}Shot"),
            directory.path().join("Screen\u{202f}Shot")
        );
    }

    #[test]
    fn missing_file_error_suggests_similar_names() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["main.rs", "unrelated.toml", "README.md"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let hint = |name: &str| not_found(&directory.path().join(name)).to_string();
        assert!(hint("mian.rs").contains("main.rs?"), "{}", hint("mian.rs"));
        assert!(hint("readme.txt").contains("README.md?"));
        assert!(hint("zzz").contains("List "));
        assert!(hint("no/such/file").contains("Neither does its directory"));
    }

    #[test]
    fn control_characters_in_names_are_escaped() {
        assert_eq!(shown(Path::new("a\nb/\u{1b}[31mc \u{fc}")), r"a\nb/\u{1b}[31mc ü");
    }

    #[test]
    fn name_that_no_file_can_have_is_not_compared() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("zz"), "").unwrap();
        let error = not_found(&directory.path().join("z".repeat(MAX_NAME + 1))).to_string();
        assert!(error.contains("List "), "{}", error.len());
    }
}
