//! Which extensions there are, in the order in which hooks call them.
//!
//! The order is also their precedence: what the command line names, then what the project has, if it is trusted, then what
//! the user has; in each the settings before the folder. A file that is reached twice is loaded once.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bowline_core::slash_command::{Packaging, Scope, SourceInfo};
use bowline_extension::{PathList, project_list, trust};

use crate::process::entry_file::{self, Kind};
use crate::process::manifest::Manifest;
use crate::protocol::FlagRegistration;

/// The folder within a place whose files and folders are extensions. Also the key of the list in settings.
pub const FOLDER: &str = "extensions";

/// The most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 1000;

/// The most extensions of one session. Each is a process.
const MOST_EXTENSIONS: usize = 64;

/// The name of our libraries for extensions, which lie beside them and are none.
const LIBRARY: &str = "bowline_extension";

/// Where to look for extensions.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// What the command line names.
    pub named: Vec<PathBuf>,
    /// Whether only that is loaded.
    pub only_named: bool,
    /// The entries of the user's settings.
    pub settings: Vec<String>,
    /// bowline's own folder, which has the user's settings and extensions.
    pub own_folder: PathBuf,
    /// What `~` stands for in settings.
    pub home: Option<PathBuf>,
}

/// An extension that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The file or folder. Clients know the extension by it.
    pub path: PathBuf,
    /// A short name.
    pub name: String,
    pub version: Option<String>,
    pub description: Option<String>,
    pub source: SourceInfo,
    /// How it is started, or why it is not loaded.
    pub launch: Result<Launch, NotLoaded>,
}

/// How an extension is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    pub program: Program,
    pub flags: Vec<FlagRegistration>,
    /// The variables that it gets although they may be secret.
    pub environment: Vec<String>,
    /// Whether no tool runs before it has registered.
    pub is_guard: bool,
}

impl Launch {
    /// Starts a program that says nothing about itself.
    fn of(program: Program) -> Self {
        Self { program, flags: Vec::new(), environment: Vec::new(), is_guard: false }
    }
}

/// What runs an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A process of its own: the program and its arguments.
    Command(Vec<String>),
    /// The process that all extensions of pi share. This is the module that it loads.
    PiModule(PathBuf),
}

/// Why an extension is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoaded {
    /// It is there, but not to be used.
    Unused(String),
    /// It cannot be used although somebody wants it.
    Failed(String),
}

impl NotLoaded {
    /// Returns the reason.
    pub fn reason(&self) -> &str {
        let (Self::Unused(reason) | Self::Failed(reason)) = self;
        reason
    }
}

impl Places {
    /// Tells whether there can be extensions, without looking into any folder.
    pub fn may_have_any(&self, directory: &Path) -> bool {
        let is_project = |folder: &&str| directory.join(folder).is_dir();
        self.may_have_of_user() || (!self.only_named && trust::PROJECT_FOLDERS.iter().any(is_project))
    }

    /// Tells whether there can be extensions that the user has chosen, without looking into any folder.
    pub fn may_have_of_user(&self) -> bool {
        !self.named.is_empty()
            || !self.only_named && (!self.settings.is_empty() || self.own_folder.join(FOLDER).is_dir())
    }

    /// Returns the extensions for a working directory, in order; nothing of a project that is not trusted is loaded. Reads
    /// files, so it belongs on a thread that may block.
    pub fn discover(&self, directory: &Path, trusts_project: bool) -> Vec<Found> {
        let mut search = Search::default();
        for path in &self.named {
            search.take(&directory.join(path), Source::Named);
        }
        if self.only_named {
            return search.found;
        }
        for project in trust::project_folders(directory, &self.own_folder) {
            if trusts_project {
                let mut problems = Vec::new();
                let entries = project_list(&project, FOLDER, &mut problems);
                search.use_list(&entries, &project, self.home.as_deref(), problems);
                search.take_listed(&project, Source::ProjectSettings);
            }
            search.take_folder(&project.join(FOLDER), Source::ProjectFolder);
            search.list = PathList::default();
        }
        for extension in &mut search.found {
            if extension.source.scope == Scope::Project && !trusts_project {
                extension.launch = Err(NotLoaded::Unused("the project is not trusted".to_owned()));
            }
        }
        search.use_list(&self.settings, &self.own_folder, self.home.as_deref(), Vec::new());
        search.take_listed(&self.own_folder, Source::UserSettings);
        search.take_folder(&self.own_folder.join(FOLDER), Source::UserFolder);
        search.found
    }
}

