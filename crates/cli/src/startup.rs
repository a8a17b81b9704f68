//! Building an agent from the command line, the settings and the environment.

use std::path::Path;
use std::sync::Arc;

use bowline_approval::Gate;
use bowline_core::Policy;
use bowline_core::policy::Questions;
use bowline_core::reply::SessionDamage;
use bowline_dialect::{Entry, Start, Tools};
use bowline_engine::{Configured, OpenedSession, Parts, SessionPlan, SystemPrompt, TASK_TOOL};
use bowline_extension::Resources;
use bowline_extension_host::{McpOptions, McpSessionServers, Places, Plan};
use bowline_llm::{Providers, Sources};
use bowline_session::{Clock, EntryBody, Layout, Location, NewSession, Session, Store};
use bowline_tools::{CommandEnvironment, Options, Selection, TODO, Toolbox};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::configuration::{Fixed, Reader};
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::hardening;
use crate::hosts::{self, Materials};
use crate::mcp_servers;
use crate::models::{choose_model, model_defaults, model_wishes};
use crate::sandbox_wishes::sandbox_wishes;
use crate::settings::SettingsFile;
use crate::similar::nearest;
use crate::terminal::note;
use crate::tool_names::{is_of_server, own_tools};
use crate::toolboxes;

/// The longest file of instructions, in bytes.
const LONGEST_INSTRUCTIONS: u64 = 4 * 1024 * 1024;

/// The parts of an agent, and the session that it starts with.
pub(crate) struct Prepared {
    pub parts: Parts,
    pub session: OpenedSession,
}

/// Returns the parts of an agent. Warnings go to stderr; nothing here touches a socket.
pub(crate) fn prepare(
    arguments: &Arguments,
    environment: &Environment,
    entry: &'static Entry,
    policy: Policy,
) -> Result<Prepared, Failure> {
    let start = &entry.start;
    let file = SettingsFile::of_user(environment)?;
    let named = arguments.model.as_deref();
    let model = named.or_else(|| model_variable(environment, start).map(|(_, model)| model));
    let may_have_extensions =
        hosts::places(arguments, environment, &file).may_have_any(&environment.working_directory);
    if let Some(problem) = arguments.needs_extension.as_ref().filter(|_| !may_have_extensions) {
        return Err(Failure::Usage(problem.clone()));
    }
    let wishes = model_wishes(arguments, model, &file);
    let (providers, chosen) = choose_model(arguments, &wishes, environment, &file, may_have_extensions)?;
    let models = model_defaults(wishes, chosen, &providers, may_have_extensions)?;
    let gate = gate_with_warnings(arguments, environment, &file)?;
    let fixed = Fixed {
        arguments: arguments.clone(),
        environment: environment.clone(),
        entry,
        policy,
        providers: providers.clone(),
        gate: gate.clone(),
        confinement: Arc::default(),
    };
    let configured = fixed.configure(&file, &environment.working_directory, None)?;
    let Configured { settings, toolbox, system_prompt, resources, hosts } = configured;
    let mcp = mcp_servers::options(
        environment,
        &file,
        &providers,
        &resources,
        &toolbox.options(),
        policy.asks_questions(),
    );
    let session_servers = McpSessionServers::new(mcp);
    let configuration = Reader { fixed, resources: resources.clone() };
    if let Some(folder) = arguments.session_dir.as_deref().map(|folder| environment.expand(folder))
        && folder.exists()
        && !folder.is_dir()
    {
        return Err(Failure::Usage(format!("--session-dir: {} is not a folder", folder.display())));
    }
    let session_plan = session_plan(arguments, environment, start, &file);
    let clock = arguments.clock.clone().unwrap_or_default();
    let session = open_session(arguments, environment, &session_plan, &clock)?;
    let parts = Parts {
        settings,
        policy,
        providers,
        toolbox,
        system_prompt,
        resources,
        session_plan,
        models,
        gate: Arc::new(gate),
        hosts,
        session_servers: Some(Arc::new(session_servers)),
        own_host: None,
        configuration: Some(Arc::new(configuration)),
        clock,
    };
    let session = OpenedSession::new(session)?;
    if let Some((damage, file)) = session.damage().zip(session.file()) {
        warn_about(damage, file);
    }
    Ok(Prepared { parts, session })
}

