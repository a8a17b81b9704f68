//! Putting an engine together from the command line, the settings and the surroundings.

use std::path::Path;
use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::{Policy, ThinkingLevel};
use bowline_dialect::{Start, Tools};
use bowline_engine::{Parts, SessionPlan, SystemPrompt};
use bowline_llm::{Providers, Resolved, Sources};
use bowline_session::{Clock, EntryBody, Layout, Location, NewSession, Session, Store};
use bowline_tools::{Options, Selection, Toolbox};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::home::Surroundings;
use crate::settings_file::SettingsFile;

/// Returns the parts of an engine. Warnings go to stderr; nothing here touches a socket.
pub(crate) fn prepare(
    arguments: &Arguments,
    surroundings: &Surroundings,
    start: &Start,
    policy: Policy,
) -> Result<Parts, Failure> {
    let file = SettingsFile::read(&surroundings.home.join("settings.json"))?;
    let settings = file.engine_settings(&policy);
    let options = Options {
        shell: settings.shell.clone(),
        command_prefix: settings.command_prefix.clone(),
        keeps_images: !settings.resize_images,
    };
    let toolbox = Toolbox::builtin(&options);
    let toolbox = toolbox.select(&Selection {
        allow: allowed_tools(arguments, &file, start.tools)?,
        exclude: arguments.exclude_tools.clone(),
        none: arguments.no_tools,
    })?;
    let named = arguments.model.as_deref();
    let model = named.or_else(|| start.model_variable.and_then(|name| surroundings.variable(name)));
    let (providers, chosen) = choose_model(arguments, model, surroundings, &file)?;
    let scope = scope(arguments, &file, &providers)?;
    let preferred = file.default_provider.as_deref().zip(file.default_model.as_deref());
    let default_model = match &chosen {
        Some(choice) => Some(Arc::clone(&choice.model)),
        None => default_model(&providers, preferred, &scope),
    };
    let session_plan = session_plan(arguments, surroundings, start, &file);
    let clock = arguments.clock.clone().unwrap_or_default();
    Ok(Parts {
        policy,
        system_prompt: system_prompt(arguments, surroundings),
        session: open_session(arguments, surroundings, &session_plan, &clock)?,
        session_plan,
        working_directory: surroundings.working_directory.clone(),
        chosen_thinking_level: arguments
            .thinking
            .or_else(|| chosen.as_ref().and_then(|choice| choice.thinking))
            .or_else(|| scope.iter().find(|choice| Some(&choice.model) == default_model.as_ref())?.thinking),
        chosen_model: chosen.map(|choice| choice.model),
        default_model,
        default_thinking_level: file.default_thinking_level.unwrap_or(ThinkingLevel::Medium),
        settings,
        providers,
        toolbox,
        scope,
        clock,
    })
}

/// Returns the tools to choose from, if not the usual ones.
fn allowed_tools(
    arguments: &Arguments,
    file: &SettingsFile,
    tools: Tools,
) -> Result<Option<Vec<String>>, Failure> {
    if tools == Tools::Usual {
        return Ok(arguments.tools.clone().or_else(|| file.default_tools.clone()));
    }
    let may_use = |name: &str| arguments.allow_mutating || !bowline_tools::is_mutating(name);
    if let Some(names) = &arguments.tools {
        return match names.iter().find(|name| !may_use(name)) {
            None => Ok(Some(names.clone())),
            Some(name) => Err(Failure::Usage(format!(
                "mutating tool '{name}' requires --allow-mutating in non-interactive mode"
            ))),
        };
    }
    let builtin = Toolbox::builtin(&Options::default());
    let all = || builtin.names().into_iter().map(ToOwned::to_owned).collect();
    let names: Vec<String> = file.default_tools.clone().unwrap_or_else(all);
    Ok(Some(names.into_iter().filter(|name| may_use(name)).collect()))
}

/// Returns what models and credentials are made of.
pub(crate) fn sources(surroundings: &Surroundings, file: &SettingsFile) -> Sources {
    Sources {
        models_file: Some(surroundings.home.join("models.json")),
        auth_file: Some(surroundings.home.join("auth.json")),
        environment: surroundings.environment.clone(),
        timeouts: file.timeouts(),
        ..Sources::default()
    }
}

/// Reads the providers and finds the model that the user named, if one was named.
fn choose_model(
    arguments: &Arguments,
    model: Option<&str>,
    surroundings: &Surroundings,
    file: &SettingsFile,
) -> Result<(Providers, Option<Resolved>), Failure> {
    let sources = sources(surroundings, file);
    let mut providers = Providers::new(sources.clone())?;
    for warning in providers.warnings() {
        eprintln!("bowline: {warning}");
    }
    let provider = arguments.provider.as_deref();
    let chosen = match (model, provider) {
        (Some(pattern), _) => Some(providers.resolve(pattern, provider)?),
        (None, Some(provider)) => {
            let model = providers.default_of(provider)?;
            Some(Resolved { model, thinking: None, warning: None })
        }
        (None, None) => None,
    };
    if let Some(warning) = chosen.as_ref().and_then(|choice| choice.warning.as_ref()) {
        eprintln!("bowline: {warning}");
    }
    if arguments.api_key.is_some() || arguments.record.is_some() || arguments.replay_loose {
        // The key is for the provider that was chosen and is never sent to another.
        let provider = chosen.as_ref().map(|choice| choice.model.provider.clone());
        providers = Providers::new(Sources {
            api_key: arguments.api_key.clone(),
            api_key_provider: provider.or_else(|| arguments.provider.clone()),
            record: arguments.record.as_deref().map(|path| surroundings.expand(path)),
            replay_loose: arguments.replay_loose,
            ..sources
        })?;
    }
    Ok((providers, chosen))
}