/// Where an extension was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
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

#[derive(Debug, Default)]
struct Search {
    found: Vec<Found>,
    seen: HashSet<PathBuf>,
    /// What settings name and leave out.
    list: PathList,
    problems: Vec<String>,
}

impl Search {
    fn use_list(&mut self, entries: &[String], base: &Path, home: Option<&Path>, problems: Vec<String>) {
        self.problems = problems;
        self.list = PathList::new(entries, base, home, &mut self.problems);
    }

    /// Takes what settings name; what is wrong with them is reported under the name of their file.
    fn take_listed(&mut self, folder: &Path, source: Source) {
        let problems = std::mem::take(&mut self.problems);
        if !problems.is_empty() {
            self.fail(&folder.join("settings.json"), source, problems.join("; "));
        }
        for path in self.list.paths.clone() {
            self.take(&path, source);
        }
    }

    /// Takes a file or folder that somebody named. A folder without a manifest is a folder of extensions.
    fn take(&mut self, path: &Path, source: Source) {
        let Ok(metadata) = path.metadata() else {
            return self.fail(path, source, format!("{} does not exist", path.display()));
        };
        if !metadata.is_dir() {
            return self.take_file(path, source, None);
        }
        if !self.take_as_one(path, source, None) {
            let before = self.seen.len();
            self.take_entries_of(path, source, None);
            if self.seen.len() == before {
                let reason = format!("{} has no {} and no extensions in it", path.display(), crate::MANIFEST);
                self.fail(path, source, reason);
            }
        }
    }

    /// Takes what is in a folder of extensions.
    fn take_folder(&mut self, folder: &Path, source: Source) {
        if folder.is_dir() {
            self.take_entries_of(folder, source, Some(folder));
        }
    }

