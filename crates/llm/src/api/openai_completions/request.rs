//! Builds the request.

use std::borrow::Cow;

use bowline_core::stream::StreamError;
use bowline_core::{Model, ToolDefinition};
use serde::Serialize;
use serde_json::Value;

use super::Server;
use super::messages::{self, CacheControl, Entry};
use super::thinking::{self, Thinking};
use crate::api::strict_arguments::{self, Support};
use crate::api::{Endpoint, HttpRequest, bearer, compat, flag, output_format, setting, to_body, tool_schema};
use crate::conversation;
use crate::output_limit::output_limit;
use crate::request::ModelRequest;
use crate::secret::Secret;

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
    /// Asks Z.ai to stream the arguments of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    /// Which of its upstream providers OpenRouter may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat>,
    #[serde(flatten)]
    thinking: Thinking<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    JsonSchema { json_schema: NamedSchema },
}

#[derive(Serialize)]
struct NamedSchema {
    name: &'static str,
    strict: bool,
    schema: Value,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Returns the request to a server with OpenAI's API.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    build_for(Server::OpenAi, request, endpoint)
}

/// Returns the request to a kind of server.
pub(in crate::api) fn build_for(
    server: Server,
    request: &ModelRequest,
    endpoint: &Endpoint,
) -> Result<HttpRequest, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns_with_ids(request, server.ids());
    let limit = output_limit(request, &turns);
    let mistral = server == Server::Mistral;
    let old_field = mistral || setting(model, "maxTokensField") == Some("max_tokens");
    let marks = request.cache && setting(model, "cacheControlFormat") == Some("anthropic");
    let mut messages = messages::entries(&request.system, &turns, model, server);
    if marks {
        messages::mark_for_caching(&mut messages);
    }
    let body = to_body(&Body {
        model: &model.id,
        messages,
        stream: true,
        // Mistral rejects unknown fields, and reports usage without being asked.
        stream_options: (!mistral && flag(model, "supportsUsageInStreaming") != Some(false))
            .then_some(StreamOptions { include_usage: true }),
        // `false` is the default anyway, and servers that do not know the field may reject it.
        store: (flag(model, "supportsStore") == Some(true)).then_some(false),
        max_tokens: old_field.then_some(limit),
        max_completion_tokens: (!old_field).then_some(limit),
        tools: tools(&request.tools, model, server, marks)?,
        tool_stream: (flag(model, "zaiToolStream") == Some(true) && !request.tools.is_empty())
            .then_some(true),
        prompt_cache_key: (mistral && request.cache).then_some(&request.session_id),
        provider: compat(model, "openRouterRouting"),
        response_format: response_format(server, request),
        thinking: thinking::ask(server, model, request.thinking),
    })?;
    let mut headers = Vec::new();
    if let Some(credential) = &endpoint.credential {
        headers.push(("authorization", bearer(&credential.secret)));
    }
    if flag(model, "sendSessionAffinityHeaders") == Some(true) {
        headers.push(("x-session-affinity", Secret::new(&request.session_id)));
    }
    Ok(endpoint.post(server.path(&endpoint.base_url), headers, body))
}

/// Returns the form of the answer. Mistral's models call no tools when they have one.
fn response_format(server: Server, request: &ModelRequest) -> Option<ResponseFormat> {
    let is_mistral = server == Server::Mistral;
    if is_mistral && !request.tools.is_empty() {
        return None;
    }
    let is_known = |model: &Model| match is_mistral {
        true => model.base_url.starts_with("https://api.mistral.ai"),
        false => output_format::is_openai(model),
    };
    let schema = output_format::schema_for(request, is_known)?;
    Some(ResponseFormat::JsonSchema {
        json_schema: NamedSchema { name: output_format::NAME, strict: true, schema },
    })
}

