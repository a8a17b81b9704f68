//! The flags that take precedence over settings, or add to them. What they say of a setting is shown as its value.

use bowline_core::limits::Limited;
use serde_json::{Value, json};

use crate::arguments::Arguments;

/// A flag that has a say in a setting.
pub(super) struct Override {
    pub flag: &'static str,
    pub setting: &'static str,
    /// Whether it adds to the list of the settings instead of replacing the value.
    pub adds: bool,
    /// Returns what it says, if it is given.
    pub value: fn(&Arguments) -> Option<Value>,
}

const fn replaces(
    flag: &'static str,
    setting: &'static str,
    value: fn(&Arguments) -> Option<Value>,
) -> Override {
    Override { flag, setting, adds: false, value }
}

const fn adds(flag: &'static str, setting: &'static str, value: fn(&Arguments) -> Option<Value>) -> Override {
    Override { flag, setting, adds: true, value }
}

/// The flags in the order of the settings.
pub(super) const OVERRIDES: &[Override] = &[
    replaces("--provider", "defaultProvider", |given| given.provider.clone().map(Value::from)),
    replaces("--model", "defaultModel", |given| given.model.clone().map(Value::from)),
    replaces("--thinking", "defaultThinkingLevel", |given| given.thinking.map(|level| level.as_str().into())),
    replaces("--models", "enabledModels", |given| {
        Some(given.models.as_ref()?.split(',').map(|name| Value::from(name.trim())).collect())
    }),
    replaces("--tools", "defaultTools", |given| given.tools.clone().map(Value::from)),
    replaces("--session-dir", "sessionDir", |given| given.session_dir.clone().map(Value::from)),
    replaces("--sandbox", "sandbox.mode", |given| given.sandbox.map(|mode| mode.as_str().into())),
    replaces("--network", "sandbox.network", |given| given.network.map(|network| network.as_str().into())),
    adds("--writable", "sandbox.writable", |given| list(&given.writable)),
    replaces("--workspace", "sandbox.workspace", |given| given.workspace.map(|kind| kind.as_str().into())),
    replaces("--client-may-widen", "sandbox.clientMayWiden", |given| {
        given.client_may_widen.then_some(json!(true))
    }),
    replaces("--ask", "approvals.ask", |given| given.ask.map(|mode| mode.as_str().into())),
    replaces("--max-cost", "limits.run.cost", |given| limit(given, Limited::Cost)),
    replaces("--max-tokens", "limits.run.tokens", |given| limit(given, Limited::Tokens)),
    replaces("--max-turns", "limits.run.turns", |given| limit(given, Limited::Turns)),
    replaces("--max-tool-calls", "limits.run.toolCalls", |given| limit(given, Limited::ToolCalls)),
    replaces("--max-time", "limits.run.seconds", |given| limit(given, Limited::Seconds)),
    adds("--extension", "extensions", |given| list(&given.extension_paths)),
    adds("--skill", "skills", |given| list(&given.skill_paths)),
    adds("--prompt-template", "prompts", |given| list(&given.template_paths)),
    replaces("--no-rules", "ttsr.enabled", |given| given.no_rules.then_some(json!(false))),
];

/// The flags of `config show` and `config get`.
pub(crate) const FLAGS: &[&str] = &[
    "--json",
    "--dialect",
    "--approve",
    "--no-approve",
    "--provider",
    "--model",
    "--thinking",
    "--models",
    "--tools",
    "--session-dir",
    "--sandbox",
    "--network",
    "--writable",
    "--workspace",
    "--client-may-widen",
    "--ask",
    "--max-cost",
    "--max-tokens",
    "--max-turns",
    "--max-tool-calls",
    "--max-time",
    "--extension",
    "--skill",
    "--prompt-template",
    "--no-rules",
];

fn list(values: &[String]) -> Option<Value> {
    (!values.is_empty()).then(|| values.into())
}

/// Returns a limit; a whole number is shown as one.
fn limit(given: &Arguments, limited: Limited) -> Option<Value> {
    let (_, limit) = given.limits.iter().rev().find(|(of, _)| *of == limited)?;
    let text = limit.to_string();
    Some(serde_json::from_str(&text).unwrap_or_else(|_| json!(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flags;
    use crate::settings::settings;

    #[test]
    fn flags_and_settings_exist_and_the_subcommand_takes_the_flags() {
        for row in OVERRIDES {
            assert!(flags().any(|flag| flag.long == row.flag), "{}", row.flag);
            assert!(settings().any(|setting| setting.path == row.setting), "{}", row.setting);
        }
        let of_rows: Vec<_> = OVERRIDES.iter().map(|row| row.flag).collect();
        assert_eq!(FLAGS[4..], of_rows);
    }
}
