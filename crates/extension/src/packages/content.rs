//! What packages bring along: by their manifest, or else in folders of the usual names, as the settings select it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::configured::{Installed, Root};
use super::manifest::Manifest;
use super::modules::{self, Module};
use super::selection::Selection;
use super::{Filter, Kind};
use crate::folder_search::{self, Budget, LooseFiles};

/// The folders that make a folder a package. Themes count although they are not used.
const FOLDERS: [&str; 4] = ["extensions", "skills", "prompts", "themes"];

/// How deep folders are searched for prompt templates.
const DEEPEST: usize = 8;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    pub path: PathBuf,
    /// The folder that stands for it, if it is an extension that has one.
    pub folder: Option<PathBuf>,
    /// The place of its package in the list.
    pub package: usize,
}

/// How much a package has of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Content {
    pub extensions: usize,
    pub skills: usize,
    pub prompts: usize,
}

impl Content {
    /// Counts what is used of a package.
    pub fn of(package: &Installed) -> Self {
        let count = |kind| files(std::slice::from_ref(package), kind).len();
        Self {
            extensions: count(Kind::Extension),
            skills: count(Kind::Skill),
            prompts: count(Kind::PromptTemplate),
        }
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Tells whether a folder is a package: it says so, or it has folders of the usual names.
pub fn is_package(folder: &Path) -> bool {
    Manifest::read(folder).is_of_pi() || FOLDERS.iter().any(|name| folder.join(name).is_dir())
}

/// Returns the files of a kind that are used, in the order of the packages. What an entry of a project leaves out stays out
/// although an entry of the user has it.
pub fn files(packages: &[Installed], kind: Kind) -> Vec<PackageFile> {
    let mut budget = Budget::default();
    let mut known: HashMap<PathBuf, bool> = HashMap::new();
    let mut used = Vec::new();
    for (package, installed) in packages.iter().enumerate() {
        for (module, is_used) in of_package(installed, kind, &mut budget) {
            let before = known.len();
            known.entry(module.path.clone()).or_insert(is_used);
            if is_used && known.len() > before {
                used.push(PackageFile { path: module.path, folder: module.folder, package });
            }
        }
    }
    used
}

/// Returns the files of one package, and whether they are used. What a link leads to outside of the package is none of it.
fn of_package(installed: &Installed, kind: Kind, budget: &mut Budget) -> Vec<(Module, bool)> {
    let mut found = with_links_of_package(installed, kind, budget);
    if let Ok(Root::Folder(root)) = &installed.root {
        found.retain(|(module, _)| is_inside(root, &module.path));
    }
    found
}

/// Tells whether a file or folder that a package names is in it, wherever links lead.
fn is_inside(root: &Path, path: &Path) -> bool {
    match (root.canonicalize(), path.canonicalize()) {
        (Ok(root), Ok(path)) => path.starts_with(root),
        _ => false,
    }
}

fn with_links_of_package(installed: &Installed, kind: Kind, budget: &mut Budget) -> Vec<(Module, bool)> {
    let root = match &installed.root {
        Ok(Root::Folder(root)) => root,
        Ok(Root::File(file)) if kind == Kind::Extension => {
            return vec![(Module { path: file.clone(), folder: None }, true)];
        }
        Ok(Root::File(_)) | Err(_) => return Vec::new(),
    };
    let Some(filter) = &installed.filter else {
        return all(installed, root, kind, budget).into_iter().map(|module| (module, true)).collect();
    };
    let selected = filter.of(kind);
    let manifest = Manifest::read(root);
    // An empty list in the manifest counts as none here, and only here.
    let named = manifest.entries(kind).filter(|entries| selected.is_none() || !entries.is_empty());
    let found = match named {
        Some(entries) => named_by(root, &entries, kind, budget),
        None => in_usual_folder(root, kind, budget),
    };
    let judged = found.into_iter().filter_map(|module| {
        let is_used = judge(filter, selected, root, &module.path)?;
        Some((module, is_used))
    });
    judged.collect()
}

/// Tells whether a file is used, or nothing if this is for another entry to say.
fn judge(filter: &Filter, selected: Option<&[String]>, root: &Path, file: &Path) -> Option<bool> {
    match (filter.autoload, selected) {
        (true, None) => Some(true),
        (true, Some([])) => Some(false),
        (true, Some(patterns)) => Some(Selection::new(patterns).keeps(root, file)),
        (false, patterns) => Selection::new(patterns.unwrap_or_default()).decides(root, file),
    }
}

/// Returns everything of a kind that a package has. A folder of this machine that is no package may be an extension.
fn all(installed: &Installed, root: &Path, kind: Kind, budget: &mut Budget) -> Vec<Module> {
    let manifest = Manifest::read(root);
    if manifest.is_of_pi() {
        let entries = manifest.entries(kind);
        return entries.map(|entries| named_by(root, &entries, kind, budget)).unwrap_or_default();
    }
    if FOLDERS.iter().any(|name| root.join(name).is_dir()) {
        return in_usual_folder(root, kind, budget);
    }
    match kind {
        Kind::Extension if installed.is_local => modules::in_folder_within(root, budget, 0),
        Kind::Extension | Kind::Skill | Kind::PromptTemplate => Vec::new(),
    }
}

fn in_usual_folder(root: &Path, kind: Kind, budget: &mut Budget) -> Vec<Module> {
    let folder = root.join(kind.folder_name());
    if !folder.is_dir() || !is_inside(root, &folder) {
        return Vec::new();
    }
    let mut found = in_folder(&folder, kind, budget);
    for module in &mut found {
        // What belongs to no folder of its own belongs to the package.
        if module.folder.as_ref().is_none_or(|own| *own == folder) {
            module.folder = Some(root.to_owned());
        }
    }
    found
}

fn named_by(root: &Path, entries: &[String], kind: Kind, budget: &mut Budget) -> Vec<Module> {
    if kind == Kind::Extension {
        return modules::named_by(root, entries, budget, 0);
    }
    let mut found = Vec::new();
    for path in modules::named_paths(root, entries, budget) {
        if path.is_dir() && is_inside(root, &path) {
            found.extend(in_folder(&path, kind, budget));
        } else if path.is_file() {
            found.push(Module { path, folder: None });
        }
    }
    let selection = Selection::new(entries.iter().filter(|entry| modules::is_change(entry)));
    found.retain(|module| selection.keeps(root, &module.path));
    found
}

fn in_folder(folder: &Path, kind: Kind, budget: &mut Budget) -> Vec<Module> {
    let plain =
        |paths: Vec<PathBuf>| paths.into_iter().map(|path| Module { path, folder: None }).collect::<Vec<_>>();
    match kind {
        Kind::Extension => modules::in_folder_within(folder, budget, 0),
        Kind::Skill => plain(folder_search::skills(folder, LooseFiles::AtTop, budget)),
        Kind::PromptTemplate => {
            let mut found = Vec::new();
            templates(folder, budget, 0, &mut found);
            plain(found)
        }
    }
}

/// Adds the templates of a folder and those below it.
fn templates(folder: &Path, budget: &mut Budget, depth: usize, found: &mut Vec<PathBuf>) {
    for path in folder_search::entries(folder, budget) {
        if path.is_dir() && depth < DEEPEST {
            templates(&path, budget, depth + 1, found);
        } else if path.extension().is_some_and(|ending| ending == "md") && path.is_file() {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests;
