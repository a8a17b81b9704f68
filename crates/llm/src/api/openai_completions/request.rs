//! Builds the request.

use std::borrow::Cow;

use bowline_core::stream::StreamError;
use bowline_core::{Model, ThinkingLevel, ToolDefinition};
use serde::Serialize;
use serde_json::Value;

use crate::api::{Endpoint, HttpRequest, bearer, flag, setting, to_body};
use crate::conversation::{self, Outcome, Part, Said, Turn};
use crate::output_limit::output_limit;
use crate::request::ModelRequest;
use crate::secret::Secret;

/// The fields that servers send thinking in. It goes back in the one it came in, which is kept as its signature.
const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Entry<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// How OpenRouter is asked for thinking.
#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Entry<'a> {
    System { content: &'a str },
    Developer { content: &'a str },
    User { content: Content<'a> },
    Assistant(Spoken<'a>),
    Tool { tool_call_id: &'a str, content: Cow<'a, str> },
}

#[derive(Serialize, Default)]
struct Spoken<'a> {
    /// `null` beside calls, which is how the API spells an answer of calls alone.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// Returns the request.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns(&request.messages, model);
    let limit = output_limit(request, &turns);
    let old_field = setting(model, "maxTokensField") == Some("max_tokens");
    let (reasoning_effort, reasoning) = thinking(model, request.thinking);
    let body = to_body(&Body {
        model: &model.id,
        messages: entries(&request.system, &turns, model),
        stream: true,
        stream_options: (flag(model, "supportsUsageInStreaming") != Some(false))
            .then_some(StreamOptions { include_usage: true }),
        // `false` is the default anyway, and servers that do not know the field may refuse it.
        store: (flag(model, "supportsStore") == Some(true)).then_some(false),
        max_tokens: old_field.then_some(limit),
        max_completion_tokens: (!old_field).then_some(limit),
        tools: request.tools.iter().map(tool).collect(),
        reasoning_effort,
        reasoning,
    })?;
    let mut headers = Vec::new();
    if let Some(credential) = &endpoint.credential {
        headers.push(("authorization", bearer(&credential.secret)));
    }
    if flag(model, "sendSessionAffinityHeaders") == Some(true) {
        headers.push(("x-session-affinity", Secret::new(&request.session_id)));
    }
    Ok(endpoint.post("/chat/completions", headers, body))
}

/// Returns how to ask for thinking, in OpenAI's way or OpenRouter's. Nothing is asked of a model whose way we do not
/// know.
fn thinking(model: &Model, level: ThinkingLevel) -> (Option<&str>, Option<Reasoning<'_>>) {
    if !model.reasoning {
        return (None, None);
    }
    let level = level.clamp_to(&model.thinking_levels());
    let mapped = model.thinking_level_map.as_ref().and_then(|map| map.get(&level)?.as_deref());
    let effort = match level {
        // To be told not to think, a model must have a word for it.
        ThinkingLevel::Off => mapped,
        level => Some(mapped.unwrap_or(level.as_str())),
    };
    match setting(model, "thinkingFormat") {
        None | Some("openai") if flag(model, "supportsReasoningEffort") != Some(false) => (effort, None),
        Some("openrouter") => (None, effort.map(|effort| Reasoning { effort })),
        _ => (None, None),
    }
}

fn tool(definition: &ToolDefinition) -> Tool<'_> {
    let ToolDefinition { name, description, parameters } = definition;
    Tool { kind: "function", function: Function { name, description, parameters } }
}

fn entries<'a>(system: &'a str, turns: &'a [Turn<'a>], model: &Model) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    if !system.trim().is_empty() {
        // Every server understands `system`; OpenAI reads it as `developer` where that matters.
        let developer = model.reasoning && flag(model, "supportsDeveloperRole") == Some(true);
        entries.push(if developer {
            Entry::Developer { content: system }
        } else {
            Entry::System { content: system }
        });
    }
    for turn in turns {
        match turn {
            Turn::User(parts) => entries.push(Entry::User { content: content(parts) }),
            Turn::Assistant(said) => entries.push(Entry::Assistant(spoken(said, model))),
            Turn::Results(outcomes) => add_results(outcomes, &mut entries),
        }
    }
    entries
}

