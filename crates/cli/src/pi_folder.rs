//! pi's own folder, `~/.pi/agent`: extensions and packages in it are shared by both agents.

use std::path::PathBuf;

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Configured, Entry, KEY, Place, Source};
use bowline_extension::{project_settings, settings_list};
use bowline_extension_host::{Named, PiFolder};
use serde_json::json;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::settings::SettingsFile;

/// What pi's settings say that has a meaning here.
#[derive(Debug)]
pub(crate) struct PiSettings {
    /// The folder, and what extensions it has.
    pub extensions: PiFolder,
    pub packages: Vec<Configured>,
    /// The command that stands for npm.
    pub npm_command: Option<Vec<String>>,
}

impl PiSettings {
    /// Reads the settings in pi's folder, unless there is none, it is bowline's own, or it is not to be used.
    pub fn read(environment: &Environment, file: &SettingsFile) -> Option<Self> {
        let folder = environment.pi_folder().filter(|_| file.pi_folder != Some(false))?;
        if folder == environment.home || !folder.is_dir() {
            return None;
        }
        let mut problems = Vec::new();
        let settings = project_settings(&folder, &mut problems);
        let place = Place { folder: folder.clone(), scope: Scope::User };
        let packages = Configured::list(&settings, &place, &mut problems);
        let npm_command = settings_list(&settings, &folder, "npmCommand", &mut problems);
        let settings = settings_list(&settings, &folder, "extensions", &mut problems);
        let extensions = PiFolder { folder, settings, problems };
        Some(Self { extensions, packages, npm_command: Some(npm_command).filter(|words| !words.is_empty()) })
    }
}

/// Returns the folder with the user's packages: pi's, or bowline's if pi's is not used.
pub(crate) fn of_packages(environment: &Environment, file: &SettingsFile) -> PathBuf {
    let shared = environment.pi_folder().filter(|_| file.pi_folder != Some(false));
    shared.unwrap_or_else(|| environment.home.clone())
}

/// Returns the packages that bowline's own settings name.
pub(crate) fn own_packages(
    environment: &Environment,
    file: &SettingsFile,
    problems: &mut Vec<String>,
) -> Vec<Configured> {
    let place = Place { folder: environment.home.clone(), scope: Scope::User };
    Configured::list(&json!({ KEY: file.packages }), &place, problems)
}

/// Returns the packages that the user's settings name, bowline's before pi's.
pub(crate) fn packages(file: &SettingsFile) -> Vec<Configured> {
    let of_pi = file.pi.iter().flat_map(|pi| &pi.packages);
    file.own_packages.iter().chain(of_pi).cloned().collect()
}

/// Returns what `--extension` names.
pub(crate) fn named(arguments: &Arguments, environment: &Environment, file: &SettingsFile) -> Vec<Named> {
    let named = arguments.extension_paths.iter().map(|text| match Source::parse(text) {
        Ok(Source::Npm(_) | Source::Git(_)) => {
            let root = root_of_named(text, environment, file);
            Named::Package { source: Source::shown(text), root }
        }
        Ok(Source::Local(_)) => Named::Path(environment.expand(text)),
        Err(problem) if text.contains(':') => {
            Named::Package { source: Source::shown(text), root: Err(problem) }
        }
        Err(_) => Named::Path(environment.expand(text)),
    });
    named.collect()
}

/// Returns the folder of a package that was installed for one use, or else for the user.
fn root_of_named(text: &str, environment: &Environment, file: &SettingsFile) -> Result<PathBuf, String> {
    let root = |scope| {
        let entry = Entry { source: text.to_owned(), filter: None };
        let place = Place { folder: of_packages(environment, file), scope };
        let configured = Configured { entry, place };
        configured.root(environment.user_home.as_deref()).map(|root| root.path().to_owned())
    };
    root(Scope::Temporary).or_else(|problem| root(Scope::User).map_err(|_| problem))
}