/// The saved default if the user's limits allow it, else the first model within them, else whatever can be used.
fn default_model(
    providers: &Providers,
    preferred: Option<(&str, &str)>,
    scope: &[Resolved],
) -> Option<Arc<Model>> {
    let is_preferred = |choice: &&Resolved| Some((&*choice.model.provider, &*choice.model.id)) == preferred;
    let scoped = scope.iter().find(is_preferred).or_else(|| scope.first());
    scoped.map(|choice| Arc::clone(&choice.model)).or_else(|| providers.default_model(preferred))
}

fn scope(
    arguments: &Arguments,
    file: &SettingsFile,
    providers: &Providers,
) -> Result<Vec<Resolved>, Failure> {
    let patterns = match (&arguments.models, &file.enabled_models) {
        (Some(patterns), _) => patterns.clone(),
        (None, Some(patterns)) => patterns.join(","),
        (None, None) => return Ok(Vec::new()),
    };
    let scope = providers.resolve_scope(&patterns)?;
    for warning in scope.iter().filter_map(|choice| choice.warning.as_ref()) {
        eprintln!("bowline: {warning}");
    }
    Ok(scope)
}

fn system_prompt(arguments: &Arguments, surroundings: &Surroundings) -> SystemPrompt {
    let mut prompt = SystemPrompt::new(surroundings.home.clone());
    prompt.replacement = arguments.system_prompt.as_deref().map(|text| text_or_file(surroundings, text));
    let additions = arguments.append_system_prompt.iter().map(|text| text_or_file(surroundings, text));
    prompt.additions = additions.collect();
    prompt.use_context_files = !arguments.no_context_files;
    prompt
}

/// A value that names a file stands for the file's text.
fn text_or_file(surroundings: &Surroundings, value: &str) -> String {
    std::fs::read_to_string(surroundings.expand(value)).unwrap_or_else(|_| value.to_owned())
}

pub(crate) fn session_plan(
    arguments: &Arguments,
    surroundings: &Surroundings,
    start: &Start,
    file: &SettingsFile,
) -> SessionPlan {
    if arguments.no_session {
        return SessionPlan { store: None, durability: file.durability() };
    }
    let folder = arguments
        .session_dir
        .as_deref()
        .or_else(|| start.sessions_variable.and_then(|name| surroundings.variable(name)))
        .or_else(|| surroundings.variable("PI_CODING_AGENT_SESSION_DIR"))
        .or(file.session_dir.as_deref());
    let store = match folder {
        Some(folder) => Store::new(surroundings.expand(folder), Layout::Flat),
        None => Store::new(surroundings.home.join("sessions"), Layout::ByWorkingDirectory),
    };
    SessionPlan { store: Some(store), durability: file.durability() }
}

fn open_session(
    arguments: &Arguments,
    surroundings: &Surroundings,
    plan: &SessionPlan,
    clock: &Clock,
) -> Result<Session, Failure> {
    let here = surroundings.working_directory.as_path();
    let existing = match &plan.store {
        None => None,
        Some(store) => match (&arguments.session, &arguments.session_id) {
            (Some(text), _) => Some(store.find(here, text)?),
            (None, Some(id)) => store.with_id(here, id)?,
            (None, None) if arguments.continue_session => store.latest(here)?,
            (None, None) => None,
        },
    };
    let new = |id: Option<String>| NewSession {
        working_directory: here.to_owned(),
        location: match &plan.store {
            Some(store) => Location::Directory(store.directory_for(here)),
            None => Location::Memory,
        },
        id,
        parent: None,
    };
    let mut session = match (existing, &arguments.fork, &plan.store) {
        (Some(path), _, _) => open_existing(&path, here)?.with_clock(clock.clone()),
        (None, Some(text), Some(store)) => {
            let path = store.find(here, text)?;
            let parent = Some(path.display().to_string());
            Session::read(&path, here)?.copy(NewSession { parent, ..new(None) })?.with_clock(clock.clone())
        }
        (None, _, _) => Session::create_by(new(arguments.session_id.clone()), clock.clone())?,
    };
    if let Some(name) = arguments.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        session.append(EntryBody::SessionInfo { name: name.to_owned() })?;
    }
    Ok(session)
}

fn open_existing(path: &Path, here: &Path) -> Result<Session, Failure> {
    let session = Session::open(path, here)?;
    session.check_working_directory()?;
    if session.malformed_lines() > 0 {
        eprintln!(
            "bowline: {}: {} lines cannot be read and are left out",
            path.display(),
            session.malformed_lines()
        );
    }
    Ok(session)
}