    fn take_entries_of(&mut self, folder: &Path, source: Source, base: Option<&Path>) {
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

    /// Takes a folder that is one extension, and returns whether it is.
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
            }
            Some(Err(problem)) => self.fail(folder, source, problem),
            None if entry_file::is_package_of_pi(folder) => self.list_one_of_pi(folder, source, base),
            None => return false,
        }
        true
    }

    fn take_file(&mut self, path: &Path, source: Source, base: Option<&Path>) {
        match entry_file::look_at(path) {
            Ok(Kind::Program(command)) => self.add(path, source, base, |found| {
                found.launch = Ok(Launch::of(Program::Command(command)));
            }),
            Ok(Kind::OfPi) => self.list_one_of_pi(path, source, base),
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

    fn list_one_of_pi(&mut self, path: &Path, source: Source, base: Option<&Path>) {
        self.add(path, source, base, |found| {
            found.launch = Ok(Launch::of(Program::PiModule(path.to_owned())));
        });
    }

    fn fail(&mut self, path: &Path, source: Source, problem: String) {
        self.add(path, source, None, |found| found.launch = Err(NotLoaded::Failed(problem)));
    }

    fn add(&mut self, path: &Path, source: Source, base: Option<&Path>, complete: impl FnOnce(&mut Found)) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let mut found = Found {
            path: path.to_owned(),
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            version: None,
            description: None,
            source: source.info(path, base),
            launch: Err(NotLoaded::Failed(String::new())),
        };
        complete(&mut found);
        let loaded = self.found.iter().filter(|found| found.launch.is_ok()).count();
        if found.launch.is_ok() && loaded >= MOST_EXTENSIONS {
            let reason = format!("there are more than {MOST_EXTENSIONS} extensions");
            found.launch = Err(NotLoaded::Failed(reason));
        }
        self.found.push(found);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    struct World {
        folder: TempDir,
    }

    impl World {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("own")).unwrap();
            fs::create_dir_all(folder.path().join("project")).unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self { folder }
        }

        fn places(&self) -> Places {
            Places { own_folder: self.folder.path().join("own"), ..Places::default() }
        }

        /// Returns the paths that are loaded, and those that are not with the reason.
        fn discover(&self, places: &Places, trusts_project: bool) -> Vec<String> {
            let found = places.discover(&self.folder.path().join("project"), trusts_project);
            let shown = found.iter().map(|found| {
                let path = found.path.strip_prefix(self.folder.path()).unwrap_or(&found.path).display();
                match &found.launch {
                    Ok(_) => format!("{path} {} {}", found.source.source, found.source.scope.as_str()),
                    Err(reason) => format!("{path}: {}", reason.reason()),
                }
            });
            shown.collect()
        }
    }

    #[test]
    fn order_is_command_line_then_project_then_user_and_settings_before_folders() {
        let world = World::new(&[
            ("named.py", ""),
            ("project/.bowline/settings.json", r#"{"extensions": ["listed.py"]}"#),
            ("project/.bowline/listed.py", ""),
            ("project/.bowline/extensions/b.sh", ""),
            ("project/.bowline/extensions/a.py", ""),
            ("own/listed.py", ""),
            ("own/extensions/x/extension.json", r#"{"name": "x", "command": ["true"]}"#),
        ]);
        let places = Places {
            named: vec![world.folder.path().join("named.py")],
            settings: vec!["listed.py".to_owned()],
            ..world.places()
        };
        assert_eq!(
            world.discover(&places, true),
            [
                "named.py cli temporary",
                "project/.bowline/listed.py local project",
                "project/.bowline/extensions/a.py auto project",
                "project/.bowline/extensions/b.sh auto project",
                "own/listed.py local user",
                "own/extensions/x auto user",
            ]
        );
        let only_named = Places { only_named: true, ..places.clone() };
        assert_eq!(world.discover(&only_named, true), ["named.py cli temporary"]);
        let untrusted = world.discover(&places, false);
        assert_eq!(
            untrusted[1..3],
            [
                "project/.bowline/extensions/a.py: the project is not trusted",
                "project/.bowline/extensions/b.sh: the project is not trusted",
            ]
        );
    }

    #[test]
    fn what_is_no_extension_is_passed_over_in_folders_and_an_error_by_name() {
        let world = World::new(&[
            ("own/extensions/notes.md", ""),
            ("own/extensions/.hidden.py", ""),
            ("own/extensions/_shared.py", ""),
            ("own/extensions/bowline_extension.py", ""),
            ("own/extensions/empty/notes.md", ""),
            ("own/extensions/wrong/extension.json", "{}"),
            ("own/extensions/of_pi.ts", "export default function (pi) {}\n"),
            ("own/extensions/package/package.json", r#"{"pi": {"extensions": ["a.ts"]}}"#),
            ("project/.pi/extensions/other.ts", "const x = 1;\nexport default x;\n"),
        ]);
        let own = world.folder.path().join("own/extensions");
        let named = ["notes.md", "empty", "gone.py"].map(|name| own.join(name));
        let places = Places { named: named.into(), ..world.places() };
        let found = world.discover(&places, true);
        let starts = [
            "own/extensions/notes.md: ",
            "own/extensions/empty: ",
            "own/extensions/gone.py: ",
            "project/.pi/extensions/other.ts: pi extensions are not served yet",
            "own/extensions/of_pi.ts: pi extensions are not served yet",
            "own/extensions/package: pi extensions are not served yet",
            "own/extensions/wrong: ",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (found, start) in found.iter().zip(starts) {
            assert!(found.starts_with(start), "{found} does not start with {start}");
        }
    }

    #[test]
    fn same_file_is_loaded_once_and_settings_leave_out_what_they_name() {
        let world = World::new(&[
            ("own/extensions/a.py", ""),
            ("own/extensions/b.py", ""),
            ("own/extensions/c-old.py", ""),
        ]);
        let settings = ["extensions/a.py", "-extensions/b.py", "!*-old.*"].map(ToOwned::to_owned);
        let places = Places { settings: settings.into(), ..world.places() };
        assert_eq!(world.discover(&places, true), ["own/extensions/a.py local user"]);
    }

    #[test]
    fn places_without_extensions_are_known_without_looking_into_folders() {
        let world = World::new(&[]);
        let directory = world.folder.path().join("project");
        assert!(!world.places().may_have_any(&directory));
        fs::create_dir(world.folder.path().join("own/extensions")).unwrap();
        assert!(world.places().may_have_any(&directory));
        assert!(!Places { only_named: true, ..world.places() }.may_have_any(&directory));
    }
}
