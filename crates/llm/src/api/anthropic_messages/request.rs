//! Builds the request.

use std::borrow::Cow;

use bowline_core::message::{Arguments, ThinkingBlock};
use bowline_core::stream::StreamError;
use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Model, ThinkingLevel, ToolDefinition};
use serde::Serialize;
use serde_json::Value;

use crate::api::claude_budget::claude_budget;
use crate::api::strict_arguments::{self, Support};
use crate::api::{Endpoint, HttpRequest, bearer, flag, output_format, to_body, wanted_level};
use crate::conversation::{self, AnswerPart, Outcome, Part, Turn};
use crate::credentials::Scheme;
use crate::output_limit::output_limit;
use crate::request::ModelRequest;
use crate::secret::Secret;

const VERSION: &str = "2023-06-01";
/// Lets a model with a thinking budget think between tool calls; adaptive models do so anyway.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Lets the token of a login replace a key.
const LOGIN: &str = "oauth-2025-04-20";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Block<'a>; 1]>,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text { text: Cow<'a, str> },
    Image { source: Source<'a> },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a Arguments },
    ToolResult { tool_use_id: &'a str, content: Vec<Block<'a>>, is_error: bool },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Enabled {
        budget_tokens: u64,
    },
    /// Newer models hide their thinking unless asked for a summary.
    Adaptive {
        display: &'static str,
    },
    Disabled,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat {
    JsonSchema { schema: Value },
}

/// Returns the request.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns(request);
    let max_tokens = output_limit(request, &turns);
    let (thinking, effort) = thinking(model, request.thinking, request.options.budgets, max_tokens);
    let format = output_format::schema_for(request, keeps_to_schemas);
    let format = format.map(|schema| OutputFormat::JsonSchema { schema });
    let has_output_config = effort.is_some() || format.is_some();
    let betas = betas(thinking.as_ref(), endpoint);
    let mut messages = entries(&turns, model);
    if request.cache {
        let last = messages.iter_mut().rfind(|entry| entry.role == "user");
        if let Some(block) = last.and_then(|entry| entry.content.last_mut()) {
            block.cache_control = cache_control(true);
        }
    }
    let system = (!request.system.trim().is_empty()).then(|| {
        let kind = Kind::Text { text: Cow::Borrowed(&*request.system) };
        [Block { kind, cache_control: cache_control(request.cache) }]
    });
    let body = to_body(&Body {
        model: &model.id,
        max_tokens,
        stream: true,
        system,
        messages,
        tools: tools(
            &request.tools,
            has_strict_tools(model),
            request.cache && flag(model, "supportsCacheControlOnTools") != Some(false),
        )?,
        thinking,
        output_config: has_output_config.then_some(OutputConfig { effort, format }),
    })?;
    let mut headers = vec![("anthropic-version", Secret::new(VERSION))];
    headers.extend(key_headers(endpoint, &model.provider));
    if !betas.is_empty() {
        headers.push(("anthropic-beta", Secret::new(betas.join(","))));
    }
    if flag(model, "sendSessionAffinityHeaders") == Some(true) {
        headers.push(("x-session-affinity", Secret::new(&request.session_id)));
    }
    Ok(endpoint.post("/v1/messages", headers, body))
}

/// Tells whether a model is one of Anthropic's that keeps its answers to a schema: those that do so with the arguments of
/// tools.
fn keeps_to_schemas(model: &Model) -> bool {
    model.base_url.starts_with("https://api.anthropic.com") && has_strict_tools(model)
}

fn has_strict_tools(model: &Model) -> bool {
    flag(model, "supportsStrictTools") == Some(true)
}

/// Returns the headers that carry the key.
fn key_headers(endpoint: &Endpoint, provider: &str) -> Vec<(&'static str, Secret)> {
    let Some(credential) = &endpoint.credential else { return Vec::new() };
    let token = ("authorization", bearer(&credential.secret));
    // OpenRouter accepts only bearer tokens, on this API too.
    if is_login(endpoint) || credential.scheme == Scheme::Bearer || provider == "openrouter" {
        return vec![token];
    }
    let key = ("x-api-key", credential.secret.clone());
    if endpoint.auth_header { vec![key, token] } else { vec![key] }
}

