//! The parts of an agent, from what its caller says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_approval::Gate;
use bowline_core::Policy;
use bowline_core::limits::{Limited, Limits};
use bowline_core::sandbox::AskMode;
use bowline_core::thinking::ThinkingLevel;
use bowline_engine::{
    Agent, ModelDefaults, ModelWishes, OpenedSession, Parts, SessionPlan, Settings, SystemPrompt,
};
use bowline_extension::Resources;
use bowline_llm::{Providers, Sources};
use bowline_protocol::LimitSettings;
use bowline_session::{Clock, Durability, Layout, Location, NewSession, Session, Store};
use bowline_tools::{CommandEnvironment, Inherit, Options, Selection, Toolbox};

use crate::builder::Builder;
use crate::error::StartError;

/// An agent and the session that it starts with.
pub(crate) struct Assembly {
    pub agent: Agent,
    pub session: OpenedSession,
    pub working_directory: PathBuf,
}

/// Puts an agent together. Reads files, so it belongs on a thread that may block.
pub(crate) fn assemble(builder: &Builder, policy: Policy) -> Result<Assembly, StartError> {
    let working_directory = folder(&builder.working_directory)?;
    let (providers, models) = models(builder)?;
    let gate = Gate::new(bowline_approval::Options {
        ask: ask_mode(builder)?,
        rules: Vec::new(),
        file: None,
        home: builder.home_directory.clone(),
    })?;
    let store = builder.session_folder.clone().map(|root| Store::new(root, Layout::Flat));
    let session = open_session(builder, &working_directory, store.as_ref())?;
    let agent = Agent::new(Parts {
        settings: settings(builder)?,
        policy,
        toolbox: toolbox(builder, &providers, &gate)?,
        providers,
        system_prompt: SystemPrompt {
            replacement: builder.instructions.clone(),
            additions: builder.additions.clone(),
            use_context_files: builder.use_context_files,
            own_folder: PathBuf::new(),
            home: builder.home_directory.clone(),
        },
        resources: Resources::default(),
        session_plan: SessionPlan { store, durability: Durability::default() },
        models,
        gate: Arc::new(gate),
        hosts: Vec::new(),
        session_servers: None,
        own_host: None,
        configuration: None,
        clock: Clock::default(),
    });
    Ok(Assembly { agent, session: OpenedSession::new(session)?, working_directory })
}

/// Returns the absolute path of the folder that the agent works in.
fn folder(path: &Path) -> Result<PathBuf, StartError> {
    let invalid = |problem: String| {
        StartError::Invalid(format!("the working directory {} is of no use: {problem}", path.display()))
    };
    let folder = std::path::absolute(path).map_err(|error| invalid(error.to_string()))?;
    if folder.is_dir() { Ok(folder) } else { Err(invalid("it is not a folder".to_owned())) }
}

fn models(builder: &Builder) -> Result<(Providers, ModelDefaults), StartError> {
    let sources = Sources {
        models_file: builder.models_file.clone(),
        auth_file: builder.auth_file.clone(),
        environment: builder.environment.clone(),
        ..Sources::default()
    };
    let wishes = ModelWishes {
        model: builder.model.clone(),
        thinking_level: builder.thinking.as_ref().map(thinking_level).transpose()?,
        ..ModelWishes::default()
    };
    let mut providers = Providers::new(sources.clone())?;
    let chosen = wishes.choose(&providers)?;
    if builder.api_key.is_some() {
        let Some(choice) = &chosen else {
            return Err(StartError::Invalid(
                "a key needs a model: its provider is whom it is for".to_owned(),
            ));
        };
        let api_key_provider = Some(choice.model.provider.clone());
        providers =
            Providers::new(Sources { api_key: builder.api_key.clone(), api_key_provider, ..sources })?;
    }
    let defaults = wishes.defaults(chosen, Vec::new(), &providers);
    Ok((providers, defaults))
}

fn thinking_level(level: &bowline_protocol::ThinkingLevel) -> Result<ThinkingLevel, StartError> {
    let name = level.as_str();
    ThinkingLevel::parse(name)
        .ok_or_else(|| StartError::Invalid(format!("there is no thinking level named {name}")))
}

fn ask_mode(builder: &Builder) -> Result<AskMode, StartError> {
    let name = builder.ask.as_str();
    AskMode::parse(name).ok_or_else(|| StartError::Invalid(format!("there is no way of asking named {name}")))
}

fn settings(builder: &Builder) -> Result<Settings, StartError> {
    let mut settings = Settings::default();
    set_limits(&mut settings.limits.run, &builder.run_limits)?;
    set_limits(&mut settings.limits.session, &builder.session_limits)?;
    Ok(settings)
}

fn set_limits(limits: &mut Limits, wanted: &LimitSettings) -> Result<(), StartError> {
    let counted = [
        (Limited::Tokens, wanted.tokens),
        (Limited::Turns, wanted.turns),
        (Limited::ToolCalls, wanted.tool_calls),
    ];
    let counted = counted.map(|(limited, limit)| (limited, limit.map(|limit| limit as f64)));
    let measured = [(Limited::Cost, wanted.cost), (Limited::Seconds, wanted.seconds)];
    for (limited, limit) in counted.into_iter().chain(measured) {
        let Some(limit) = limit else { continue };
        if !limit.is_finite() || limit < 0.0 {
            let name = limited.as_str();
            return Err(StartError::Invalid(format!("{limit} is no limit for {name}: 0 means unlimited")));
        }
        limits.set(limited, Some(limit));
    }
    Ok(())
}

fn toolbox(builder: &Builder, providers: &Providers, gate: &Gate) -> Result<Toolbox, StartError> {
    let variables = builder.environment.clone();
    let variables =
        move || variables.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>();
    let known = providers.clone();
    let key_variables = move || known.key_variables();
    let options = Options {
        home_directory: builder.home_directory.clone(),
        temporary_directory: builder.temporary_directory.clone(),
        sessions_end_with_process: builder.session_folder.is_none() && builder.session_file.is_none(),
        environment: CommandEnvironment::new(variables, Inherit::Scrubbed, Vec::new(), key_variables, |_| {}),
        watcher: builder.watcher.clone(),
        closed_paths: Some(Arc::new(gate.clone())),
        ..Options::default()
    };
    let selection = Selection {
        allow: builder.tools.clone(),
        none: builder.tools.as_ref().is_some_and(Vec::is_empty),
        ..Selection::default()
    };
    Ok(Toolbox::builtin(&options).select(&selection)?)
}

fn open_session(builder: &Builder, here: &Path, store: Option<&Store>) -> Result<Session, StartError> {
    let location = match (&builder.session_file, store) {
        (Some(file), _) if file.exists() => {
            let session = Session::open(file, here)?;
            session.check_working_directory()?;
            return Ok(session);
        }
        (Some(file), _) => Location::File(file.clone()),
        (None, Some(store)) => Location::Directory(store.directory_for(here)),
        (None, None) => Location::Memory,
    };
    let new = NewSession { working_directory: here.to_owned(), location, id: None, parent: None };
    Ok(Session::create_by(new, Clock::default())?)
}