fn content<'a>(parts: &'a [Part<'a>]) -> Content<'a> {
    if let [Part::Text(text)] = parts {
        return Content::Text(text);
    }
    Content::Parts(parts.iter().map(piece).collect())
}

fn piece<'a>(part: &'a Part<'a>) -> Piece<'a> {
    match part {
        Part::Text(text) => Piece::Text { text },
        Part::Image { data, mime_type } => {
            Piece::ImageUrl { image_url: ImageUrl { url: format!("data:{mime_type};base64,{data}") } }
        }
    }
}

/// Adds the results of calls. A result is text only, so images follow in a message of the user.
fn add_results<'a>(outcomes: &'a [Outcome<'a>], entries: &mut Vec<Entry<'a>>) {
    let mut images = Vec::new();
    for outcome in outcomes {
        let before = images.len();
        images.extend(outcome.parts.iter().filter(|part| matches!(part, Part::Image { .. })).map(piece));
        let texts: Vec<&str> = outcome
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(&**text),
                Part::Image { .. } => None,
            })
            .collect();
        let content = match &texts[..] {
            [] if images.len() > before => Cow::Borrowed("(see the attached image)"),
            [] => Cow::Borrowed("(no output)"),
            [text] => Cow::Borrowed(*text),
            texts => Cow::Owned(texts.join("\n")),
        };
        entries.push(Entry::Tool { tool_call_id: call_id(outcome.call_id), content });
    }
    if !images.is_empty() {
        images.insert(0, Piece::Text { text: "The images of the tool results:" });
        entries.push(Entry::User { content: Content::Parts(images) });
    }
}

