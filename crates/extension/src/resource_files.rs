//! The files of skills and templates, from every place that is searched, in order of precedence.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bowline_core::slash_command::{Packaging, Scope, SourceInfo};

use crate::folder_search::{self, Budget, LooseFiles, SKILL_FILE};
use crate::list_filter::{PathList, absolute};
use crate::options::{DiscoveredPath, ResourceKind, ResourceOptions};
use crate::packages::{self, Configured, Installed, Place, Root, Source};
use crate::project_settings;
use crate::trust;

/// The most files of one kind that are used.
const MOST_FILES: usize = 1000;

/// A file of a skill or template, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceFile {
    pub path: PathBuf,
    pub source: SourceInfo,
    /// Whether it is a Markdown file that is a skill only if it describes itself as one.
    pub is_loose: bool,
}

/// Finds the files of one kind. What users should know goes to `problems`.
pub(crate) fn find(
    options: &ResourceOptions,
    discovered: &[DiscoveredPath],
    kind: ResourceKind,
    working: &Path,
    is_trusted: bool,
    problems: &mut Vec<String>,
) -> Vec<ResourceFile> {
    let mut finder =
        Finder { kind, budget: Budget::default(), seen: HashSet::new(), files: Vec::new(), problems };
    let wanted = options.of(kind);
    let home = options.home.as_deref();
    for path in &wanted.paths {
        finder.named(path, &PathList::default(), &origin("cli", Scope::Temporary, None));
    }
    for folder in &options.named_packages {
        finder.named_package(folder);
    }
    if !wanted.is_off {
        let mut packages = Vec::new();
        if is_trusted {
            for folder in trust::project_folders(working, &options.own_folder) {
                let settings = project_settings::read(&folder, finder.problems);
                let entries =
                    project_settings::list_in(&settings, &folder, kind.folder_name(), finder.problems);
                finder.scope(&entries, &folder, home, Scope::Project);
                let place = Place { folder, scope: Scope::Project };
                // Who looks for extensions reports what is wrong with the list.
                packages.extend(Configured::list(&settings, &place, &mut Vec::new()));
            }
            if kind == ResourceKind::Skill {
                for folder in trust::agents_folders(working, home) {
                    finder.agents_folder(folder, Scope::Project);
                }
            }
        }
        finder.scope(&wanted.entries, &options.own_folder, home, Scope::User);
        if let (ResourceKind::Skill, Some(home)) = (kind, home) {
            finder.agents_folder(home.join(".agents"), Scope::User);
        }
        packages.extend(options.packages.iter().cloned());
        finder.packages(&packages::installed(&packages, home));
    }
    for extra in discovered.iter().filter(|extra| extra.kind == kind) {
        let name = Path::new(&extra.extension).file_stem().unwrap_or_default().to_string_lossy();
        let source = origin(&format!("extension:{name}"), Scope::Temporary, extra.base_folder.clone());
        let base = extra.base_folder.as_deref().unwrap_or(working);
        let path = absolute(&extra.path.to_string_lossy(), base, home);
        finder.named(&path, &PathList::default(), &source);
    }
    if finder.budget.is_spent() {
        let what = kind.folder_name();
        finder
            .problems
            .push(format!("the folders with {what} hold so many names that not all were looked at"));
    }
    finder.files
}

/// Returns where a file comes from, but for its path.
fn origin(source: &str, scope: Scope, base_folder: Option<PathBuf>) -> SourceInfo {
    SourceInfo {
        path: PathBuf::new(),
        source: source.to_owned(),
        scope,
        packaging: Packaging::TopLevel,
        base_folder,
    }
}

struct Finder<'a> {
    kind: ResourceKind,
    budget: Budget,
    /// The real paths of the files so far: one that is reached twice counts once.
    seen: HashSet<PathBuf>,
    files: Vec<ResourceFile>,
    problems: &'a mut Vec<String>,
}

impl Finder<'_> {
    /// Searches what a user or a project has: the paths in its settings, then its folder.
    fn scope(&mut self, entries: &[String], base: &Path, home: Option<&Path>, scope: Scope) {
        let list = PathList::new(entries, base, home, self.problems);
        for path in &list.paths {
            self.named(path, &list, &origin("local", scope, None));
        }
        let folder = base.join(self.kind.folder_name());
        if folder.is_dir() {
            self.folder(&folder, LooseFiles::AtTop, &list, &origin("auto", scope, Some(base.to_owned())));
        }
    }

    fn agents_folder(&mut self, base: PathBuf, scope: Scope) {
        let folder = base.join(self.kind.folder_name());
        if folder.is_dir() {
            self.folder(
                &folder,
                LooseFiles::BelowTop,
                &PathList::default(),
                &origin("auto", scope, Some(base)),
            );
        }
    }

    /// Searches packages that settings name.
    fn packages(&mut self, packages: &[Installed]) {
        if packages.is_empty() {
            return;
        }
        for file in packages::files(packages, self.kind.into()) {
            let package = &packages[file.package];
            let base_folder = match &package.root {
                Ok(Root::Folder(folder)) => Some(folder.clone()),
                Ok(Root::File(_)) | Err(_) => None,
            };
            let mut source = origin(&Source::shown(&package.source), package.scope, base_folder);
            source.packaging = Packaging::Package;
            self.take_found(file.path, &PathList::default(), &source);
        }
    }

    /// Searches a package that the command line names.
    fn named_package(&mut self, folder: &Path) {
        if packages::is_package(folder) {
            let package = Installed::unfiltered(folder.to_owned());
            for file in packages::files(std::slice::from_ref(&package), self.kind.into()) {
                self.take_found(file.path, &PathList::default(), &origin("cli", Scope::Temporary, None));
            }
        }
    }

    /// Searches a path that somebody named: a file, or a folder.
    fn named(&mut self, path: &Path, list: &PathList, source: &SourceInfo) {
        if path.is_dir() {
            self.folder(path, LooseFiles::AtTop, list, source);
        } else if path.is_file() {
            self.take(path.to_owned(), list, source, false);
        } else {
            let (what, path) = (self.kind.folder_name(), path.display());
            self.problems
                .push(format!("{path} is neither a file nor a folder, so no {what} are loaded from it"));
        }
    }

    fn folder(&mut self, folder: &Path, loose: LooseFiles, list: &PathList, source: &SourceInfo) {
        let found = match self.kind {
            ResourceKind::Skill => folder_search::skills(folder, loose, &mut self.budget),
            ResourceKind::PromptTemplate => folder_search::templates(folder, &mut self.budget),
        };
        for path in found {
            self.take_found(path, list, source);
        }
    }

    fn take_found(&mut self, path: PathBuf, list: &PathList, source: &SourceInfo) {
        let is_loose = path.file_name().is_none_or(|name| name != SKILL_FILE);
        self.take(path, list, source, is_loose);
    }

    fn take(&mut self, path: PathBuf, list: &PathList, source: &SourceInfo, is_loose: bool) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.files.len() < MOST_FILES && list.keeps(&path) && self.seen.insert(real) {
            let source = SourceInfo { path: path.clone(), ..source.clone() };
            self.files.push(ResourceFile { path, source, is_loose });
        }
    }
}
