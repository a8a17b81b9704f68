//! What sessions take from the command line and the settings: at the start, and again when a session is reloaded.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bowline_approval::Gate;
use bowline_core::Policy;
use bowline_core::policy::Questions;
use bowline_dialect::Entry;
use bowline_engine::{Configuration, Configured};
use bowline_extension::Resources;
use bowline_llm::Providers;
use bowline_tools::{Confinement, Options, Selection};

use crate::arguments::Arguments;
use crate::confinement::confinement;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hosts::{self, Materials};
use crate::mcp_servers;
use crate::resources;
use crate::sandbox_wishes::sandbox_wishes;
use crate::settings::SettingsFile;
use crate::startup::{
    allowed_tools, offered_tools, session_plan, system_prompt, tool_options, warn_of_unknown_tools,
};
use crate::toolboxes;

/// What the settings are combined with. It stays the same for as long as the process.
#[derive(Clone)]
pub(crate) struct Fixed {
    pub arguments: Arguments,
    pub environment: Environment,
    pub entry: &'static Entry,
    pub policy: Policy,
    pub providers: Providers,
    pub gate: Gate,
    /// What confines the tools, once it is known. Neither settings that change later nor a change to another folder make
    /// it another one, and what a client has made stricter stays so. Sessions side by side have one each.
    pub confinement: Arc<OnceLock<Option<Arc<dyn Confinement>>>>,
}

impl Fixed {
    /// Returns what a session in a folder starts with. `known` are the resources of the process, which know what was
    /// decided about projects. Warnings go to stderr.
    pub fn configure(
        &self,
        file: &SettingsFile,
        directory: &Path,
        known: Option<&Resources>,
    ) -> Result<Configured, Failure> {
        let Self { arguments, environment, entry, policy, providers, .. } = self;
        let start = &entry.start;
        let mut settings = file.engine_settings(policy);
        for (limited, limit) in &arguments.limits {
            settings.limits.run.set(*limited, Some(*limit));
        }
        settings.client_may_widen |= arguments.client_may_widen;
        settings.reports_progress = !arguments.is_reproducible();
        settings.stream_rules.own_folder.clone_from(&environment.home);
        settings.stream_rules.enabled &= !arguments.no_rules;
        settings.offered_tools = offered_tools(arguments, start);
        let places = hosts::places(arguments, environment, file);
        let may_have_extensions = places.may_have_any(directory);
        if !may_have_extensions {
            warn_of_unknown_tools(&arguments.exclude_tools);
        }
        let mut options = tool_options(arguments, environment, file, providers, !settings.resize_images);
        options.confinement = self.confinement(file, directory, &options)?;
        options.closed_paths = Some(Arc::new(self.gate.clone()));
        let options = Arc::new(options);
        let keeps_todos = file.todos.are_kept(policy);
        let toolbox = toolboxes::with_defaults(&options, file, start, keeps_todos).select(&Selection {
            allow: allowed_tools(arguments, file, start, may_have_extensions, keeps_todos)?,
            exclude: arguments.exclude_tools.clone(),
            none: arguments.no_tools || arguments.no_builtin_tools,
        })?;
        settings.subagents.further_tools = toolboxes::for_subagents(&options, arguments, file);
        let system_prompt = system_prompt(arguments, environment)?;
        let resources = match known {
            Some(known) => known.with_options(resources::options(arguments, environment, file)),
            None => resources::choose(arguments, environment, file),
        };
        let can_ask = policy.questions != Questions::Assumed;
        let mcp = mcp_servers::options(environment, file, providers, &resources, &options, can_ask);
        let hosts = hosts::choose(&Materials {
            arguments,
            environment,
            file,
            resources: &resources,
            options: &options,
            entry,
            policy,
            places,
            may_have_extensions,
            mcp,
        });
        Ok(Configured { settings, toolbox, system_prompt, resources, hosts })
    }
}

impl Fixed {
    fn confinement(
        &self,
        file: &SettingsFile,
        folder: &Path,
        options: &Options,
    ) -> Result<Option<Arc<dyn Confinement>>, Failure> {
        if let Some(known) = self.confinement.get() {
            return Ok(known.clone());
        }
        let wishes = sandbox_wishes(&self.arguments, &self.environment, file)?;
        let plan = session_plan(&self.arguments, &self.environment, &self.entry.start, file);
        let sessions = plan.store.map(|store| store.directory_for(folder));
        let made =
            confinement(wishes, &self.environment, folder, options, sessions.as_deref(), Some(&self.gate))?;
        Ok(self.confinement.get_or_init(|| made).clone())
    }
}

/// Reads the settings again, with everything else as it was at the start.
#[derive(Clone)]
pub(crate) struct Reader {
    pub fixed: Fixed,
    pub resources: Resources,
}

impl Configuration for Reader {
    fn read(&self, directory: &Path) -> Result<Configured, String> {
        let read = || {
            let file = SettingsFile::of_user(&self.fixed.environment)?;
            self.fixed.configure(&file, directory, Some(&self.resources))
        };
        read().map_err(|failure: Failure| failure.to_string())
    }

    fn for_session(&self, directory: &Path) -> Result<(Configured, Arc<dyn Configuration>), String> {
        let fixed = Fixed { confinement: Arc::default(), ..self.fixed.clone() };
        let reader = Self { fixed, resources: self.resources.clone() };
        let configured = reader.read(directory)?;
        Ok((configured, Arc::new(reader)))
    }
}

impl fmt::Debug for Reader {
    /// Shows nothing of the command line: it may have a key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reader")
    }
}