/// Returns whether the key is the token of a login; those have a distinctive prefix, wherever they come from.
fn is_login(endpoint: &Endpoint) -> bool {
    endpoint.credential.as_ref().is_some_and(|credential| {
        credential.scheme == Scheme::Login || credential.secret.expose().starts_with("sk-ant-oat")
    })
}

fn betas(thinking: Option<&Thinking>, endpoint: &Endpoint) -> Vec<&'static str> {
    let mut betas = Vec::new();
    if is_login(endpoint) {
        betas.push(LOGIN);
    }
    if let Some(Thinking::Enabled { .. }) = thinking {
        betas.push(INTERLEAVED);
    }
    betas
}

/// Returns how to request thinking: by effort if the model supports it, else by a budget that leaves room for the
/// answer.
fn thinking(
    model: &Model,
    level: ThinkingLevel,
    budgets: ThinkingBudgets,
    max_tokens: u64,
) -> (Option<Thinking>, Option<&str>) {
    let Some((level, word)) = wanted_level(model, level) else { return (None, None) };
    if level == ThinkingLevel::Off {
        return (Some(Thinking::Disabled), None);
    }
    if flag(model, "forceAdaptiveThinking") == Some(true) {
        let effort = word.unwrap_or(effort(level));
        return (Some(Thinking::Adaptive { display: "summarized" }), Some(effort));
    }
    match claude_budget(level, budgets, max_tokens) {
        Some(budget_tokens) => (Some(Thinking::Enabled { budget_tokens }), None),
        None => (Some(Thinking::Disabled), None),
    }
}

/// Returns the budget that is sent at a level, unless the conversation leaves less room.
pub(super) fn budget(model: &Model, level: ThinkingLevel, budgets: ThinkingBudgets) -> Option<u64> {
    match thinking(model, level, budgets, model.max_tokens).0 {
        Some(Thinking::Enabled { budget_tokens }) => Some(budget_tokens),
        _ => None,
    }
}

/// Returns the API's name for a level. It has none below `low`.
fn effort(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => "low",
        other => other.as_str(),
    }
}

fn cache_control(cache: bool) -> Option<CacheControl> {
    cache.then_some(CacheControl { kind: "ephemeral" })
}

fn tools(definitions: &[ToolDefinition], strict: bool, cache: bool) -> Result<Vec<Tool<'_>>, StreamError> {
    let support = if strict { Support::Claude } else { Support::Absent };
    let schemas = strict_arguments::schemas(definitions, support)?;
    let last = definitions.len();
    let tools = definitions.iter().zip(schemas).enumerate().map(|(index, (tool, schema))| Tool {
        name: &tool.name,
        description: &tool.description,
        strict: schema.is_some().then_some(true),
        input_schema: schema.map_or(Cow::Borrowed(&tool.parameters), Cow::Owned),
        cache_control: cache_control(cache && index + 1 == last),
    });
    Ok(tools.collect())
}

/// Returns the messages. The API requires alternating user and assistant messages; results belong to the user.
fn entries<'a>(turns: &'a [Turn<'a>], model: &Model) -> Vec<Entry<'a>> {
    let unsigned = flag(model, "allowEmptySignature") == Some(true);
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for turn in turns {
        let (role, content) = match turn {
            Turn::User(parts) => ("user", blocks(parts)),
            Turn::Results(outcomes) => ("user", outcomes.iter().map(result).collect()),
            Turn::Assistant(pieces) => {
                ("assistant", pieces.iter().filter_map(|piece| answer_block(piece, unsigned)).collect())
            }
        };
        match entries.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => entries.push(Entry { role, content }),
        }
    }
    entries
}