/// Tells whether bowline would start with settings, as far as they alone decide about it.
pub(crate) fn check_settings(
    entry: &Entry,
    environment: &Environment,
    file: &SettingsFile,
) -> Result<(), Failure> {
    let arguments = Arguments::default();
    gate(&arguments, environment, file)?;
    sandbox_wishes(&arguments, environment, file)?;
    let places = hosts::places(&arguments, environment, file);
    let may_have_extensions = places.may_have_any(&environment.working_directory);
    let keeps_todos = file.todos.are_kept(&Policy::default());
    let allow = allowed_tools(&arguments, file, &entry.start, may_have_extensions, keeps_todos)?;
    let toolbox = toolboxes::with_defaults(&Options::default(), file, &entry.start, keeps_todos);
    toolbox.select(&Selection { allow, ..Selection::default() })?;
    Ok(())
}

/// Returns what decides about tool calls. A rule that is wrong keeps bowline from starting.
pub(crate) fn gate(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
) -> Result<Gate, Failure> {
    let gate = Gate::new(bowline_approval::Options {
        ask: arguments.ask.or(file.approvals.ask).unwrap_or_default(),
        rules: file.approvals.rules.clone(),
        file: Some(environment.home.join("approvals.json")),
        home: environment.user_home.clone(),
    });
    let gate = gate.map_err(|error| match error {
        bowline_approval::Error::Rule { .. } => {
            let path = SettingsFile::path(environment).display().to_string();
            Failure::Settings { path, problem: error.to_string() }
        }
        error => error.into(),
    })?;
    Ok(gate)
}

/// Returns what decides about tool calls, and reports what is odd about the rules on stderr.
pub(crate) fn gate_with_warnings(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
) -> Result<Gate, Failure> {
    let gate = gate(arguments, environment, file)?;
    for warning in misspelt_tools(&file.approvals.rules) {
        note(format_args!("bowline: {warning}"));
    }
    Ok(gate)
}

/// Returns warnings about tools in rules whose names look like those of built-in ones. An extension may have one of that
/// name.
pub(crate) fn misspelt_tools(rules: &[Value]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let names = match rule.get("tool") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name.as_str()],
            _ => Vec::new(),
        };
        let is_unknown = |name: &&str| *name != "*" && bowline_tools::traits_of(name).is_none();
        for name in names.into_iter().filter(is_unknown).filter(|name| !is_of_server(name)) {
            let known = toolboxes::all(&Options::default()).names();
            if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                warnings.push(format!(
                    "approvals.rules[{index}]: no tool named {name} is built in; did you mean {near}?"
                ));
            }
        }
    }
    warnings
}

/// Returns how the tools behave, and what they may know of the environment.
pub(crate) fn tool_options(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
    providers: &Providers,
    keeps_images: bool,
) -> Options {
    Options {
        shell: file.shell_path.clone(),
        command_prefix: file.shell_command_prefix.clone(),
        keeps_images,
        home_directory: environment.user_home.clone(),
        own_folder: Some(environment.home.clone()),
        temporary_directory: Some(environment.temporary_directory.clone()),
        inherited_mark: environment.variable(bowline_tools::MARK_VARIABLE).map(ToOwned::to_owned),
        sessions_end_with_process: arguments.no_session,
        environment: command_environment(file, providers),
        watcher: hardening::watcher(),
        command_timeout: file.command_timeout(),
        confinement: None,
        closed_paths: None,
    }
}

/// Returns what is known of MCP servers, without an agent.
pub(crate) fn mcp_options(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
    resources: &Resources,
) -> Result<McpOptions, Failure> {
    let providers = Providers::new(sources(environment, file))?;
    let tools = tool_options(arguments, environment, file, &providers, false);
    Ok(mcp_servers::options(environment, file, &providers, resources, &tools, false))
}

/// Returns what extensions are started with outside of a session, and the models that they see.
pub(crate) fn extension_plan(
    arguments: &Arguments,
    environment: &Environment,
    entry: &Entry,
    file: &SettingsFile,
    resources: &Resources,
) -> Result<(Plan, Providers), Failure> {
    extension_plan_of(
        arguments,
        environment,
        entry,
        file,
        resources,
        hosts::places(arguments, environment, file),
    )
}

