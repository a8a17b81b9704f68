//! Builds the request.

use std::borrow::Cow;

use bowline_core::message::{Arguments, ThinkingBlock};
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Model, ThinkingLevel, ToolDefinition};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::signature::{AccountKey, Signed, date_header, encode_segment};
use crate::api::claude_budget::claude_budget;
use crate::api::strict_arguments::{self, Support};
use crate::api::{Endpoint, HttpRequest, Variables, bearer, flag, to_body, wanted_level};
use crate::conversation::{self, AnswerPart, Outcome, Part, Turn};
use crate::output_limit::output_limit;
use crate::request::ModelRequest;
use crate::secret::Secret;

/// The default region.
const USUAL_REGION: &str = "us-east-1";
const USUAL_HOST: &str = "bedrock-runtime.us-east-1.amazonaws.com";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Block<'a>; 1]>,
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    max_tokens: u64,
}

#[derive(Serialize)]
struct ToolConfig<'a> {
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    tool_spec: Specification<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Specification<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    input_schema: Schema<'a>,
}

#[derive(Serialize)]
struct Schema<'a> {
    json: Cow<'a, Value>,
}

#[derive(Serialize)]
struct Entry<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Block<'a> {
    Text(&'a str),
    Image(Image<'a>),
    ReasoningContent(Reasoning<'a>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: &'a Arguments,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        status: &'static str,
    },
}

#[derive(Serialize)]
struct Image<'a> {
    format: &'a str,
    source: Source<'a>,
}

#[derive(Serialize)]
struct Source<'a> {
    bytes: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Reasoning<'a> {
    ReasoningText { text: &'a str, signature: &'a str },
    RedactedContent(&'a str),
}

/// Returns the request.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns(request);
    let max_tokens = output_limit(request, &turns);
    let tools = tools(&request.tools, model)?;
    let body = to_body(&Body {
        messages: entries(&turns),
        system: (!request.system.trim().is_empty()).then(|| [Block::Text(&request.system)]),
        inference_config: InferenceConfig { max_tokens },
        tool_config: (!tools.is_empty()).then_some(ToolConfig { tools }),
        additional_model_request_fields: thinking(
            model,
            request.thinking,
            request.options.budgets,
            max_tokens,
        ),
    })?;
    let path = format!("/model/{}/converse-stream", encode_segment(&model.id));
    let base_url = regional(&endpoint.base_url, &endpoint.variables);
    let headers = authorize(endpoint, &base_url, &path, &body, crate::failure::now())?;
    let mut http = endpoint.post("", headers, body);
    http.url = format!("{}{path}", base_url.trim_end_matches('/'));
    for (name, value) in &mut http.headers {
        if name == "accept" {
            *value = Secret::new("application/vnd.amazon.eventstream");
        }
    }
    Ok(http)
}

/// Returns the headers that authenticate: a bearer token if there is one, else a signature with the account's key.
fn authorize(
    endpoint: &Endpoint,
    base_url: &str,
    path: &str,
    body: &[u8],
    time: Timestamp,
) -> Result<Vec<(&'static str, Secret)>, StreamError> {
    let variables = &endpoint.variables;
    // The id of an account's key may stand for the whole key; it is not a token.
    let id = variables.get("AWS_ACCESS_KEY_ID");
    let given = endpoint.credential.as_ref().map(|credential| credential.secret.clone());
    let given = given.filter(|secret| Some(secret.expose()) != id);
    if let Some(token) = given.or_else(|| variables.get("AWS_BEARER_TOKEN_BEDROCK").map(Secret::new)) {
        return Ok(vec![("authorization", bearer(&token))]);
    }
    let keys = id.zip(variables.get("AWS_SECRET_ACCESS_KEY"));
    let Some((id, secret)) = keys else {
        let message = "There is no key for Amazon Bedrock. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
        return Err(StreamError::new(FailureKind::Authentication, message));
    };
    let host = host(base_url);
    let region = region(host, variables);
    let date = date_header(time);
    let mut signed = vec![("content-type", "application/json"), ("host", host), ("x-amz-date", &*date)];
    let session = variables.get("AWS_SESSION_TOKEN");
    signed.extend(session.map(|token| ("x-amz-security-token", token)));
    let below = base_url.trim_end_matches('/').split_once(host).map_or("", |(_, path)| path);
    let path = format!("{below}{path}");
    let signed = Signed { region, service: "bedrock", path: &path, headers: &signed, body, time };
    let authorization = signed.authorization(&AccountKey { id, secret: Secret::new(secret) });
    let mut headers = vec![("authorization", authorization), ("x-amz-date", Secret::new(date))];
    headers.extend(session.map(|token| ("x-amz-security-token", Secret::new(token))));
    Ok(headers)
}

/// Returns the address in the user's region. The catalog's address stands for all regions; any other was chosen.
fn regional<'a>(base_url: &'a str, variables: &Variables) -> Cow<'a, str> {
    let region = variables.get("AWS_REGION").or_else(|| variables.get("AWS_DEFAULT_REGION"));
    match region {
        Some(region) if host(base_url) == USUAL_HOST => Cow::Owned(base_url.replace(USUAL_REGION, region)),
        _ => Cow::Borrowed(base_url),
    }
}

