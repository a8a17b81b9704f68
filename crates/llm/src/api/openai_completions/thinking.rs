//! How a model is asked to think. Every family of servers has its own fields for it.

use bowline_core::{Model, ThinkingLevel};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Server;
use crate::api::{compat, flag, setting, wanted_level};

/// The request fields that control thinking.
#[derive(Serialize, Default)]
pub(super) struct Thinking<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Switch<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_args: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_mode: Option<&'a str>,
}

#[derive(Serialize, Default)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Switch<'a> {
    Type {
        #[serde(rename = "type")]
        kind: &'static str,
    },
    Word(&'a str),
}

/// Returns the fields for a level. Models of unknown families get none.
pub(super) fn ask(server: Server, model: &Model, level: ThinkingLevel) -> Thinking<'_> {
    let Some((level, word)) = wanted_level(model, level) else { return Thinking::default() };
    if server == Server::Mistral {
        return ask_mistral(model, level, word);
    }
    let enabled = level != ThinkingLevel::Off;
    // Thinking can be turned off only if the model has a name for that.
    let effort = if enabled { Some(word.unwrap_or(level.as_str())) } else { word };
    let takes_effort = flag(model, "supportsReasoningEffort");
    let extra = effort.filter(|_| enabled && takes_effort == Some(true));
    let switch = Some(Switch::Type { kind: if enabled { "enabled" } else { "disabled" } });
    match setting(model, "thinkingFormat") {
        None | Some("openai") => Thinking {
            reasoning_effort: effort.filter(|_| takes_effort != Some(false)),
            ..Thinking::default()
        },
        Some("openrouter") => {
            let effort = Some(effort.unwrap_or("none"));
            Thinking { reasoning: Some(Reasoning { effort, enabled: None }), ..Thinking::default() }
        }
        Some("together") => Thinking {
            reasoning: Some(Reasoning { effort: None, enabled: Some(enabled) }),
            reasoning_effort: extra,
            ..Thinking::default()
        },
        Some("ant-ling") => {
            let effort = word.filter(|_| enabled);
            let reasoning = effort.map(|effort| Reasoning { effort: Some(effort), enabled: None });
            Thinking { reasoning, ..Thinking::default() }
        }
        Some("zai") => Thinking { thinking: switch, reasoning_effort: extra, ..Thinking::default() },
        Some("deepseek") => Thinking {
            thinking: switch,
            reasoning_effort: effort.filter(|_| enabled && takes_effort != Some(false)),
            ..Thinking::default()
        },
        Some("qwen") => {
            Thinking { enable_thinking: Some(enabled), reasoning_effort: extra, ..Thinking::default() }
        }
        Some("baseten") => Thinking {
            chat_template_args: template_arguments(model, "chatTemplateArgs", enabled, effort),
            reasoning_effort: effort.filter(|_| takes_effort == Some(true)),
            ..Thinking::default()
        },
        Some("chat-template") => Thinking {
            chat_template_kwargs: template_arguments(model, "chatTemplateKwargs", enabled, effort)
                .or_else(|| Some(Map::from_iter([("enable_thinking".to_owned(), enabled.into())]))),
            ..Thinking::default()
        },
        Some("qwen-chat-template") => Thinking {
            chat_template_kwargs: Some(Map::from_iter([
                ("enable_thinking".to_owned(), enabled.into()),
                ("preserve_thinking".to_owned(), true.into()),
            ])),
            ..Thinking::default()
        },
        Some("string-thinking") => {
            Thinking { thinking: Some(Switch::Word(effort.unwrap_or("none"))), ..Thinking::default() }
        }
        Some(_) => Thinking::default(),
    }
}

/// Magistral has a separate thinking mode; Mistral's other models know only on and off.
fn ask_mistral<'a>(model: &Model, level: ThinkingLevel, word: Option<&'a str>) -> Thinking<'a> {
    let enabled = level != ThinkingLevel::Off;
    if model.id.contains("magistral") {
        return Thinking { prompt_mode: enabled.then_some("reasoning"), ..Thinking::default() };
    }
    let effort = word.unwrap_or(if enabled { "high" } else { "none" });
    Thinking { reasoning_effort: Some(effort), ..Thinking::default() }
}

/// Returns the arguments of the model's chat template, with `{"$var": "thinking.enabled"}` and `{"$var":
/// "thinking.effort"}` filled in.
fn template_arguments(
    model: &Model,
    name: &str,
    enabled: bool,
    effort: Option<&str>,
) -> Option<Map<String, Value>> {
    let arguments = compat(model, name)?.as_object()?;
    let filled = arguments.iter().map(|(name, value)| {
        let variable = value.get("$var").and_then(Value::as_str);
        let value = match variable {
            Some("thinking.enabled") => enabled.into(),
            Some("thinking.effort") => effort.map_or(Value::Null, Value::from),
            _ => value.clone(),
        };
        (name.clone(), value)
    });
    Some(filled.collect())
}