/// Returns the same for extensions in other places.
pub(crate) fn extension_plan_of(
    arguments: &Arguments,
    environment: &Environment,
    entry: &Entry,
    file: &SettingsFile,
    resources: &Resources,
    places: Places,
) -> Result<(Plan, Providers), Failure> {
    let providers = Providers::new(sources(environment, file))?;
    let options = Arc::new(tool_options(arguments, environment, file, &providers, false));
    let mcp = mcp_servers::options(environment, file, &providers, resources, &options, false);
    let mut plan = hosts::plan(&Materials {
        arguments,
        environment,
        file,
        resources,
        options: &options,
        entry,
        policy: &Policy { questions: Questions::Asked, ..Policy::default() },
        places,
        may_have_extensions: true,
        mcp,
    });
    // They are of no use without a session.
    plan.mcp = None;
    Ok((plan, providers))
}

/// Returns what commands get of the environment.
fn command_environment(file: &SettingsFile, providers: &Providers) -> CommandEnvironment {
    let providers = providers.clone();
    file.command_environment(environment::all_variables, move || providers.key_variables())
}

/// Reports excluded tools that do not exist. They may belong to extensions of pi, so they are no error.
pub(crate) fn warn_of_unknown_tools(excluded: &[String]) {
    let is_unknown = |name: &&String| bowline_tools::traits_of(name).is_none() && !is_of_server(name);
    for name in excluded.iter().filter(is_unknown) {
        let known = toolboxes::all(&Options::default()).names();
        let near = nearest(name, known.iter().map(String::as_str));
        let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        note(format_args!("bowline: --exclude-tools: there is no tool named {name}{hint}"));
    }
}

/// Returns which tools of others, such as MCP servers, may be used.
pub(crate) fn offered_tools(arguments: &Arguments, start: &Start) -> Selection {
    // What they do is unknown, so they count as mutating.
    let is_read_only = start.tools != Tools::Usual && !arguments.allow_mutating;
    Selection {
        allow: arguments.tools.clone(),
        exclude: arguments.exclude_tools.clone(),
        none: arguments.no_tools || is_read_only,
    }
}

/// Returns the names of the enabled tools, if they differ from the default.
pub(crate) fn allowed_tools(
    arguments: &Arguments,
    file: &SettingsFile,
    start: &Start,
    may_have_extensions: bool,
    keeps_todos: bool,
) -> Result<Option<Vec<String>>, Failure> {
    let own_tools = |names: &Vec<String>| own_tools(names, start.other_tools, may_have_extensions);
    let named = arguments.tools.as_ref().map(own_tools).transpose()?;
    let listed = toolboxes::listed(file);
    if start.tools == Tools::Usual {
        return Ok(named.or(listed));
    }
    let may_use = |name: &str| {
        arguments.allow_mutating || !bowline_tools::traits_of(name).is_some_and(|tool| tool.mutates)
    };
    if let Some(names) = named {
        return match names.iter().find(|name| !may_use(name)) {
            None => Ok(Some(names)),
            Some(name) => Err(Failure::Usage(format!(
                "mutating tool '{name}' requires --allow-mutating in non-interactive mode"
            ))),
        };
    }
    let builtin = Toolbox::builtin(&Options::default());
    let further = (file.task.enabled == Some(true)).then(|| TASK_TOOL.to_owned());
    let is_usual = |name: &&String| *name != TODO || keeps_todos;
    let all = || builtin.names().iter().filter(is_usual).cloned().chain(further).collect();
    let names: Vec<_> = listed.unwrap_or_else(all);
    Ok(Some(names.into_iter().filter(|name| may_use(name)).collect()))
}

/// Returns the sources of models and credentials.
pub(crate) fn sources(environment: &Environment, file: &SettingsFile) -> Sources {
    Sources {
        models_file: Some(environment.home.join("models.json")),
        auth_file: Some(environment.home.join("auth.json")),
        environment: environment.variables.clone(),
        timeouts: file.timeouts(),
        ..Sources::default()
    }
}