fn spoken<'a>(said: &'a [Said<'a>], model: &Model) -> Spoken<'a> {
    let mut spoken = Spoken::default();
    for piece in said {
        match piece {
            Said::Text(text) => match &mut spoken.content {
                Some(content) => content.to_mut().push_str(text),
                None => spoken.content = Some(Cow::Borrowed(text)),
            },
            Said::Thinking(block) => {
                let field = block.thinking_signature.as_deref().unwrap_or(THINKING_FIELDS[0]);
                let field = match field {
                    "reasoning" => &mut spoken.reasoning,
                    "reasoning_text" => &mut spoken.reasoning_text,
                    _ => &mut spoken.reasoning_content,
                };
                field.get_or_insert_default().push_str(&block.thinking);
            }
            Said::Call(call) => spoken.tool_calls.push(Call {
                id: call_id(&call.id),
                kind: "function",
                function: CalledFunction {
                    name: &call.name,
                    arguments: serde_json::to_string(&call.arguments).unwrap_or_default(),
                },
            }),
        }
    }
    if spoken.content.is_none() && spoken.tool_calls.is_empty() {
        spoken.content = Some(Cow::Borrowed(""));
    }
    if flag(model, "requiresReasoningContentOnAssistantMessages") == Some(true) {
        spoken.reasoning_content.get_or_insert_default();
    }
    spoken
}

/// Returns a call's id. Those of OpenAI's other API have two parts, of which this one knows the first.
fn call_id(id: &str) -> &str {
    id.split_once('|').map_or(id, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::tests::messages;
    use crate::credentials::{Credential, Scheme};
    use crate::output_limit::tests::request;
    use serde_json::json;

    fn http(request: &ModelRequest) -> HttpRequest {
        let credential =
            Credential { secret: Secret::new("key"), scheme: Scheme::Key, origin: String::new() };
        let endpoint = Endpoint {
            base_url: "http://h/v1".into(),
            headers: Vec::new(),
            credential: Some(credential),
            auth_header: false,
        };
        build(request, &endpoint).unwrap()
    }

    fn body(request: &ModelRequest) -> Value {
        serde_json::from_slice(&http(request).body).unwrap()
    }

    #[test]
    fn a_conversation_is_spelled_as_the_api_wants() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let conversation = json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            {"role": "assistant", "api": "openai-completions", "provider": "p", "model": "m", "stopReason": "toolUse",
             "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning"},
                {"type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": {"path": "x"}},
                {"type": "toolCall", "id": "call_2", "name": "ls", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "call_1|fc_1", "toolName": "read", "isError": false, "content": [image]},
            {"role": "toolResult", "toolCallId": "call_2", "toolName": "ls", "isError": false, "content": []},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ]);
        let tool = ToolDefinition {
            name: "ls".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        };
        let request = ModelRequest {
            system: "sys".into(),
            messages: messages(conversation),
            tools: vec![tool].into(),
            ..request(json!({"api": "openai-completions", "input": ["text", "image"], "reasoning": false}))
        };
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}});
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let expected = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "sys"},
                {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
                {"role": "assistant", "content": null, "reasoning": "hm",
                 "tool_calls": [call("call_1", "read", "{\"path\":\"x\"}"), call("call_2", "ls", "{}")]},
                {"role": "tool", "tool_call_id": "call_1", "content": "(see the attached image)"},
                {"role": "tool", "tool_call_id": "call_2", "content": "(no output)"},
                {"role": "user", "content": [{"type": "text", "text": "The images of the tool results:"}, picture]},
                {"role": "assistant", "content": "ab"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 32000,
            "tools": [{"type": "function", "function": {"name": "ls", "description": "d", "parameters": {"type": "object"}}}],
        });
        assert_eq!(body(&request), expected);
        let http = http(&request);
        assert_eq!(http.url, "http://h/v1/chat/completions");
        let key = http.headers.iter().find(|(name, _)| name == "authorization");
        assert_eq!(key.unwrap().1.expose(), "Bearer key");
    }

    #[test]
    fn flags_change_the_request() {
        let compat = json!({"compat": {
            "maxTokensField": "max_tokens", "supportsDeveloperRole": true, "supportsStore": true,
            "supportsUsageInStreaming": false, "requiresReasoningContentOnAssistantMessages": true}});
        let conversation = json!([{"role": "assistant", "content": [{"type": "text", "text": "a"}]}]);
        let request =
            ModelRequest { system: "sys".into(), messages: messages(conversation), ..request(compat) };
        let expected = json!({
            "model": "m", "stream": true, "store": false, "max_tokens": 32000,
            "messages": [
                {"role": "developer", "content": "sys"},
                {"role": "assistant", "content": "a", "reasoning_content": ""},
            ],
        });
        assert_eq!(body(&request), expected);
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    #[track_caller]
    fn check_effort(model: Value, level: ThinkingLevel, effort: Value, reasoning: Value) {
        let body = body(&ModelRequest { thinking: level, ..request(model) });
        assert_eq!((&body["reasoning_effort"], &body["reasoning"]), (&effort, &reasoning));
    }

    #[test]
    fn thinking_is_an_effort() {
        use ThinkingLevel::{High, Low, Off};
        check_effort(json!({}), High, json!("high"), Value::Null);
        check_effort(json!({}), Off, Value::Null, Value::Null);
        check_effort(json!({"thinkingLevelMap": {"off": "none"}}), Off, json!("none"), Value::Null);
        check_effort(json!({"thinkingLevelMap": {"low": null, "medium": "m"}}), Low, json!("m"), Value::Null);
        check_effort(json!({"reasoning": false}), High, Value::Null, Value::Null);
        check_effort(json!({"compat": {"supportsReasoningEffort": false}}), High, Value::Null, Value::Null);
        check_effort(json!({"compat": {"thinkingFormat": "unheard"}}), High, Value::Null, Value::Null);
        let router = json!({"compat": {"thinkingFormat": "openrouter"}});
        check_effort(router, High, Value::Null, json!({"effort": "high"}));
    }
}