fn blocks<'a>(parts: &'a [Part<'a>]) -> Vec<Block<'a>> {
    let kinds = parts.iter().map(|part| match part {
        Part::Text(text) => Kind::Text { text: Cow::Borrowed(text) },
        Part::Image { data, mime_type } => {
            Kind::Image { source: Source { kind: "base64", media_type: mime_type, data } }
        }
    });
    kinds.map(plain).collect()
}

fn plain(kind: Kind<'_>) -> Block<'_> {
    Block { kind, cache_control: None }
}

fn result<'a>(outcome: &'a Outcome<'a>) -> Block<'a> {
    let content = blocks(&outcome.parts);
    plain(Kind::ToolResult { tool_use_id: &outcome.call_id, content, is_error: outcome.is_error })
}

fn answer_block<'a>(piece: &'a AnswerPart<'a>, unsigned: bool) -> Option<Block<'a>> {
    let kind = match piece {
        AnswerPart::Text { text, .. } => Kind::Text { text: Cow::Borrowed(text) },
        AnswerPart::Thinking(block) => thinking_block(block, unsigned)?,
        AnswerPart::Call(call) => Kind::ToolUse { id: &call.id, name: call.name, input: call.arguments },
    };
    Some(plain(kind))
}

/// Returns thinking as the API accepts it back. Thinking without its signature is refused, so it becomes text.
fn thinking_block(block: &ThinkingBlock, unsigned: bool) -> Option<Kind<'_>> {
    match (&block.thinking_signature, block.redacted) {
        (Some(data), Some(true)) => Some(Kind::RedactedThinking { data }),
        (Some(signature), _) => Some(Kind::Thinking { thinking: &block.thinking, signature }),
        (None, _) if unsigned => Some(Kind::Thinking { thinking: &block.thinking, signature: "" }),
        (None, _) if block.thinking.trim().is_empty() => None,
        (None, _) => Some(Kind::Text { text: Cow::Borrowed(&block.thinking) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Variables;
    use crate::api::output_format::tests as output_format_tests;
    use crate::conversation::tests::messages;
    use crate::credentials::Credential;
    use crate::output_limit::tests::request;
    use serde_json::json;

    fn endpoint(scheme: Scheme) -> Endpoint {
        let credential = Credential { secret: Secret::new("key"), scheme, origin: String::new() };
        Endpoint {
            base_url: "http://h/".into(),
            headers: vec![("X-Own".into(), Secret::new("o"))],
            credential: Some(credential),
            auth_header: false,
            variables: Variables::default(),
        }
    }

    fn body(request: &ModelRequest) -> Value {
        serde_json::from_slice(&build(request, &endpoint(Scheme::Key)).unwrap().body).unwrap()
    }

    fn header(http: &HttpRequest, wanted: &str) -> Option<String> {
        let found = http.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.expose().to_owned())
    }

    #[test]
    fn output_schema_is_in_the_output_config() {
        let schema = output_format_tests::sample();
        let format = json!({"type": "json_schema", "schema": schema});
        let config = |model: Value| {
            let body = body(&output_format_tests::asking(model, true));
            assert_eq!(body["tools"].as_array().unwrap().len(), 1);
            body.get("output_config").cloned()
        };
        assert_eq!(
            config(json!({"compat": {"supportsOutputSchema": true}})),
            Some(json!({"format": format}))
        );
        let at_home = |url: &str, works: bool| {
            config(json!({"baseUrl": url, "compat": {"supportsStrictTools": works}}))
        };
        assert_eq!(at_home("https://api.anthropic.com", true), Some(json!({"format": format})));
        assert_eq!(at_home("https://api.anthropic.com", false), None);
        assert_eq!(at_home("http://localhost", true), None);
        let adaptive = json!({"compat": {"supportsOutputSchema": true, "forceAdaptiveThinking": true}});
        let request =
            ModelRequest { thinking: ThinkingLevel::High, ..output_format_tests::asking(adaptive, false) };
        assert_eq!(body(&request)["output_config"], json!({"effort": "high", "format": format}));
    }

    #[test]
    fn conversation_is_serialised_as_the_api_requires() {
        let model = json!({"api": "anthropic-messages", "input": ["text", "image"]});
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let conversation = json!([
            {"role": "user", "content": "one"},
            {"role": "user", "content": "two"},
            {"role": "assistant", "api": "anthropic-messages", "provider": "p", "model": "m", "stopReason": "toolUse",
             "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "enc", "redacted": true},
                {"type": "text", "text": "look"},
                {"type": "toolCall", "id": "a|b", "name": "read", "arguments": {"path": "x"}}]},
            {"role": "toolResult", "toolCallId": "a|b", "toolName": "read", "isError": true,
             "content": [{"type": "text", "text": "no"}, image]},
            {"role": "user", "content": "three"},
        ]);
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
            strict: None,
        };
        let request = ModelRequest {
            system: "sys".into(),
            messages: messages(conversation),
            tools: vec![tool("read"), tool("ls")].into(),
            cache: true,
            ..request(model)
        };
        let cached = json!({"type": "ephemeral"});
        let expected = json!({
            "model": "m", "max_tokens": 32000, "stream": true,
            "system": [{"type": "text", "text": "sys", "cache_control": cached}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "enc"},
                    {"type": "text", "text": "look"},
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [
                        {"type": "text", "text": "no"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]},
                    {"type": "text", "text": "three", "cache_control": cached}]},
            ],
            "tools": [
                {"name": "read", "description": "d", "input_schema": {"type": "object"}},
                {"name": "ls", "description": "d", "input_schema": {"type": "object"}, "cache_control": cached},
            ],
            "thinking": {"type": "disabled"},
        });
        assert_eq!(body(&request), expected);
    }

    #[test]
    fn key_is_sent_in_the_right_header() {
        let request = request(json!({}));
        let with = |scheme| build(&request, &endpoint(scheme)).unwrap();
        let http = with(Scheme::Key);
        assert_eq!(http.url, "http://h/v1/messages");
        assert_eq!(header(&http, "x-api-key").as_deref(), Some("key"));
        assert_eq!(header(&http, "authorization"), None);
        assert_eq!(header(&http, "anthropic-version").as_deref(), Some(VERSION));
        assert_eq!(header(&http, "x-own").as_deref(), Some("o"));
        let http = with(Scheme::Login);
        assert_eq!(header(&http, "x-api-key"), None);
        assert_eq!(header(&http, "authorization").as_deref(), Some("Bearer key"));
        assert_eq!(header(&http, "anthropic-beta").as_deref(), Some(LOGIN));
        let both = build(&request, &Endpoint { auth_header: true, ..endpoint(Scheme::Key) }).unwrap();
        assert!(header(&both, "x-api-key").is_some() && header(&both, "authorization").is_some());
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    #[track_caller]
    fn check_thinking(model: Value, level: ThinkingLevel, thinking: Value, effort: Value) {
        let request = ModelRequest { thinking: level, ..request(model) };
        let body = body(&request);
        assert_eq!((&body["thinking"], &body["output_config"]["effort"]), (&thinking, &effort));
    }

    #[test]
    fn thinking_is_a_budget_or_an_effort() {
        use ThinkingLevel::{High, Max, Medium, Minimal, Off};
        let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
        check_thinking(json!({"reasoning": false}), High, Value::Null, Value::Null);
        check_thinking(json!({}), Off, json!({"type": "disabled"}), Value::Null);
        check_thinking(json!({}), Minimal, budget(1024), Value::Null);
        check_thinking(json!({}), Max, budget(16384), Value::Null);
        check_thinking(json!({"maxTokens": 4096}), Medium, budget(3072), Value::Null);
        check_thinking(json!({"maxTokens": 2000}), Medium, json!({"type": "disabled"}), Value::Null);
        let adaptive = json!({"type": "adaptive", "display": "summarized"});
        let compat = json!({"compat": {"forceAdaptiveThinking": true}, "thinkingLevelMap": {"off": null, "max": "max"}});
        check_thinking(compat.clone(), Max, adaptive.clone(), json!("max"));
        check_thinking(compat, Off, adaptive, json!("low"));
    }
}
