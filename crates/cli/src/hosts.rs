//! What takes part in sessions from outside, in the order in which hooks call it.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::Policy;
use bowline_core::policy::Questions;
use bowline_dialect::Entry;
use bowline_engine::Host;
use bowline_extension::Resources;
use bowline_extension_host::command_hooks::{CommandHooks, HookSources};
use bowline_extension_host::{
    DEFAULT_START_LIMIT, McpHost, McpOptions, PiHosting, Places, Plan, ProcessHost,
};
use bowline_tools::Options;
use serde_json::Value;

use crate::arguments::{Action, Arguments};
use crate::environment::{self, Environment};
use crate::pi_folder;
use crate::settings::SettingsFile;
use crate::terminal::note;

/// What the hosts are made from.
pub(crate) struct Materials<'start> {
    pub arguments: &'start Arguments,
    pub environment: &'start Environment,
    pub file: &'start SettingsFile,
    pub resources: &'start Resources,
    pub options: &'start Arc<Options>,
    pub entry: &'start Entry,
    pub policy: &'start Policy,
    pub places: Places,
    pub may_have_extensions: bool,
    pub mcp: McpOptions,
}

/// Returns the hosts of sessions. Command hooks come first, so that extensions see what they have changed.
pub(crate) fn choose(materials: &Materials<'_>) -> Vec<Arc<dyn Host>> {
    let mut hosts: Vec<Arc<dyn Host>> =
        vec![Arc::new(command_hooks(materials)), Arc::new(ProcessHost::new(plan(materials)))];
    if !materials.arguments.no_mcp {
        hosts.push(Arc::new(McpHost::new(materials.mcp.clone())));
    }
    hosts
}

fn command_hooks(materials: &Materials<'_>) -> CommandHooks {
    let Materials { environment, file, resources, options, .. } = materials;
    let hooks = (!file.hooks.is_empty()).then(|| Value::from(file.hooks.clone()));
    let sources = HookSources {
        settings: hooks.map(|hooks| (SettingsFile::path(environment), hooks)),
        imports_claude: file.imports_claude_hooks,
        own_folder: environment.home.clone(),
        home: environment.user_home.clone(),
        resources: (*resources).clone(),
    };
    CommandHooks::new(sources, Arc::clone(options))
}

/// Returns where extensions are.
pub(crate) fn places(arguments: &Arguments, environment: &Environment, file: &SettingsFile) -> Places {
    Places {
        named: pi_folder::named(arguments, environment, file),
        only_named: arguments.no_extensions,
        settings: file.extensions.clone(),
        own_folder: environment.home.clone(),
        home: environment.user_home.clone(),
        pi: file.pi.as_ref().map(|pi| pi.extensions.clone()),
        packages: pi_folder::packages(file),
    }
}

/// Returns how bowline runs, as extensions are told.
fn mode(arguments: &Arguments) -> &'static str {
    match arguments.action {
        Action::OneShot if arguments.format.is_some_and(|format| format.streams) => "json",
        Action::OneShot => "print",
        _ => "rpc",
    }
}

pub(crate) fn plan(materials: &Materials<'_>) -> Plan {
    let Materials { arguments, environment, file, resources, options, entry, policy, .. } = materials;
    // Without extensions, nobody can know these flags.
    let flags = if materials.may_have_extensions {
        arguments.unknown_flags()
    } else {
        for warning in arguments.unknown_flag_warnings() {
            note(format_args!("{}: {warning}", entry.start.called));
        }
        Vec::new()
    };
    let variables = environment.variables.clone();
    let settings_path = SettingsFile::path(environment);
    let is_verbose = arguments.verbose;
    Plan {
        places: materials.places.clone(),
        resources: (*resources).clone(),
        options: Arc::clone(options),
        version: env!("CARGO_PKG_VERSION"),
        mode: mode(arguments),
        dialect: entry.name,
        has_ui: policy.questions == Questions::Asked,
        start_limit: file.extension_start_timeout_ms.map_or(DEFAULT_START_LIMIT, Duration::from_millis),
        hook_limit: file.extension_hook_timeout_ms.map(Duration::from_millis),
        flags,
        variable: Box::new(move |name| variables.get(name).cloned()),
        mcp: (!arguments.no_mcp).then(|| Arc::new(materials.mcp.clone())),
        settings: Box::new(move || SettingsFile::read_plain(&settings_path)),
        pi_host: PiHosting {
            runtime: file.node_path.clone(),
            cache: environment.home.join("cache"),
            program: environment::program().ok(),
            variables: file.pi_extension_environment.clone().unwrap_or_else(|| vec!["*".to_owned()]),
        },
        report: Box::new(|message| note(format_args!("bowline: {message}"))),
        // A one-shot mode ends by itself, and says why in its own way.
        gives_up: arguments.action == Action::Rpc,
        log: Box::new(move |line| {
            if is_verbose {
                note(format_args!("{line}"));
            }
        }),
        trace: None,
    }
}