/// Returns the host of a URL with its port, as in the header.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

/// Returns the region: the one in the host name, else the environment's.
fn region<'a>(host: &'a str, variables: &'a Variables) -> &'a str {
    let named = host.strip_prefix("bedrock-runtime.").and_then(|rest| rest.split('.').next());
    named
        .or_else(|| variables.get("AWS_REGION"))
        .or_else(|| variables.get("AWS_DEFAULT_REGION"))
        .unwrap_or(USUAL_REGION)
}

fn tools<'a>(definitions: &'a [ToolDefinition], model: &Model) -> Result<Vec<Tool<'a>>, StreamError> {
    let is_strict = flag(model, "supportsStrictMode") == Some(true);
    let support = if is_strict { Support::Claude } else { Support::Absent };
    let schemas = strict_arguments::schemas(definitions, support)?;
    let tools = definitions.iter().zip(schemas).map(|(definition, schema)| {
        let ToolDefinition { name, description, parameters, .. } = definition;
        let strict = schema.is_some().then_some(true);
        let input_schema = Schema { json: schema.map_or(Cow::Borrowed(parameters), Cow::Owned) };
        Tool { tool_spec: Specification { name, description, strict, input_schema } }
    });
    Ok(tools.collect())
}

/// Returns how to request thinking. The API has no field for it; only that of Anthropic's models is known here.
fn thinking(model: &Model, level: ThinkingLevel, budgets: ThinkingBudgets, max_tokens: u64) -> Option<Value> {
    let (level, word) = wanted_level(model, level)?;
    if level == ThinkingLevel::Off || !model.id.contains("claude") {
        return None;
    }
    // Models with levels above the usual think adaptively, guided by an effort.
    if model.thinking_level_map.is_some() {
        let effort = word.unwrap_or(match level {
            ThinkingLevel::Minimal => "low",
            level => level.as_str(),
        });
        return Some(json!({
            "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}
        }));
    }
    let budget = claude_budget(level, budgets, max_tokens)?;
    Some(json!({"thinking": {"type": "enabled", "budget_tokens": budget}}))
}

/// Returns the budget that is sent at a level, unless the conversation leaves less room.
pub(super) fn budget(model: &Model, level: ThinkingLevel, budgets: ThinkingBudgets) -> Option<u64> {
    thinking(model, level, budgets, model.max_tokens)?["thinking"]["budget_tokens"].as_u64()
}

/// Returns the messages. The API requires alternating user and assistant messages; results belong to the user.
fn entries<'a>(turns: &'a [Turn<'a>]) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for turn in turns {
        let (role, content) = match turn {
            Turn::User(parts) => ("user", parts.iter().map(block).collect()),
            Turn::Results(outcomes) => ("user", outcomes.iter().map(result).collect::<Vec<_>>()),
            Turn::Assistant(pieces) => ("assistant", pieces.iter().filter_map(answer_block).collect()),
        };
        match entries.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => entries.push(Entry { role, content }),
        }
    }
    entries
}

fn block<'a>(part: &'a Part<'a>) -> Block<'a> {
    match part {
        Part::Text(text) => Block::Text(text),
        Part::Image { data, mime_type } => {
            let format = mime_type.strip_prefix("image/").unwrap_or(mime_type);
            let format = if format == "jpg" { "jpeg" } else { format };
            Block::Image(Image { format, source: Source { bytes: data } })
        }
    }
}

fn result<'a>(outcome: &'a Outcome<'a>) -> Block<'a> {
    let mut content: Vec<Block<'a>> = outcome.parts.iter().map(block).collect();
    if content.is_empty() {
        content.push(Block::Text("(no output)"));
    }
    let status = if outcome.is_error { "error" } else { "success" };
    Block::ToolResult { tool_use_id: &outcome.call_id, content, status }
}

fn answer_block<'a>(piece: &'a AnswerPart<'a>) -> Option<Block<'a>> {
    match piece {
        AnswerPart::Text { text, .. } => Some(Block::Text(text)),
        AnswerPart::Thinking(block) => thinking_block(block),
        AnswerPart::Call(call) => {
            Some(Block::ToolUse { tool_use_id: &call.id, name: call.name, input: call.arguments })
        }
    }
}