fn tools<'a>(
    definitions: &'a [ToolDefinition],
    model: &Model,
    server: Server,
    marks: bool,
) -> Result<Vec<Tool<'a>>, StreamError> {
    let strict = flag(model, "supportsStrictMode") == Some(true);
    let support = Support::usual_if(strict || server == Server::Mistral);
    let schemas = strict_arguments::schemas(definitions, support)?;
    let tools = definitions.iter().zip(schemas).enumerate().map(|(index, (definition, schema))| {
        let ToolDefinition { name, description, parameters, .. } = definition;
        // Strict mode requires a closed schema; non-strict is the default.
        let strict = (schema.is_some() || strict && tool_schema::is_strict(parameters)).then_some(true);
        let parameters = schema.map_or(Cow::Borrowed(parameters), Cow::Owned);
        let cache_control = (marks && index + 1 == definitions.len()).then_some(CacheControl::EPHEMERAL);
        Tool { kind: "function", function: Function { name, description, parameters, strict }, cache_control }
    });
    Ok(tools.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Variables;
    use crate::api::output_format::tests as output_format_tests;
    use crate::conversation::tests::messages;
    use crate::credentials::{Credential, Scheme};
    use crate::output_limit::tests::request;
    use serde_json::json;

    fn endpoint() -> Endpoint {
        let credential =
            Credential { secret: Secret::new("key"), scheme: Scheme::Key, origin: String::new() };
        Endpoint {
            base_url: "http://h/v1".into(),
            headers: Vec::new(),
            credential: Some(credential),
            auth_header: false,
            variables: Variables::default(),
        }
    }

    fn http(request: &ModelRequest) -> HttpRequest {
        build(request, &endpoint()).unwrap()
    }

    fn body(request: &ModelRequest) -> Value {
        serde_json::from_slice(&http(request).body).unwrap()
    }

    #[test]
    fn conversation_is_serialised_as_the_api_requires() {
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
            strict: None,
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

    #[test]
    fn more_flags_change_the_request() {
        let compat = json!({"compat": {
            "requiresToolResultName": true, "requiresAssistantAfterToolResult": true, "zaiToolStream": true,
            "requiresThinkingAsText": true, "supportsStrictMode": true, "openRouterRouting": {"only": ["a"]},
            "cacheControlFormat": "anthropic"}, "reasoning": false});
        let conversation = json!([
            {"role": "assistant", "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "c", "toolName": "ls", "isError": false, "content": "x"},
            {"role": "user", "content": "and?"},
        ]);
        let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let tool = ToolDefinition {
            name: "ls".into(),
            description: "d".into(),
            parameters: parameters.clone(),
            strict: None,
        };
        let request = ModelRequest {
            system: "sys".into(),
            messages: messages(conversation),
            tools: vec![tool].into(),
            cache: true,
            ..request(compat)
        };
        let body = body(&request);
        let mark = json!({"type": "ephemeral"});
        let call = json!({"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
        let expected = json!([
            {"role": "system", "content": [{"type": "text", "text": "sys", "cache_control": mark}]},
            {"role": "assistant", "content": "hm", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "name": "ls", "content": "x"},
            {"role": "assistant", "content": "I have the results of the tools."},
            {"role": "user", "content": [{"type": "text", "text": "and?", "cache_control": mark}]},
        ]);
        assert_eq!(body["messages"], expected);
        let function = json!({"name": "ls", "description": "d", "parameters": parameters, "strict": true});
        assert_eq!(body["tools"], json!([{"type": "function", "function": function, "cache_control": mark}]));
        assert_eq!((&body["tool_stream"], &body["provider"]), (&json!(true), &json!({"only": ["a"]})));
    }

    #[test]
    fn output_schema_is_the_response_format() {
        let asking =
            |compat: Value, has_tool| output_format_tests::asking(json!({"compat": compat}), has_tool);
        let schema = output_format_tests::sample();
        let format = json!({"type": "json_schema", "json_schema": {"name": "output", "strict": true, "schema": schema}});
        let body_of = |request: &ModelRequest| body(request);
        let with_tool = body_of(&asking(json!({"supportsOutputSchema": true}), true));
        assert_eq!(
            (&with_tool["response_format"], with_tool["tools"].as_array().unwrap().len()),
            (&format, 1)
        );
        assert!(with_tool.get("tool_choice").is_none(), "tools can still be called");
        assert_eq!(body_of(&asking(json!({}), true)).get("response_format"), None);
        let mistral = |has_tool| {
            let request = asking(json!({"supportsOutputSchema": true}), has_tool);
            let http = build_for(Server::Mistral, &request, &endpoint()).unwrap();
            serde_json::from_slice::<Value>(&http.body).unwrap()
        };
        assert_eq!(mistral(false)["response_format"], format);
        assert_eq!(mistral(true).get("response_format"), None, "it could not call its tools");
    }

    #[test]
    fn mistral_has_separate_rules() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let model = json!({"api": "mistral-conversations", "input": ["text", "image"]});
        let conversation = json!([
            {"role": "assistant", "api": "mistral-conversations", "provider": "p", "model": "m", "stopReason": "toolUse", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "thinking"},
                {"type": "text", "text": "look"},
                {"type": "toolCall", "id": "toolu_123456", "name": "ls", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "toolu_123456", "toolName": "ls", "isError": false, "content": [image]},
        ]);
        let request = ModelRequest { messages: messages(conversation), cache: true, ..request(model) };
        let endpoint = Endpoint { base_url: "http://h".into(), ..endpoint() };
        let http = build_for(Server::Mistral, &request, &endpoint).unwrap();
        assert_eq!(http.url, "http://h/v1/chat/completions");
        let body: Value = serde_json::from_slice(&http.body).unwrap();
        let id = body["messages"][1]["tool_call_id"].as_str().unwrap();
        assert!(id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric()), "{id}");
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}});
        let expected = json!({
            "model": "m", "stream": true, "max_tokens": 32000, "prompt_cache_key": "s", "reasoning_effort": "none",
            "messages": [
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "look"}],
                 "tool_calls": [{"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": id, "name": "ls", "content": [picture]},
            ],
        });
        assert_eq!(body, expected);
    }
}
