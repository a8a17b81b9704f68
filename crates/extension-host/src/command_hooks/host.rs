//! Where hooks come from, and how they join a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_engine::{About, Attached, Extension, Host, SessionLink};
use bowline_extension::{Resources, trust};
use bowline_tools::Options;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::config::HookConfig;
use super::runner::Runner;
use super::session_hooks::{Loader, SessionHooks};

/// The largest file with settings that is read.
const LARGEST: u64 = 1024 * 1024;

/// The folder with Claude Code's settings, of a user and of a project.
const CLAUDE_FOLDER: &str = ".claude";

/// Where hooks come from.
#[derive(Debug, Clone)]
pub struct HookSources {
    /// The user's settings: the file, and the value of `hooks` in it.
    pub settings: Option<(PathBuf, Value)>,
    /// Whether hooks are taken from Claude Code's settings, too.
    pub imports_claude: bool,
    /// The user's folder, whose settings are in `settings`.
    pub own_folder: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Knows whether a project is trusted.
    pub resources: Resources,
}

/// Brings command hooks to sessions.
#[derive(Debug)]
pub struct CommandHooks {
    sources: Arc<HookSources>,
    /// The hooks in the user's settings.
    settings: Arc<HookConfig>,
    options: Arc<Options>,
    /// Whether the mistakes in the user's settings were reported.
    has_reported: AtomicBool,
}

/// The hooks of a session. Dropping it ends every command.
#[derive(Debug)]
struct Joined {
    hooks: SessionHooks,
    _end: DropGuard,
}

impl CommandHooks {
    /// Returns the hooks of these sources. Commands run with the options of the toolbox.
    pub fn new(sources: HookSources, options: Arc<Options>) -> Self {
        let mut settings = HookConfig::default();
        if let Some((path, value)) = &sources.settings {
            settings.add(&path.display().to_string(), value);
        }
        Self {
            sources: Arc::new(sources),
            settings: Arc::new(settings),
            options,
            has_reported: AtomicBool::new(false),
        }
    }
}

impl Host for CommandHooks {
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>> {
        let files = self.sources.files(&about.directory);
        if files.is_empty() && self.settings.is_empty() && self.settings.warnings.is_empty() {
            return None;
        }
        let ended = CancellationToken::new();
        let hooks = SessionHooks::new(
            about,
            self.sources.home.clone(),
            Box::new(link),
            Runner::new(Arc::clone(&self.options), ended.clone()),
            Arc::clone(&self.settings),
            Some(Arc::new(Files {
                sources: Arc::clone(&self.sources),
                settings: Arc::clone(&self.settings),
            })),
        );
        let joining = Joining {
            hooks: hooks.clone(),
            settings: Arc::clone(&self.settings),
            reports: !self.has_reported.swap(true, Ordering::Relaxed),
        };
        let over = ended.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = joining.join() => {}
                () = over.cancelled() => {}
            }
        });
        Some(Box::new(Joined { hooks, _end: ended.drop_guard() }))
    }
}

impl Attached for Joined {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        vec![Arc::new(self.hooks.clone())]
    }
}

/// The rest of joining a session. The files of a project are read when the session starts: by then extensions have had
/// their say about trust.
struct Joining {
    hooks: SessionHooks,
    settings: Arc<HookConfig>,
    /// Whether mistakes in the user's settings are to be reported.
    reports: bool,
}

impl Joining {
    async fn join(self) {
        if self.reports {
            self.hooks.report(&self.settings.warnings).await;
        }
        self.hooks.ready().await;
    }
}

/// The hooks of any folder.
#[derive(Debug)]
struct Files {
    sources: Arc<HookSources>,
    settings: Arc<HookConfig>,
}

impl Loader for Files {
    fn load(&self, directory: &Path) -> HookConfig {
        // Those in the user's settings were reported.
        let mut own = HookConfig::clone(&self.settings);
        own.warnings.clear();
        let files = self.sources.files(directory);
        if files.is_empty() { own } else { read(own, &self.sources, &files, directory) }
    }
}

/// A file that may have hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    path: PathBuf,
    is_claude: bool,
    /// Whether it belongs to the project, which must be trusted.
    is_of_project: bool,
}

impl HookSources {
    /// Returns the files beside the user's settings that exist, in order. This is all that a start without hooks costs.
    fn files(&self, directory: &Path) -> Vec<File> {
        let of_project = |path: PathBuf, is_claude| File { path, is_claude, is_of_project: true };
        let mut files = Vec::new();
        if self.imports_claude {
            let folder = self.home.as_ref().map(|home| home.join(CLAUDE_FOLDER));
            files.extend(folder.map(|folder| File {
                path: folder.join("settings.json"),
                is_claude: true,
                is_of_project: false,
            }));
        }
        let folder = directory.join(trust::PROJECT_FOLDERS[0]);
        if folder.join("settings.json").symlink_metadata().is_ok()
            && trust::project_folders(directory, &self.own_folder).contains(&folder)
        {
            files.push(of_project(folder.join("settings.json"), false));
        }
        if self.imports_claude {
            let settings = trust::claude_settings_in(directory, self.home.as_deref());
            files.extend(settings.into_iter().map(|path| of_project(path, true)));
        }
        files.retain(|file| file.path.symlink_metadata().is_ok());
        files
    }
}

/// Reads the files of a session. Those of a project that is not trusted are left alone.
fn read(mut config: HookConfig, sources: &HookSources, files: &[File], directory: &Path) -> HookConfig {
    let is_of_project = |file: &&File| file.is_of_project;
    let is_trusted = files.iter().find(is_of_project).is_some() && sources.resources.is_trusted(directory);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_trusted || !file.is_of_project) {
        match settings_in(&file.path) {
            Ok(Some(value)) => found.push((file, value)),
            Ok(None) => {}
            Err(problem) => config.warn("", &file.path.display().to_string(), &problem),
        }
    }
    let is_off = found.iter().any(|(file, value)| file.is_claude && value["disableAllHooks"] == true);
    for (file, value) in found.iter().filter(|(file, _)| !(is_off && file.is_claude)) {
        if let Some(hooks) = value.get("hooks").filter(|hooks| !hooks.is_null()) {
            config.add(&file.path.display().to_string(), hooks);
        }
    }
    config
}

/// Returns the settings in a file, or what is wrong with them.
fn settings_in(path: &Path) -> Result<Option<Value>, String> {
    let text = match bowline_files::read_text(path, LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(format!("its hooks are not used: {error}")),
    };
    match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Ok(value) if value.is_object() => Ok(Some(value)),
        Ok(_) => Err("its hooks are not used: this must be an object".to_owned()),
        Err(error) => Err(format!("its hooks are not used: this is not JSON: {error}")),
    }
}
