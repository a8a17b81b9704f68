//! Looking into files and folders for extensions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bowline_core::slash_command::{Packaging, Scope, SourceInfo};
use bowline_extension::PathList;
use bowline_extension::packages::{self, Described, Installed, Kind as Packaged, Module, Root};

use super::{Found, Launch, Named, NotLoaded, Program};
use crate::process::entry_file::{self, Kind};
use crate::process::manifest::Manifest;

/// The most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 1000;

/// The most extensions of one session that are programs. Each is a process.
const MOST_PROGRAMS: usize = 64;

/// The most that are modules of pi. They share a process.
const MOST_MODULES: usize = 256;

/// The endings of modules that extensions of pi can be.
const MODULE_ENDINGS: [&str; 6] = ["ts", "js", "mts", "mjs", "cts", "cjs"];

/// The name of our libraries for extensions, which lie beside them and are none.
const LIBRARY: &str = "bowline_extension";

/// Where an extension was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Named,
    ProjectSettings,
    ProjectFolder,
    UserSettings,
    UserFolder,
}

impl Source {
    fn info(self, path: &Path, base: Option<&Path>) -> SourceInfo {
        let (source, scope) = match self {
            Self::Named => ("cli", Scope::Temporary),
            Self::ProjectSettings => ("local", Scope::Project),
            Self::ProjectFolder => ("auto", Scope::Project),
            Self::UserSettings => ("local", Scope::User),
            Self::UserFolder => ("auto", Scope::User),
        };
        SourceInfo {
            path: path.to_owned(),
            source: source.to_owned(),
            scope,
            packaging: Packaging::TopLevel,
            base_folder: base.and_then(Path::parent).map(ToOwned::to_owned),
        }
    }
}

/// A search, and what it has found so far.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub found: Vec<Found>,
    seen: HashSet<PathBuf>,
    /// Whether the place is pi's, so that its rules apply.
    pub is_of_pi: bool,
    /// What settings name and leave out.
    pub list: PathList,
    problems: Vec<String>,
}

impl Search {
    pub fn use_list(&mut self, entries: &[String], base: &Path, home: Option<&Path>, problems: Vec<String>) {
        self.problems = problems;
        self.list = PathList::new(entries, base, home, &mut self.problems);
    }

    /// Takes what settings name; what is wrong with them is reported under the name of their file.
    pub fn take_listed(&mut self, folder: &Path, source: Source) {
        let problems = std::mem::take(&mut self.problems);
        if !problems.is_empty() {
            self.fail(&folder.join("settings.json"), source, problems.join("; "));
        }
        for path in self.list.paths.clone() {
            self.take(&path, source);
        }
    }

    /// Takes what the command line names.
    pub fn take_named(&mut self, named: &Named, directory: &Path) {
        match named {
            Named::Path(path) => self.take(&directory.join(path), Source::Named),
            Named::Package { root: Ok(root), .. } => self.take(root, Source::Named),
            Named::Package { source, root: Err(problem) } => {
                self.fail(Path::new(source), Source::Named, problem.clone());
            }
        }
    }

    /// Takes a file or folder that somebody named. A folder that is neither an extension nor a package is a folder of
    /// extensions.
    fn take(&mut self, path: &Path, source: Source) {
        let Ok(metadata) = path.metadata() else {
            return self.fail(path, source, format!("{} does not exist", path.display()));
        };
        if !metadata.is_dir() {
            return self.take_file(path, source, None);
        }
        if self.take_as_one(path, source, None) {
            return;
        }
        let is_package = source == Source::Named && packages::is_package(path);
        let before = self.seen.len();
        if is_package {
            let package = Installed::unfiltered(path.to_owned());
            let files = packages::files(std::slice::from_ref(&package), Packaged::Extension);
            let modules: Vec<_> = files.into_iter().map(module_of).collect();
            self.add_modules(&modules, |path| source.info(path, None));
        } else {
            self.take_entries_of(path, source, None);
        }
        // A package may have only skills.
        if self.seen.len() == before && !is_package {
            let reason = format!("{} has no {} and no extensions in it", path.display(), crate::MANIFEST);
            self.fail(path, source, reason);
        }
    }

    /// Takes what is in a folder of extensions.
    pub fn take_folder(&mut self, folder: &Path, source: Source) {
        if folder.is_dir() {
            self.take_entries_of(folder, source, Some(folder));
        }
    }

