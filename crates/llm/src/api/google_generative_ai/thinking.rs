//! How a model is asked to think: up to 2.5 by a token budget, since 3 by a level.

use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Model, ThinkingLevel};
use serde::Serialize;

use crate::api::wanted_level;

#[derive(Serialize, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
}

/// Returns whether a model is of the third generation or later, which has levels and requires its signatures.
pub(super) fn has_levels(model: &Model) -> bool {
    !["gemini-1", "gemini-2"].iter().any(|old| model.id.contains(old))
        && (model.thinking_level_map.is_some()
            || model.id.contains("gemini-3")
            || model.id.contains("gemini-4")
            || model.id.ends_with("-latest"))
}

/// Returns how to request thinking.
pub(super) fn ask(model: &Model, level: ThinkingLevel, budgets: ThinkingBudgets) -> Option<ThinkingConfig> {
    let (level, word) = wanted_level(model, level)?;
    let silent = level == ThinkingLevel::Off;
    let config = |budget: Option<i64>, level: Option<String>| ThinkingConfig {
        include_thoughts: (!silent).then_some(true),
        thinking_budget: budget,
        thinking_level: level,
    };
    if !has_levels(model) {
        let wanted = budgets.of(level).and_then(|tokens| i64::try_from(tokens).ok());
        return Some(config(Some(wanted.unwrap_or_else(|| usual_budget(model, level))), None));
    }
    // Thinking cannot be turned off for these models; the lowest level is the closest.
    let least = if model.id.contains("pro") { "LOW" } else { "MINIMAL" };
    let level = match level {
        ThinkingLevel::Off => word.unwrap_or(least),
        ThinkingLevel::Xhigh | ThinkingLevel::Max => word.unwrap_or("HIGH"),
        level => word.unwrap_or(level.as_str()),
    };
    Some(config(None, Some(level.to_uppercase())))
}

/// Returns the budget for a level; -1 leaves it to the model.
fn usual_budget(model: &Model, level: ThinkingLevel) -> i64 {
    let id = model.id.as_str();
    let (least, most) = match () {
        () if id.contains("2.5-pro") => (128, 32_768),
        () if id.contains("2.5-flash-lite") => (512, 24_576),
        () if id.contains("2.5") => (128, 24_576),
        () => return if level == ThinkingLevel::Off { 0 } else { -1 },
    };
    match level {
        // The larger model always thinks.
        ThinkingLevel::Off if id.contains("2.5-pro") => least,
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => least,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => most,
    }
}

/// Returns the budget that is sent at a level.
pub(super) fn budget(model: &Model, level: ThinkingLevel, budgets: ThinkingBudgets) -> Option<u64> {
    let tokens = ask(model, level, budgets)?.thinking_budget?;
    u64::try_from(tokens).ok().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::ThinkingLevel::{High, Low, Max, Minimal, Off};
    use super::*;
    use crate::conversation::tests::model;
    use serde_json::{Value, json};

    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    #[track_caller]
    fn check(changes: Value, level: ThinkingLevel, expected: Value) {
        assert_eq!(
            serde_json::to_value(ask(&model(changes), level, ThinkingBudgets::default())).unwrap(),
            expected
        );
    }

    #[test]
    fn thinking_is_a_budget_or_a_level() {
        let budget = |tokens: i64| json!({"includeThoughts": true, "thinkingBudget": tokens});
        let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
        check(json!({"id": "gemini-2.5-pro"}), High, budget(32_768));
        check(json!({"id": "gemini-2.5-pro"}), Off, json!({"thinkingBudget": 128}));
        check(json!({"id": "gemini-2.5-flash"}), Off, json!({"thinkingBudget": 0}));
        check(json!({"id": "gemini-2.5-flash"}), Max, budget(24_576));
        check(json!({"id": "gemini-2.5-flash-lite"}), Minimal, budget(512));
        check(json!({"id": "deep-research"}), Low, budget(-1));
        let budgets = ThinkingBudgets { low: Some(999), ..ThinkingBudgets::default() };
        let pro = model(json!({"id": "gemini-2.5-pro"}));
        let sent = |level| super::budget(&pro, level, budgets);
        assert_eq!((sent(Low), sent(High), sent(Off)), (Some(999), Some(32_768), Some(128)));
        let map = json!({"off": null, "minimal": null, "low": "low", "high": "high"});
        let third = json!({"id": "gemini-3.8-flash", "thinkingLevelMap": map});
        check(third.clone(), Off, level("LOW"));
        check(third, Max, level("HIGH"));
        check(json!({"id": "gemini-3-pro"}), Off, json!({"thinkingLevel": "LOW"}));
        check(json!({"id": "gemini-2.0-flash", "reasoning": false}), High, Value::Null);
    }
}