/// Returns thinking as the API accepts it back: signed, or else as text.
fn thinking_block(block: &ThinkingBlock) -> Option<Block<'_>> {
    let text = block.thinking.as_str();
    match (&block.thinking_signature, block.redacted) {
        (Some(data), Some(true)) => Some(Block::ReasoningContent(Reasoning::RedactedContent(data))),
        (Some(signature), _) => Some(Block::ReasoningContent(Reasoning::ReasoningText { text, signature })),
        (None, _) if text.trim().is_empty() => None,
        (None, _) => Some(Block::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::tests::messages;
    use crate::credentials::{Credential, Scheme};
    use crate::output_limit::tests::request;

    fn endpoint(pairs: &[(&str, &str)], key: Option<&str>) -> Endpoint {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Endpoint {
            base_url: "https://bedrock-runtime.eu-central-1.amazonaws.com".into(),
            headers: Vec::new(),
            credential: key.map(|key| Credential {
                secret: Secret::new(key),
                scheme: Scheme::Key,
                origin: String::new(),
            }),
            auth_header: false,
            variables: Variables::of(&environment.collect()),
        }
    }

    fn header(http: &HttpRequest, wanted: &str) -> Option<String> {
        let found = http.headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.expose().to_owned())
    }

    const KEYS: [(&str, &str); 3] = [
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session"),
    ];

    #[test]
    fn request_is_signed_or_has_a_token() {
        let asked = request(json!({"id": "eu.anthropic.claude-v1:0"}));
        let http = build(&asked, &endpoint(&KEYS, None)).unwrap();
        assert_eq!(
            http.url,
            "https://bedrock-runtime.eu-central-1.amazonaws.com/model/eu.anthropic.claude-v1%3A0/converse-stream"
        );
        let signature = header(&http, "authorization").unwrap();
        assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{signature}");
        assert!(signature.contains("/eu-central-1/bedrock/aws4_request"), "{signature}");
        let names = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,";
        assert!(signature.contains(names), "{signature}");
        assert_eq!(header(&http, "x-amz-security-token").as_deref(), Some("session"));
        assert_eq!(header(&http, "content-type").as_deref(), Some("application/json"));
        assert_eq!(header(&http, "accept").as_deref(), Some("application/vnd.amazon.eventstream"));
        let http = build(&asked, &endpoint(&KEYS, Some("token"))).unwrap();
        assert_eq!(header(&http, "authorization").as_deref(), Some("Bearer token"));
        let token = [("AWS_BEARER_TOKEN_BEDROCK", "other")];
        let http = build(&asked, &endpoint(&token, None)).unwrap();
        assert_eq!(header(&http, "authorization").as_deref(), Some("Bearer other"));
        let http = build(&asked, &endpoint(&KEYS, Some("AKID"))).unwrap();
        assert!(header(&http, "authorization").unwrap().starts_with("AWS4"));
        let error = build(&asked, &endpoint(&[], None)).unwrap_err();
        assert_eq!(error.kind, FailureKind::Authentication);
    }

    #[test]
    fn region_is_the_users_unless_the_address_names_another() {
        let region = |base_url: &str, name: &str| {
            let [id, secret, _] = KEYS;
            let endpoint =
                Endpoint { base_url: base_url.into(), ..endpoint(&[id, secret, ("AWS_REGION", name)], None) };
            let http = build(&request(json!({})), &endpoint).unwrap();
            let signature = header(&http, "authorization").unwrap();
            (http.url, signature.split('/').nth(2).unwrap().to_owned())
        };
        let usual = "https://bedrock-runtime.us-east-1.amazonaws.com";
        let moved = "https://bedrock-runtime.eu-west-3.amazonaws.com/model/m/converse-stream";
        assert_eq!(region(usual, "eu-west-3"), (moved.to_owned(), "eu-west-3".to_owned()));
        let fixed = "https://bedrock-runtime.eu-central-1.amazonaws.com";
        assert_eq!(region(fixed, "eu-west-3").1, "eu-central-1");
        assert_eq!(region("http://127.0.0.1:9/x", "eu-west-3").1, "eu-west-3");
    }

    #[test]
    fn conversation_is_serialised_as_the_api_requires() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/jpg"});
        let conversation = json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            {"role": "assistant", "api": "bedrock-converse-stream", "provider": "p", "model": "claude", "stopReason": "toolUse",
             "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "enc", "redacted": true},
                {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "x"}}]},
            {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "isError": true, "content": []},
            {"role": "user", "content": "go on"},
        ]);
        let parameters = json!({"type": "object"});
        let tool = ToolDefinition { name: "read".into(), description: "d".into(), parameters, strict: None };
        let model = json!({"id": "claude", "api": "bedrock-converse-stream", "input": ["text", "image"]});
        let request = ModelRequest {
            system: "sys".into(),
            messages: messages(conversation),
            tools: vec![tool].into(),
            thinking: ThinkingLevel::Low,
            ..request(model)
        };
        let http = build(&request, &endpoint(&KEYS, None)).unwrap();
        let expected = json!({
            "system": [{"text": "sys"}],
            "messages": [
                {"role": "user", "content": [{"text": "look"}, {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                    {"reasoningContent": {"redactedContent": "enc"}},
                    {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "x"}}}]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "(no output)"}], "status": "error"}},
                    {"text": "go on"}]},
            ],
            "inferenceConfig": {"maxTokens": 32000},
            "toolConfig": {"tools": [{"toolSpec": {"name": "read", "description": "d", "inputSchema": {"json": {"type": "object"}}}}]},
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        });
        assert_eq!(serde_json::from_slice::<Value>(&http.body).unwrap(), expected);
    }
}