#[cfg(test)]
mod tests {
    use super::ThinkingLevel::{High, Low, Off};
    use super::*;
    use crate::conversation::tests::model;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    #[track_caller]
    fn check(server: Server, compat: Value, levels: Value, level: ThinkingLevel, expected: Value) {
        let mut changes = json!({"compat": compat});
        if !levels.is_null() {
            changes["thinkingLevelMap"] = levels;
        }
        let model = model(changes);
        assert_eq!(serde_json::to_value(ask(server, &model, level)).unwrap(), expected);
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    #[track_caller]
    fn check_format(format: &str, more: Value, level: ThinkingLevel, expected: Value) {
        let mut compat = json!({"thinkingFormat": format});
        compat.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        check(Server::OpenAi, compat, Value::Null, level, expected);
    }

    #[test]
    fn thinking_is_an_effort() {
        let plain = |compat, levels, level, expected| check(Server::OpenAi, compat, levels, level, expected);
        plain(json!({}), Value::Null, High, json!({"reasoning_effort": "high"}));
        plain(json!({}), Value::Null, Off, json!({}));
        plain(json!({}), json!({"off": "none"}), Off, json!({"reasoning_effort": "none"}));
        plain(json!({}), json!({"low": null, "medium": "m"}), Low, json!({"reasoning_effort": "m"}));
        plain(json!({"supportsReasoningEffort": false}), Value::Null, High, json!({}));
        assert_eq!(
            serde_json::to_value(ask(Server::OpenAi, &model(json!({"reasoning": false})), High)).unwrap(),
            json!({})
        );
    }

    #[test]
    fn every_family_has_its_fields() {
        let none = || json!({});
        let effort = || json!({"supportsReasoningEffort": true});
        check_format("unheard", none(), High, none());
        check_format("openrouter", none(), High, json!({"reasoning": {"effort": "high"}}));
        check_format("openrouter", none(), Off, json!({"reasoning": {"effort": "none"}}));
        check_format("together", none(), High, json!({"reasoning": {"enabled": true}}));
        let both = json!({"reasoning": {"enabled": true}, "reasoning_effort": "high"});
        check_format("together", effort(), High, both);
        check_format("together", effort(), Off, json!({"reasoning": {"enabled": false}}));
        check_format("zai", none(), High, json!({"thinking": {"type": "enabled"}}));
        let both = json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"});
        check_format("zai", effort(), High, both.clone());
        check_format("deepseek", none(), High, both);
        check_format("deepseek", none(), Off, json!({"thinking": {"type": "disabled"}}));
        let off = json!({"supportsReasoningEffort": false});
        check_format("deepseek", off, High, json!({"thinking": {"type": "enabled"}}));
        check_format("qwen", none(), High, json!({"enable_thinking": true}));
        check_format("qwen", effort(), Off, json!({"enable_thinking": false}));
        check_format("ant-ling", none(), High, none());
        let arguments =
            json!({"chatTemplateArgs": {"enable_thinking": {"$var": "thinking.enabled"}, "x": 1}});
        check_format(
            "baseten",
            arguments,
            High,
            json!({"chat_template_args": {"enable_thinking": true, "x": 1}}),
        );
        let template = json!({"chat_template_kwargs": {"enable_thinking": false}});
        check_format("chat-template", none(), Off, template);
        let template = json!({"chat_template_kwargs": {"enable_thinking": true, "preserve_thinking": true}});
        check_format("qwen-chat-template", none(), High, template);
        check_format("string-thinking", none(), High, json!({"thinking": "high"}));
        let ling = json!({"thinkingFormat": "ant-ling"});
        let words = json!({"off": null, "high": "high"});
        check(Server::OpenAi, ling, words, High, json!({"reasoning": {"effort": "high"}}));
    }

    #[test]
    fn mistral_thinking_is_on_or_off() {
        let none = json!({"reasoning_effort": "none"});
        check(Server::Mistral, json!({}), Value::Null, Off, none);
        check(Server::Mistral, json!({}), Value::Null, Low, json!({"reasoning_effort": "high"}));
        let magistral = model(json!({"id": "magistral-small"}));
        let asked = serde_json::to_value(ask(Server::Mistral, &magistral, High)).unwrap();
        assert_eq!(asked, json!({"prompt_mode": "reasoning"}));
    }
}
