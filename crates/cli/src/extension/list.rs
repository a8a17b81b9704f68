//! `bowline extension list`: the extensions of this folder, and what they offer.

use std::process::ExitCode;
use std::sync::Arc;

use bowline_core::hook::{HookKind, Subscription};
use bowline_core::slash_command::Scope;
use bowline_engine::Extension;
use bowline_extension_host::{Found, NotLoaded, Plan};
use bowline_llm::Providers;
use serde_json::{Value, json};

use super::sample_events::Samples;
use super::trial::Trial;
use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::table::{Align, render};
use crate::terminal::{note, say};
use crate::{resources, startup};

/// Lists the extensions. The exit code is 1 if one that is wanted does not start.
pub(super) fn list(
    arguments: &Arguments,
    environment: &Environment,
    entry: &bowline_dialect::Entry,
) -> Result<ExitCode, Failure> {
    let file = SettingsFile::of_user(environment)?;
    let resources = resources::choose(arguments, environment, &file);
    let (plan, providers) = startup::extension_plan(arguments, environment, entry, &file, &resources)?;
    let found = find(&plan, environment);
    if found.is_empty() && !arguments.json {
        note(format_args!(
            "bowline: there are no extensions; bowline extension new NAME --out {} creates one",
            environment.home.join("extensions").display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let listed = crate::blocking::block_on(start(&found, plan, providers, environment))??;
    if arguments.json {
        let lines = listed.iter().map(|listed| format!("{}\n", listed.json()));
        say(&lines.collect::<String>())?;
    } else {
        let columns = ["extension", "from", "state", "hooks", "tools", "commands"];
        let rows: Vec<_> = listed.iter().map(Listed::row).collect();
        say(&render(columns.map(|title| (title, Align::Left)), &rows))?;
    }
    let all_start = listed.iter().all(|listed| !listed.has_failed);
    Ok(if all_start { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the extensions of the working folder and of the user. Reads files.
pub(crate) fn find(plan: &Plan, environment: &Environment) -> Vec<Found> {
    let directory = &environment.working_directory;
    plan.places.discover(directory, plan.resources.is_trusted(directory))
}

/// Starts the extensions that were found, asks them what they offer, and ends them.
pub(crate) async fn start<'found>(
    found: &'found [Found],
    plan: Plan,
    providers: Providers,
    environment: &Environment,
) -> Result<Vec<Listed<'found>>, Failure> {
    let samples =
        Samples::new().map_err(|error| Failure::Usage(format!("a sample is not valid: {error}")))?;
    let mut trial = Trial::start(plan, providers, environment.working_directory.clone(), samples);
    if let Some(trial) = &mut trial {
        // Looking at extensions is no consent to what they ask.
        trial.user_agrees = false;
        trial.become_ready_timed().await;
    }
    let listed = found.iter().map(|found| Listed::new(found, trial.as_mut())).collect();
    if let Some(trial) = &mut trial {
        trial.stop().await;
    }
    Ok(listed)
}

/// An extension of the list.
pub(crate) struct Listed<'found> {
    pub found: &'found Found,
    /// What is wrong with it.
    pub problem: Option<String>,
    /// Whether somebody wants it, and it does not start.
    pub has_failed: bool,
    hooks: Vec<&'static str>,
    tools: Vec<String>,
    commands: Vec<String>,
}

impl<'found> Listed<'found> {
    fn new(found: &'found Found, trial: Option<&mut Trial>) -> Self {
        let mut listed = Self {
            found,
            problem: None,
            has_failed: false,
            hooks: Vec::new(),
            tools: Vec::new(),
            commands: Vec::new(),
        };
        match &found.launch {
            Err(reason) => {
                listed.problem = Some(reason.reason().to_owned());
                listed.has_failed = matches!(reason, NotLoaded::Failed(_));
            }
            Ok(_) => {
                if let Some(trial) = trial {
                    listed.ask(trial);
                }
            }
        }
        listed
    }

    /// Finds out what the extension offers.
    fn ask(&mut self, trial: &mut Trial) {
        let path = self.found.path.to_string_lossy();
        let extensions = trial.extensions();
        let Some(extension) = extensions.iter().find(|extension| *extension.name() == *path) else { return };
        self.hooks = hooks(extension);
        let name = extension.name();
        let tools = trial.tools.get(&name).into_iter().flatten();
        self.tools = tools.map(|offered| offered.tool.definition().name.clone()).collect();
        let commands = trial.commands.get(&name).into_iter().flatten();
        self.commands = commands.map(|command| command.name.clone()).collect();
        let problems = trial.problems_of(&name);
        self.has_failed = problems.iter().any(|problem| problem.event == "load");
        self.problem = problems.into_iter().next().map(|problem| problem.error);
    }

    fn from(&self) -> &'static str {
        match self.found.source.scope {
            Scope::Project => "project",
            Scope::User => "user",
            Scope::Temporary => "command line",
        }
    }

    fn state(&self) -> &'static str {
        match (&self.found.launch, self.has_failed) {
            (_, true) => "failed",
            (Ok(_), false) => "loaded",
            (Err(_), false) => "not loaded",
        }
    }

    fn row(&self) -> [String; 6] {
        let version = self.found.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let problem = self.problem.as_deref().map(|problem| format!(": {problem}")).unwrap_or_default();
        let listed = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        let hooks: Vec<_> = self.hooks.iter().map(|name| (*name).to_owned()).collect();
        [
            format!("{}{version}", self.found.name),
            format!("{} ({})", self.from(), self.found.path.display()),
            format!("{}{problem}", self.state()),
            listed(&hooks),
            listed(&self.tools),
            listed(&self.commands),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.found.name,
            "version": self.found.version,
            "description": self.found.description,
            "path": self.found.path.to_string_lossy(),
            "from": self.from(),
            "state": self.state(),
            "problem": self.problem,
            "hooks": self.hooks,
            "tools": self.tools,
            "commands": self.commands,
        })
    }
}

/// Returns the hooks that an extension takes part in, for any tool.
fn hooks(extension: &Arc<dyn Extension>) -> Vec<&'static str> {
    let tools = ["bash", "read", "write", "edit", "grep", "find", "ls"];
    let takes = |hook: &&HookKind| {
        let of = |tool| extension.subscription(**hook, tool) != Subscription::None;
        of(None) || tools.iter().any(|tool| of(Some(tool)))
    };
    HookKind::ALL.iter().filter(takes).map(|hook| hook.as_str()).collect()
}
