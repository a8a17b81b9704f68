//! Which extensions there are, in the order in which hooks call them.
//!
//! The order is also their precedence: what the command line names, then what the project has, if it is trusted, then what
//! the user has; in each the settings before the folder; and then what packages bring along. A file that is reached twice is
//! loaded once.
//!
//! There are two kinds of extensions, programs and modules of pi. In folders that bowline shares with pi, files are what pi
//! takes them for. In those of bowline a file with one of the endings that both have is what its text says.

mod search;

use std::path::{Path, PathBuf};

use bowline_core::slash_command::{Scope, SourceInfo};
use bowline_extension::packages::{self, Configured, Place};
use bowline_extension::{PathList, project_settings, settings_list, trust};

use crate::protocol::FlagRegistration;
use search::{Search, Source};

/// The folder within a place whose files and folders are extensions. Also the key of the list in settings.
pub const FOLDER: &str = "extensions";

/// The folder of a project that is shared with pi.
const PROJECT_FOLDER_OF_PI: &str = ".pi";

/// Where to look for extensions.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// What the command line names.
    pub named: Vec<Named>,
    /// Whether only that is loaded.
    pub only_named: bool,
    /// The entries of the user's settings.
    pub settings: Vec<String>,
    /// bowline's own folder, which has the user's settings and extensions.
    pub own_folder: PathBuf,
    /// What `~` stands for in settings.
    pub home: Option<PathBuf>,
    /// pi's own folder, if it is another one and is used.
    pub pi: Option<PiFolder>,
    /// The packages that the user's settings name.
    pub packages: Vec<Configured>,
}

/// What the command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    Path(PathBuf),
    /// A package, as it is written.
    Package {
        source: String,
        root: Result<PathBuf, String>,
    },
}

/// pi's own folder, with the extensions of the user that both agents share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PiFolder {
    pub folder: PathBuf,
    /// The entries of its settings.
    pub settings: Vec<String>,
    /// What is wrong with its settings.
    pub problems: Vec<String>,
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

impl Program {
    fn is_module(&self) -> bool {
        matches!(self, Self::PiModule(_))
    }
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
            || !self.only_named
                && (!self.settings.is_empty()
                    || !self.packages.is_empty()
                    || self.own_folder.join(FOLDER).is_dir()
                    || self.pi.as_ref().is_some_and(PiFolder::may_have_any))
    }

    /// Returns the extensions for a working directory, in order; nothing of a project that is not trusted is loaded. Reads
    /// files, so it belongs on a thread that may block.
    pub fn discover(&self, directory: &Path, trusts_project: bool) -> Vec<Found> {
        let mut search = Search::default();
        for named in &self.named {
            search.take_named(named, directory);
        }
        if self.only_named {
            return search.found;
        }
        let mut packages = Vec::new();
        for project in trust::project_folders(directory, &self.own_folder) {
            search.is_of_pi = project.ends_with(PROJECT_FOLDER_OF_PI);
            if trusts_project {
                let mut problems = Vec::new();
                let settings = project_settings(&project, &mut problems);
                let entries = settings_list(&settings, &project, FOLDER, &mut problems);
                let place = Place { folder: project.clone(), scope: Scope::Project };
                packages.extend(Configured::list(&settings, &place, &mut problems));
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
        search.is_of_pi = false;
        search.use_list(&self.settings, &self.own_folder, self.home.as_deref(), Vec::new());
        search.take_listed(&self.own_folder, Source::UserSettings);
        search.take_folder(&self.own_folder.join(FOLDER), Source::UserFolder);
        if let Some(PiFolder { folder, settings, problems }) = &self.pi {
            search.is_of_pi = true;
            search.use_list(settings, folder, self.home.as_deref(), problems.clone());
            search.take_listed(folder, Source::UserSettings);
            search.take_folder(&folder.join(FOLDER), Source::UserFolder);
        }
        packages.extend(self.packages.iter().cloned());
        search.take_packages(&packages::installed(&packages, self.home.as_deref()));
        search.found
    }
}

impl PiFolder {
    fn may_have_any(&self) -> bool {
        !self.settings.is_empty() || !self.problems.is_empty() || self.folder.join(FOLDER).is_dir()
    }
}

#[cfg(test)]
mod tests;
