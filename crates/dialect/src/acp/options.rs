//! What can be chosen in a session: when the user is asked, the model, and how hard it thinks.

use bowline_core::SessionTag;
use bowline_core::command::{Command, Origin};
use bowline_core::sandbox::{AskMode, SandboxChange, SandboxMode};
use bowline_core::thinking::ThinkingLevel;
use bowline_wire::Record;
use serde_json::Value;

use super::errors::{Failure, INVALID_PARAMS};
use super::expected::{Expected, SetBy};
use super::results::{ConfigOption, Empty, Mode, Modes, OptionValue, OptionsResult, ResumedResult, Update};
use super::seats::Seat;
use super::{Acp, records};

pub(super) const MODE: &str = "mode";
const MODEL: &str = "model";
const THINKING: &str = "thinking";
const SANDBOX: &str = "sandbox";

/// The modes of the sandbox that can be chosen: mode, name for users, what it means.
const SANDBOXES: &[(SandboxMode, &str, &str)] = &[
    (SandboxMode::ReadOnly, "Read only", "Tools write nothing but a private /tmp"),
    (SandboxMode::WorkspaceWrite, "Workspace", "Tools write the folder of the session"),
    (SandboxMode::FullAccess, "Full access", "Tools have all rights of the user"),
    (SandboxMode::External, "External", "Something else confines the process"),
];

/// The modes: name on the wire, name for users, what it means.
const MODES: &[(AskMode, &str, &str, &str)] = &[
    (AskMode::Untrusted, "ask", "Ask", "Ask before files are changed and commands are run"),
    (
        AskMode::OnRequest,
        "on-request",
        "On request",
        "Ask when a rule says so, or a call wants more than the sandbox allows",
    ),
    (AskMode::Never, "auto", "Auto", "Never ask; what would have to be asked about is refused"),
];

/// Returns everything that can be chosen in a session.
pub(super) fn of(seat: &Seat) -> ResumedResult {
    let mode = mode_name(seat.ask).to_owned();
    let available_modes =
        MODES.iter().map(|&(_, id, name, description)| Mode { id, name, description }).collect();
    ResumedResult { config_options: all(seat), modes: Modes { current_mode_id: mode, available_modes } }
}

fn all(seat: &Seat) -> Vec<ConfigOption> {
    let value = |value: &str, name: &str| OptionValue {
        value: value.to_owned(),
        name: name.to_owned(),
        description: None,
    };
    let modes =
        MODES.iter().map(|(_, id, name, about)| OptionValue { description: Some(about), ..value(id, name) });
    let mut options = vec![option(MODE, "Mode", "mode", mode_name(seat.ask), modes.collect())];
    if let Some(model) = &seat.model {
        let mut models: Vec<_> =
            seat.models.iter().map(|model| value(&model.full_name(), &model.name)).collect();
        // What is chosen is always among what can be chosen.
        if models.iter().all(|known| known.value != model.full_name()) {
            models.insert(0, value(&model.full_name(), &model.name));
        }
        options.push(option(MODEL, "Model", "model", &model.full_name(), models));
        let levels = model.thinking_levels();
        if levels.len() > 1 {
            let levels = levels.iter().map(|level| value(level.as_str(), &level_name(*level))).collect();
            options.push(option(THINKING, "Thinking", "thought_level", seat.level.as_str(), levels));
        }
    }
    // Only whoever starts bowline knows that something else confines it.
    let sandboxes =
        SANDBOXES.iter().filter(|(mode, ..)| *mode != SandboxMode::External || *mode == seat.sandbox);
    let sandboxes = sandboxes
        .map(|(mode, name, about)| OptionValue { description: Some(about), ..value(mode.as_str(), name) });
    options.push(option(SANDBOX, "Sandbox", "_sandbox", seat.sandbox.as_str(), sandboxes.collect()));
    options
}

fn option(
    id: &'static str,
    name: &'static str,
    category: &'static str,
    current: &str,
    options: Vec<OptionValue>,
) -> ConfigOption {
    ConfigOption { id, name, category, r#type: "select", current_value: current.to_owned(), options }
}

fn mode_name(ask: AskMode) -> &'static str {
    MODES.iter().find(|(mode, ..)| *mode == ask).map_or("auto", |(_, name, ..)| name)
}

fn level_name(level: ThinkingLevel) -> String {
    let name = level.as_str();
    name.chars().take(1).flat_map(char::to_uppercase).chain(name.chars().skip(1)).collect()
}

impl Acp {
    /// Changes an option of a session.
    pub(super) fn set_option(
        &mut self,
        tag: SessionTag,
        client: &Origin,
        method: SetBy,
        option: &str,
        value: &Value,
    ) -> Result<(), Failure> {
        let Some(seat) = self.seats.get_mut(tag) else { return Ok(()) };
        let wrong = || Failure::new(INVALID_PARAMS, format!("{option} has no value {value}"));
        let Some(name) = value.as_str() else { return Err(wrong()) };
        let known = all(seat);
        let Some(known) = known.iter().find(|known| known.id == option) else {
            return Err(Failure::new(INVALID_PARAMS, format!("there is no option {option}")));
        };
        if known.options.iter().all(|known| known.value != name) {
            return Err(wrong());
        }
        let command = match option {
            MODE => {
                let mode = MODES.iter().find(|(_, id, ..)| *id == name);
                Command::SetApprovals { ask: mode.map_or_else(AskMode::default, |(ask, ..)| *ask) }
            }
            MODEL => {
                let model = seat.models.iter().chain(&seat.model).find(|model| model.full_name() == name);
                let Some(model) = model else { return Err(wrong()) };
                Command::SetModel { provider: model.provider.clone(), id: model.id.clone() }
            }
            SANDBOX => Command::SetSandbox {
                change: SandboxChange { mode: SandboxMode::parse(name), network: None },
            },
            _ => Command::SetThinkingLevel { level: ThinkingLevel::parse(name).unwrap_or_default() },
        };
        self.carry_out(tag, command, Expected::OptionSet { client: client.clone(), method });
        Ok(())
    }

    /// Tells the client what a command or an extension has chosen.
    pub(super) fn show_options(seat: &Seat, records: &mut Vec<Record>) {
        let update = Update::ConfigOptions { config_options: all(seat) };
        records.push(records::update(&seat.id, &update));
    }

    /// Tells the client what is chosen now.
    pub(super) fn option_is_set(
        &mut self,
        tag: SessionTag,
        client: &Origin,
        method: SetBy,
        records: &mut Vec<Record>,
    ) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        match method {
            SetBy::Option => {
                records.extend(records::result(client, &OptionsResult { config_options: all(seat) }));
                // Clients that know only the older form see it there.
                let update = Update::CurrentMode { current_mode_id: mode_name(seat.ask) };
                records.push(records::update(&seat.id, &update));
            }
            SetBy::Mode => {
                records.extend(records::result(client, &Empty {}));
                let update = Update::ConfigOptions { config_options: all(seat) };
                records.push(records::update(&seat.id, &update));
            }
        }
    }
}