pub(crate) fn system_prompt(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<SystemPrompt, Failure> {
    let mut prompt = SystemPrompt::new(environment.home.clone());
    prompt.home.clone_from(&environment.user_home);
    let text = |value: &String| text_or_file(environment, value);
    prompt.replacement = match (&arguments.system_file, &arguments.system_prompt) {
        (Some(path), _) => Some(bowline_files::read_text(&environment.expand(path), LONGEST_INSTRUCTIONS)?),
        (None, value) => value.as_ref().map(text).transpose()?,
    };
    prompt.additions = arguments.append_system_prompt.iter().map(text).collect::<Result<_, _>>()?;
    prompt.use_context_files = !arguments.no_context_files;
    Ok(prompt)
}

/// Returns the text of the file that a value names, or the value itself. A value that can only be meant as a path must
/// name a file: as instructions, it would go unnoticed.
fn text_or_file(environment: &Environment, value: &str) -> Result<String, Failure> {
    // Some clients mark a path as `@path`.
    if let Some(path) = value.strip_prefix('@')
        && let Ok(text) = bowline_files::read_text(&environment.expand(path), LONGEST_INSTRUCTIONS)
    {
        return Ok(text);
    }
    match bowline_files::read_text(&environment.expand(value), LONGEST_INSTRUCTIONS) {
        Ok(text) => Ok(text),
        Err(error) if is_path(value) => Err(error.into()),
        Err(_) => Ok(value.to_owned()),
    }
}

/// Tells whether a value looks like a path and not like instructions.
fn is_path(value: &str) -> bool {
    let has_ending = [".md", ".txt"].iter().any(|ending| value.ends_with(ending));
    !value.contains(char::is_whitespace) && (value.contains('/') || has_ending)
}

pub(crate) fn session_plan(
    arguments: &Arguments,
    environment: &Environment,
    start: &Start,
    file: &SettingsFile,
) -> SessionPlan {
    if arguments.no_session {
        return SessionPlan { store: None, durability: file.durability() };
    }
    let named = || sessions_variable(environment, start).map(|(_, folder)| folder);
    let folder = arguments.session_dir.as_deref().or_else(named).or(file.session_dir.as_deref());
    let store = match folder {
        Some(folder) => Store::new(environment.expand(folder), Layout::Flat),
        None => Store::new(environment.home.join("sessions"), Layout::ByWorkingDirectory),
    };
    SessionPlan { store: Some(store), durability: file.durability() }
}

/// Returns the variable that names the folder of sessions, with its value.
pub(crate) fn sessions_variable<'a>(
    environment: &'a Environment,
    start: &Start,
) -> Option<(&'static str, &'a str)> {
    let names = start.sessions_variable.into_iter().chain(["PI_CODING_AGENT_SESSION_DIR"]);
    names.filter_map(|name| Some((name, environment.variable(name)?))).next()
}

/// Returns the variable that names the model, with its value.
pub(crate) fn model_variable<'a>(
    environment: &'a Environment,
    start: &Start,
) -> Option<(&'static str, &'a str)> {
    start.model_variable.and_then(|name| Some((name, environment.variable(name)?)))
}

fn open_session(
    arguments: &Arguments,
    environment: &Environment,
    plan: &SessionPlan,
    clock: &Clock,
) -> Result<Session, Failure> {
    let here = environment.working_directory.as_path();
    let mut new_file = None;
    let existing = match &plan.store {
        None => None,
        Some(store) => match (&arguments.session, &arguments.session_id) {
            (Some(text), _) => match store.find(here, text) {
                // Clients choose the file of a session before there is one.
                Err(bowline_session::Error::NotFound { file }) => {
                    new_file = Some(file);
                    None
                }
                found => Some(found?),
            },
            (None, Some(id)) => store.with_id(here, id)?,
            (None, None) if arguments.continue_session => store.latest(here)?,
            (None, None) => None,
        },
    };
    let new = |id: Option<String>| NewSession {
        working_directory: here.to_owned(),
        location: match (&new_file, &plan.store) {
            (Some(file), _) => Location::File(file.clone()),
            (None, Some(store)) => Location::Directory(store.directory_for(here)),
            (None, None) => Location::Memory,
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
    Ok(session)
}

/// Says what could not be read of a session.
fn warn_about(damage: SessionDamage, file: &Path) {
    let mut found = Vec::new();
    if damage.unreadable_lines > 0 {
        found.push(format!("{} cannot be read", counted(damage.unreadable_lines, "line", "lines")));
    }
    if damage.relinked_entries > 0 {
        let entries = counted(damage.relinked_entries, "entry follows", "entries follow");
        found.push(format!("{entries} a missing one and the entry before the gap instead"));
    }
    if damage.unreadable_messages > 0 {
        let messages = counted(damage.unreadable_messages, "message", "messages");
        found.push(format!("the content of {messages} cannot be read"));
    }
    let (found, file) = (found.join("; "), file.display());
    note(format_args!("bowline: {file}: {found}. To mend the file: bowline sessions fsck --repair {file}"));
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