    fn take_entries_of(&mut self, folder: &Path, source: Source, base: Option<&Path>) {
        if self.is_of_pi {
            return self.take_modules_of(folder, source, base);
        }
        let Ok(entries) = folder.read_dir() else { return };
        let mut paths: Vec<_> =
            entries.take(MOST_ENTRIES).filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_passed_over = name.starts_with(['.', '_'])
                || name == "node_modules"
                || name.split('.').next() == Some(LIBRARY);
            if is_passed_over || !self.list.keeps(&path) {
                continue;
            }
            if path.is_dir() {
                self.take_as_one(&path, source, base);
            } else if entry_file::look_at(&path) != Ok(Kind::Other) {
                self.take_file(&path, source, base);
            }
        }
    }

    /// Takes what pi finds in a folder of extensions. A folder in it with our manifest is ours.
    fn take_modules_of(&mut self, folder: &Path, source: Source, base: Option<&Path>) {
        let mut ours: Vec<_> = folder
            .read_dir()
            .into_iter()
            .flatten()
            .take(MOST_ENTRIES)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join(crate::MANIFEST).is_file() && self.list.keeps(path))
            .collect();
        ours.sort();
        for path in &ours {
            self.take_as_one(path, source, base);
        }
        let mut modules = packages::modules_in_folder(folder);
        modules.retain(|module| {
            let is_ours = module.folder.as_ref().is_some_and(|folder| ours.contains(folder));
            let is_kept = |path: &PathBuf| self.list.keeps(path);
            !is_ours && is_kept(&module.path) && module.folder.as_ref().is_none_or(is_kept)
        });
        self.add_modules(&modules, |path| source.info(path, base));
    }

    /// Takes a folder that is one extension, or several that belong together, and returns whether it is.
    fn take_as_one(&mut self, folder: &Path, source: Source, base: Option<&Path>) -> bool {
        match Manifest::read(folder) {
            Some(Ok(manifest)) => {
                let launch = Launch {
                    program: Program::Command(manifest.command_in(folder)),
                    flags: manifest.flags,
                    environment: manifest.environment,
                    is_guard: manifest.guard,
                };
                self.add(folder, source, base, |found| {
                    found.name = manifest.name;
                    found.version = manifest.version;
                    found.description = manifest.description;
                    found.launch = Ok(launch);
                });
                true
            }
            Some(Err(problem)) => {
                self.fail(folder, source, problem);
                true
            }
            None if self.is_of_pi || entry_file::is_package_of_pi(folder) => {
                let modules = packages::modules_of_one(folder);
                self.add_modules(&modules, |path| source.info(path, base));
                let are_missing = modules.is_empty() && packages::says_it_has_modules(folder);
                if are_missing {
                    let reason = "package.json names extensions that do not exist".to_owned();
                    self.fail(folder, source, reason);
                }
                are_missing || !modules.is_empty()
            }
            None => false,
        }
    }

    fn take_file(&mut self, path: &Path, source: Source, base: Option<&Path>) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if self.is_of_pi && MODULE_ENDINGS.contains(&ending) {
            return self.add_module(path, source, base);
        }
        match entry_file::look_at(path) {
            Ok(Kind::Program(command)) => self.add(path, source, base, |found| {
                found.launch = Ok(Launch::of(Program::Command(command)));
            }),
            Ok(Kind::OfPi) => self.add_module(path, source, base),
            Ok(Kind::Other) => {
                let reason = format!(
                    "{} is not an extension: it is not executable, and its ending is none of {}",
                    path.display(),
                    entry_file::ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ")
                );
                self.fail(path, source, reason);
            }
            Err(problem) => self.fail(path, source, problem),
        }
    }

    /// Takes the extensions of packages, and lists the packages that are not there.
    pub fn take_packages(&mut self, packages: &[Installed]) {
        let mut files = packages::files(packages, Packaged::Extension).into_iter().peekable();
        for (index, package) in packages.iter().enumerate() {
            if let Err(problem) = &package.root {
                let path = PathBuf::from(packages::Source::shown(&package.source));
                self.add_as(&path, package_info(package, &path), |found| {
                    found.name = path.to_string_lossy().into_owned();
                    found.launch = Err(NotLoaded::Failed(problem.clone()));
                });
            }
            let of_package = std::iter::from_fn(|| files.next_if(|file| file.package == index));
            let modules: Vec<_> = of_package.map(module_of).collect();
            self.add_modules(&modules, |path| package_info(package, path));
        }
    }

    fn add_module(&mut self, path: &Path, source: Source, base: Option<&Path>) {
        let module = Module { path: path.to_owned(), folder: None };
        self.add_modules(&[module], |path| source.info(path, base));
    }

    fn add_modules(&mut self, modules: &[Module], source: impl Fn(&Path) -> SourceInfo) {
        for module in modules {
            let is_only = modules.iter().filter(|other| other.folder == module.folder).count() == 1;
            self.add_as(&module.path, source(&module.path), |found| {
                if let Some(folder) = &module.folder {
                    let described = Described::read(folder);
                    let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned());
                    let name = described.name.or(folder).unwrap_or_default();
                    found.name = if is_only { name } else { format!("{name}/{}", found.name) };
                    found.version = described.version;
                    found.description = described.description;
                }
                found.launch = Ok(Launch::of(Program::PiModule(module.path.clone())));
            });
        }
    }

    fn fail(&mut self, path: &Path, source: Source, problem: String) {
        self.add(path, source, None, |found| found.launch = Err(NotLoaded::Failed(problem)));
    }

    fn add(&mut self, path: &Path, source: Source, base: Option<&Path>, complete: impl FnOnce(&mut Found)) {
        self.add_as(path, source.info(path, base), complete);
    }

    fn add_as(&mut self, path: &Path, source: SourceInfo, complete: impl FnOnce(&mut Found)) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let mut found = Found {
            path: path.to_owned(),
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            version: None,
            description: None,
            source,
            launch: Err(NotLoaded::Failed(String::new())),
        };
        complete(&mut found);
        if let Ok(launch) = &found.launch {
            let is_module = launch.program.is_module();
            let same = self.found.iter().filter_map(|found| found.launch.as_ref().ok());
            let count = same.filter(|other| other.program.is_module() == is_module).count();
            let most = if is_module { MOST_MODULES } else { MOST_PROGRAMS };
            if count >= most {
                found.launch = Err(NotLoaded::Failed(format!("there are more than {most} extensions")));
            }
        }
        self.found.push(found);
    }
}

fn module_of(file: packages::PackageFile) -> Module {
    Module { path: file.path, folder: file.folder }
}

/// Returns where a file of a package comes from.
fn package_info(package: &Installed, path: &Path) -> SourceInfo {
    let base_folder = match &package.root {
        Ok(Root::Folder(folder)) => Some(folder.clone()),
        Ok(Root::File(file)) => file.parent().map(ToOwned::to_owned),
        Err(_) => None,
    };
    SourceInfo {
        path: path.to_owned(),
        source: packages::Source::shown(&package.source),
        scope: package.scope,
        packaging: Packaging::Package,
        base_folder,
    }
}
