//! What an extension wants of one call of a model that requests of sessions do not have: a temperature, and whether tools are
//! to be called. It is put into the body as each API has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_core::model::Model;
use bowline_llm::{HookFuture, RequestHooks};
use serde_json::{Value, json};

/// The wishes for one call.
#[derive(Debug)]
pub(super) struct CallWishes {
    api: String,
    temperature: Option<f64>,
    tool_choice: Option<Value>,
}

impl CallWishes {
    /// Returns the wishes, if there are any.
    pub fn new(model: &Model, temperature: Option<f64>, tool_choice: Option<Value>) -> Option<Arc<Self>> {
        let is_any = temperature.is_some() || tool_choice.is_some();
        is_any.then(|| Arc::new(Self { api: model.api.clone(), temperature, tool_choice }))
    }

    fn apply(&self, mut body: Value) -> Value {
        let is_google = self.api == "google-generative-ai";
        // Anthropic takes no temperature with thinking.
        let thinks = body["thinking"]["type"].as_str().is_some_and(|kind| kind != "disabled");
        if let Some(temperature) = self.temperature.filter(|_| !thinks) {
            match is_google {
                true => body["generationConfig"]["temperature"] = json!(temperature),
                false => body["temperature"] = json!(temperature),
            }
        }
        let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        if let Some(choice) = self.tool_choice.as_ref().filter(|_| has_tools) {
            match (self.api.as_str(), choice) {
                ("anthropic-messages", Value::String(kind)) => body["tool_choice"] = json!({ "type": kind }),
                ("google-generative-ai", Value::String(mode)) => {
                    body["toolConfig"]["functionCallingConfig"]["mode"] = json!(mode.to_uppercase());
                }
                ("google-generative-ai", _) => {}
                _ => body["tool_choice"] = choice.clone(),
            }
        }
        body
    }
}

impl RequestHooks for CallWishes {
    fn headers(&self, headers: BTreeMap<String, String>) -> HookFuture<BTreeMap<String, String>> {
        Box::pin(std::future::ready(headers))
    }

    fn payload(&self, payload: Value) -> HookFuture<Value> {
        Box::pin(std::future::ready(self.apply(payload)))
    }

    fn response(&self, _: u16, _: BTreeMap<String, String>) -> HookFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn wants_stream_events(&self) -> bool {
        false
    }

    fn stream_event(&self, _: &Arc<Model>, _: Value) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(api: &str, choice: Value, body: Value, expected: &Value) {
        let wishes = CallWishes { api: api.to_owned(), temperature: Some(0.5), tool_choice: Some(choice) };
        assert_eq!(wishes.apply(body), *expected);
    }

    #[test]
    fn each_api_has_the_wishes_in_its_own_words() {
        let tools = json!([{ "name": "t" }]);
        check(
            "anthropic-messages",
            json!("any"),
            json!({ "tools": tools }),
            &json!({ "tools": tools, "temperature": 0.5, "tool_choice": { "type": "any" } }),
        );
        check(
            "anthropic-messages",
            json!({ "type": "tool", "name": "t" }),
            json!({ "tools": tools, "thinking": { "type": "enabled" } }),
            &json!({ "tools": tools, "thinking": { "type": "enabled" }, "tool_choice": { "type": "tool", "name": "t" } }),
        );
        check(
            "openai-completions",
            json!("required"),
            json!({ "tools": tools }),
            &json!({ "tools": tools, "temperature": 0.5, "tool_choice": "required" }),
        );
        check(
            "google-generative-ai",
            json!("none"),
            json!({ "tools": tools, "generationConfig": { "maxOutputTokens": 1 } }),
            &json!({
                "tools": tools,
                "generationConfig": { "maxOutputTokens": 1, "temperature": 0.5 },
                "toolConfig": { "functionCallingConfig": { "mode": "NONE" } },
            }),
        );
        // A choice among no tools is an error at some providers.
        check("openai-completions", json!("required"), json!({}), &json!({ "temperature": 0.5 }));
    }
}
