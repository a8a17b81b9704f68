//! Models and thinking.

use bowline_core::ThinkingLevel;
use serde_json::Value;

use super::{MOST_TOKENS, Setting};
use crate::settings::file::SettingsFile;
use crate::settings::value::Kind::{Choice, Named, Number, Text, Texts};
use crate::settings::value::Wrong;

const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "defaultProvider",
        kind: Text(|file, value| file.default_provider = Some(value)),
        default: "none",
        example: r#""anthropic""#,
        about: "the provider of `defaultModel`; both are required",
    },
    Setting {
        path: "defaultModel",
        kind: Text(|file, value| file.default_model = Some(value)),
        default: "none",
        example: r#""claude-sonnet-5""#,
        about: "the model to use if none is named",
    },
    Setting {
        path: "defaultThinkingLevel",
        kind: Choice(LEVELS, |file, value| file.default_thinking_level = ThinkingLevel::parse(value)),
        default: r#""medium""#,
        example: r#""low""#,
        about: "`off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`",
    },
    Setting {
        path: "modelThinkingLevels",
        kind: Named(model_level),
        default: "none",
        example: r#"{"anthropic/claude-sonnet-5": "high"}"#,
        about: "the level of some models, by `provider/id`, when a session starts with them or changes to them and no level was named",
    },
    Setting {
        path: "thinkingBudgets.minimal",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.minimal = Some(value)),
        default: "`1024` for Claude",
        example: "2000",
        about: "[how many tokens](models.md#thinking-levels) a model may think for at this level, if its API takes a budget",
    },
    Setting {
        path: "thinkingBudgets.low",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.low = Some(value)),
        default: "`2048` for Claude",
        example: "4000",
        about: "the same for `low`",
    },
    Setting {
        path: "thinkingBudgets.medium",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.medium = Some(value)),
        default: "`8192` for Claude; in the dialect `opi`, `10000`",
        example: "10000",
        about: "the same for `medium`",
    },
    Setting {
        path: "thinkingBudgets.high",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.high = Some(value)),
        default: "`16384` for Claude; in the dialect `opi`, `20000`",
        example: "20000",
        about: "the same for `high` and the levels above",
    },
    Setting {
        path: "enabledModels",
        kind: Texts(|file, value| file.enabled_models = Some(value)),
        default: "all with a key",
        example: r#"["claude-*", "openai/gpt-5"]"#,
        about: "a list of names and patterns, as for `--models`",
    },
];

fn model_level(file: &mut SettingsFile, model: &str, value: &Value) -> Result<(), Wrong> {
    let level = value.as_str().and_then(ThinkingLevel::parse);
    let expected = || Choice(LEVELS, |_, _| ()).expected();
    file.model_thinking_levels.insert(model.to_owned(), level.ok_or_else(|| Wrong::new(&expected(), value))?);
    Ok(())
}
