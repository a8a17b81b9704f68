//! Which modules in a folder are extensions of pi.

use std::path::{Path, PathBuf};

use super::Kind;
use super::glob;
use super::manifest::Manifest;
use super::selection::Selection;
use crate::folder_search::{self, Budget};
use crate::list_filter::absolute;

/// How often a manifest may name a folder that has a manifest again.
const DEEPEST: usize = 4;

/// A module that is an extension of pi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub path: PathBuf,
    /// The folder that stands for it, if there is one: its `package.json` or the name of its module said so.
    pub folder: Option<PathBuf>,
}

/// Returns the modules in a folder of extensions: those that it is itself, or else the files and folders in it.
pub fn in_folder(folder: &Path) -> Vec<Module> {
    in_folder_within(folder, &mut Budget::default(), 0)
}

/// Returns the modules that a folder stands for as one extension: those of its `package.json`, or `index.ts`, or
/// `index.js`.
pub fn of_one_folder(folder: &Path) -> Vec<Module> {
    of_one_within(folder, &mut Budget::default(), 0)
}

/// Tells whether the `package.json` of a folder says that it has extensions.
pub fn says_so(folder: &Path) -> bool {
    Manifest::read(folder).entries(Kind::Extension).is_some_and(|entries| !entries.is_empty())
}

pub(super) fn in_folder_within(folder: &Path, budget: &mut Budget, depth: usize) -> Vec<Module> {
    let own = of_one_within(folder, budget, depth);
    if !own.is_empty() {
        return own;
    }
    let mut found = Vec::new();
    for path in folder_search::entries(folder, budget) {
        if path.is_dir() {
            found.extend(of_one_within(&path, budget, depth));
        } else if is_module(&path) {
            found.push(Module { path, folder: None });
        }
    }
    found
}

fn of_one_within(folder: &Path, budget: &mut Budget, depth: usize) -> Vec<Module> {
    let named = Manifest::read(folder).entries(Kind::Extension).unwrap_or_default();
    let found = named_by(folder, &named, budget, depth);
    if !found.is_empty() {
        return found;
    }
    let index =
        ["index.ts", "index.js"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
    index.map(|path| Module { path, folder: Some(folder.to_owned()) }).into_iter().collect()
}

/// Returns the modules that the entries of a manifest name. What lies outside of its folder is passed over.
pub(super) fn named_by(root: &Path, entries: &[String], budget: &mut Budget, depth: usize) -> Vec<Module> {
    let mut found = Vec::new();
    for path in named_paths(root, entries, budget) {
        if path.is_dir() && depth < DEEPEST {
            found.extend(in_folder_within(&path, budget, depth + 1).into_iter().map(|module| {
                let folder = module.folder.filter(|folder| folder != &path).or(Some(root.to_owned()));
                Module { folder, ..module }
            }));
        } else if path.is_file() {
            found.push(Module { path, folder: Some(root.to_owned()) });
        }
    }
    let selection = Selection::new(entries.iter().filter(|entry| is_change(entry)));
    found.retain(|module| selection.keeps(root, &module.path));
    found
}

/// Returns the files and folders that the entries of a manifest name, without those outside of its folder.
pub(super) fn named_paths(root: &Path, entries: &[String], budget: &mut Budget) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in entries.iter().filter(|entry| !is_change(entry)) {
        if glob::is_pattern(entry) && !root.join(entry).exists() {
            paths.extend(glob::expand(root, entry, budget));
        } else {
            paths.push(absolute(entry, root, None));
        }
    }
    paths.retain(|path| path.starts_with(root));
    paths
}

/// Tells whether an entry changes what the others name.
pub(super) fn is_change(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

fn is_module(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("ts" | "js")) && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found: Vec<_> = in_folder(folder.path())
            .into_iter()
            .map(|module| {
                let relative =
                    |path: PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
                let of = module.folder.map(|path| format!(" of /{}", relative(path))).unwrap_or_default();
                format!("{}{of}", relative(module.path))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn folder_yields_its_files_and_folders_one_level_deep() {
        check(
            &[
                ("b.js", ""),
                ("a.ts", ""),
                ("notes.md", ""),
                ("c.mts", ""),
                (".hidden.ts", ""),
                ("node_modules/x/index.ts", ""),
                ("both/index.js", ""),
                ("both/index.ts", ""),
                ("script/index.js", ""),
                ("deep/er/index.ts", ""),
                ("lib/helper.ts", ""),
                (".gitignore", "ignored*\n"),
                ("ignored.ts", ""),
                ("ignored_too/index.ts", ""),
            ],
            &["a.ts", "b.js", "both/index.ts of /both", "script/index.js of /script"],
        );
    }

    #[test]
    fn manifest_comes_before_index_and_files() {
        check(
            &[
                (
                    "package.json",
                    r#"{"pi": {"extensions": ["./src/a.ts", "gone.ts", "more/*.ts", "!more/no.ts"]}}"#,
                ),
                ("src/a.ts", ""),
                ("more/no.ts", ""),
                ("more/z.ts", ""),
                ("more/y.ts", ""),
                ("index.ts", ""),
            ],
            &["src/a.ts of /", "more/y.ts of /", "more/z.ts of /"],
        );
        check(&[("package.json", r#"{"pi": {"skills": []}}"#), ("index.ts", "")], &["index.ts of /"]);
        check(&[("package.json", r#"{"pi": {"extensions": ["gone"]}}"#), ("x.ts", "")], &["x.ts"]);
        check(&[("package.json", "{"), ("x.ts", "")], &["x.ts"]);
    }

    #[test]
    fn manifest_may_name_folders_but_nothing_outside() {
        check(
            &[
                ("a/package.json", r#"{"pi": {"extensions": ["ext", "../outside.ts", "/etc/passwd"]}}"#),
                ("a/ext/one.ts", ""),
                ("a/ext/two/index.ts", ""),
                ("b/package.json", r#"{"pi": {"extensions": ["."]}}"#),
                ("b/b.ts", ""),
                ("outside.ts", ""),
            ],
            &["a/ext/one.ts of /a", "a/ext/two/index.ts of /a/ext/two", "b/b.ts of /b", "outside.ts"],
        );
    }
}
