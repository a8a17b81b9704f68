//! What several checks need, read once and as a start reads it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_dialect::Entry;
use bowline_extension::Resources;
use bowline_llm::Providers;
use bowline_tools::Options;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::resources;
use crate::settings::SettingsFile;
use crate::startup;

/// What is known before the checks.
pub(super) struct Facts {
    pub arguments: Arguments,
    pub entry: &'static Entry,
    pub environment: Environment,
    /// The user's settings; the defaults if they cannot be read.
    pub file: SettingsFile,
    /// Why the user's settings cannot be read.
    pub settings_problem: Option<String>,
    /// What is odd about them.
    pub settings_warnings: Vec<String>,
    /// The models and keys, or why they cannot be read.
    pub providers: Result<Providers, String>,
    /// Knows whether this project is trusted, and reports nothing.
    pub resources: Resources,
    /// How tools and commands run.
    pub tools: Arc<Options>,
}

impl Facts {
    pub fn read(arguments: &Arguments, entry: &'static Entry) -> Result<Self, Failure> {
        let environment = Environment::read(arguments.working_directory.as_deref())?;
        let mut settings_warnings = Vec::new();
        let read =
            SettingsFile::of_user_and_warnings(&environment, |warning| settings_warnings.push(warning));
        let (file, settings_problem) = match read {
            Ok(file) => (file, None),
            Err(failure) => (SettingsFile::default(), Some(failure.to_string())),
        };
        settings_warnings.extend(startup::misspelt_tools(&file.approvals.rules));
        let providers =
            Providers::new(startup::sources(&environment, &file)).map_err(|error| error.to_string());
        let resources = Resources::new(resources::options(arguments, &environment, &file), |_| ());
        // What commands get of the environment depends on the providers; nothing else does.
        let known = match &providers {
            Ok(providers) => providers.clone(),
            Err(_) => Providers::new(bowline_llm::Sources::default())?,
        };
        let tools = startup::tool_options(arguments, &environment, &file, &known, false);
        Ok(Self {
            arguments: arguments.clone(),
            entry,
            environment,
            file,
            settings_problem,
            settings_warnings,
            providers,
            resources,
            tools: Arc::new(tools),
        })
    }

    /// Tells whether this project is trusted.
    pub fn is_trusted(&self) -> bool {
        self.resources.is_trusted(&self.environment.working_directory)
    }

    /// Returns a folder that nobody else can write to.
    pub fn own_folder(&self) -> PathBuf {
        let home = self.environment.user_home.clone().filter(|home| home.is_dir());
        home.unwrap_or_else(|| PathBuf::from(std::path::MAIN_SEPARATOR_STR))
    }

    /// Returns a path as the user would write it.
    pub fn shown(&self, path: &Path) -> String {
        let home = self.environment.user_home.as_deref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}
