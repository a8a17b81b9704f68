//! What commands have set for as long as the agent lives. The one that takes over after a crash is told again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::generated::State;

const SET_MODEL: &str = "set_model";
const SET_THINKING_LEVEL: &str = "set_thinking_level";

/// The commands whose effect ends with the agent, in the order in which they are repeated: the model before its thinking
/// level.
const LASTING: [&str; 13] = [
    SET_MODEL,
    SET_THINKING_LEVEL,
    "set_steering_mode",
    "set_follow_up_mode",
    "set_auto_compaction",
    "set_auto_retry",
    "set_sandbox",
    "set_approvals",
    "set_limits",
    "set_client_capabilities",
    "set_host_tools",
    "set_host_uri_schemes",
    "set_subagent_subscription",
];

/// The fields of the last command of each kind that had success.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    commands: Mutex<BTreeMap<usize, Map<String, Value>>>,
}

impl Lasting {
    /// Tells whether a command has to be remembered.
    pub fn includes(kind: &str) -> bool {
        LASTING.contains(&kind)
    }

    /// Remembers a command that had success. What it does not mention stays as it was.
    pub fn remember(&self, kind: &str, fields: Value) {
        let Some(position) = LASTING.iter().position(|lasting| *lasting == kind) else { return };
        let Value::Object(mut fields) = fields else { return };
        fields.retain(|name, _| name != "id" && name != "type");
        merge(self.lock().entry(position).or_default(), fields);
    }

    /// Remembers the model and the thinking level that the agent has now, whatever has set them.
    pub fn remember_state(&self, state: &State) {
        if let Some(model) = &state.model {
            self.remember(SET_MODEL, serde_json::json!({ "provider": model.provider, "modelId": model.id }));
        }
        self.remember(SET_THINKING_LEVEL, serde_json::json!({ "level": state.thinking_level.as_str() }));
    }

    /// Returns the commands to repeat.
    pub fn commands(&self) -> Vec<(&'static str, Map<String, Value>)> {
        self.lock().iter().map(|(position, fields)| (LASTING[*position], fields.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Map<String, Value>>> {
        // Half a merge is as good as none: the fields are independent.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Merges objects, also within fields, such as the scopes of limits. Lists are replaced.
fn merge(before: &mut Map<String, Value>, later: Map<String, Value>) {
    for (name, value) in later {
        match (before.get_mut(&name), value) {
            (Some(Value::Object(before)), Value::Object(later)) => merge(before, later),
            (_, value) => drop(before.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generated::COMMANDS;

    #[test]
    fn every_lasting_command_exists() {
        for name in LASTING {
            assert!(COMMANDS.contains(&name), "there is no command {name}");
        }
    }

    /// A command that sets something and is not repeated would be forgotten by a crash.
    #[test]
    fn every_command_that_sets_something_lasts_or_is_kept_in_the_session() {
        let kept_in_the_session = ["set_label", "set_session_name"];
        for name in COMMANDS.iter().filter(|name| name.starts_with("set_")) {
            assert!(Lasting::includes(name) || kept_in_the_session.contains(name), "{name}");
        }
    }

    #[test]
    fn later_commands_add_to_earlier_ones() {
        let lasting = Lasting::default();
        lasting.remember("set_limits", json!({ "run": { "turns": 3 } }));
        lasting.remember("set_limits", json!({ "run": { "tokens": 5 }, "session": { "cost": 1 } }));
        lasting.remember("set_host_tools", json!({ "tools": [1, 2] }));
        lasting.remember("set_host_tools", json!({ "tools": [3] }));
        lasting.remember("get_state", json!({}));
        let commands: Vec<_> =
            lasting.commands().into_iter().map(|(kind, fields)| (kind, Value::Object(fields))).collect();
        let limits = json!({ "run": { "turns": 3, "tokens": 5 }, "session": { "cost": 1 } });
        assert_eq!(commands, [("set_limits", limits), ("set_host_tools", json!({ "tools": [3] }))]);
    }
}
