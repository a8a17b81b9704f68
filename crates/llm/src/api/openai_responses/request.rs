//! Builds the request.

use std::borrow::Cow;

use bowline_core::stream::StreamError;
use bowline_core::{Model, ThinkingLevel, ToolDefinition};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::item::{self, MessageMark};
use crate::api::strict_arguments::{self, Support};
use crate::api::{Endpoint, HttpRequest, bearer, flag, output_format, to_body, tool_schema, wanted_level};
use crate::conversation::{self, AnswerPart, Call, Outcome, Part, Turn};
use crate::output_limit::output_limit;
use crate::request::ModelRequest;
use crate::secret::Secret;

/// The longest id of an item.
const LONGEST_ITEM_ID: usize = 64;

/// The smallest limit that the API accepts.
const LEAST_LIMIT: u64 = 16;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<Entry<'a>>,
    stream: bool,
    store: bool,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    /// Items that are not stored must be sent back, which requires the provider to include them.
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextSettings>,
}

#[derive(Serialize)]
struct TextSettings {
    format: TextFormat,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextFormat {
    JsonSchema { name: &'static str, strict: bool, schema: Value },
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Message(MessageItem<'a>),
    Typed(Typed<'a>),
    /// Reasoning, unchanged.
    Raw(&'a RawValue),
}

#[derive(Serialize)]
struct MessageItem<'a> {
    role: &'static str,
    content: Vec<Piece<'a>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed<'a> {
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
    OutputText { text: &'a str, annotations: [(); 0] },
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    /// Strict is this API's default, which would reject most schemas.
    strict: bool,
}

/// Returns the request to OpenAI and compatible providers.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let body = body(request, &request.model.id)?;
    let mut headers = Vec::new();
    if let Some(credential) = &endpoint.credential {
        headers.push(("authorization", bearer(&credential.secret)));
    }
    if flag(&request.model, "sendSessionAffinityHeaders") == Some(true) {
        headers.push(("x-session-affinity", Secret::new(&request.session_id)));
    }
    Ok(endpoint.post("/responses", headers, body))
}

/// Returns the body of a request, with the server's name for the model.
pub(in crate::api) fn body(request: &ModelRequest, name: &str) -> Result<Vec<u8>, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns(request);
    let limit = output_limit(request, &turns);
    to_body(&Body {
        model: name,
        input: entries(&request.system, &turns, model),
        stream: true,
        store: false,
        max_output_tokens: limit.max(LEAST_LIMIT),
        tools: tools(&request.tools, model)?,
        reasoning: reasoning(model, request.thinking),
        include: model.reasoning.then_some(["reasoning.encrypted_content"]),
        prompt_cache_key: request.cache.then_some(&request.session_id),
        text: output_format::schema_for(request, output_format::is_openai).map(|schema| TextSettings {
            format: TextFormat::JsonSchema { name: output_format::NAME, strict: true, schema },
        }),
    })
}

/// Returns how to request thinking. It can be turned off only if the model has a name for that.
fn reasoning(model: &Model, level: ThinkingLevel) -> Option<Reasoning<'_>> {
    let (level, word) = wanted_level(model, level)?;
    if level == ThinkingLevel::Off {
        return word.map(|effort| Reasoning { effort, summary: None });
    }
    Some(Reasoning { effort: word.unwrap_or(level.as_str()), summary: Some("auto") })
}

fn tools<'a>(definitions: &'a [ToolDefinition], model: &Model) -> Result<Vec<Tool<'a>>, StreamError> {
    let strict = flag(model, "supportsStrictMode");
    let schemas = strict_arguments::schemas(definitions, Support::usual_if(strict != Some(false)))?;
    let tools = definitions.iter().zip(schemas).map(|(definition, schema)| {
        let ToolDefinition { name, description, parameters, .. } = definition;
        Tool {
            kind: "function",
            name,
            description,
            strict: schema.is_some() || strict == Some(true) && tool_schema::is_strict(parameters),
            parameters: schema.map_or(Cow::Borrowed(parameters), Cow::Owned),
        }
    });
    Ok(tools.collect())
}

fn entries<'a>(system: &'a str, turns: &'a [Turn<'a>], model: &Model) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    if !system.trim().is_empty() {
        // Every server accepts `system`; OpenAI treats it as `developer` where that matters.
        let developer = model.reasoning && flag(model, "supportsDeveloperRole") == Some(true);
        let role = if developer { "developer" } else { "system" };
        entries.push(message(role, vec![Piece::InputText { text: system }]));
    }
    for turn in turns {
        match turn {
            Turn::User(parts) => entries.push(message("user", parts.iter().map(piece).collect())),
            Turn::Assistant(pieces) => add_answer(pieces, &mut entries),
            Turn::Results(outcomes) => entries.extend(outcomes.iter().map(result)),
        }
    }
    entries
}

fn message<'a>(role: &'static str, content: Vec<Piece<'a>>) -> Entry<'a> {
    Entry::Message(MessageItem { role, content, kind: None, id: None, status: None, phase: None })
}

fn piece<'a>(part: &'a Part<'a>) -> Piece<'a> {
    match part {
        Part::Text(text) => Piece::InputText { text },
        Part::Image { data, mime_type } => {
            Piece::InputImage { image_url: format!("data:{mime_type};base64,{data}"), detail: "auto" }
        }
    }
}

/// Adds an answer. Items keep their ids only together with the reasoning that led to them: the provider rejects an
/// item whose reasoning is missing, and reasoning that nothing follows. A message always needs an id, so without its own
/// it gets one by its place, which is the same in every request of a conversation.
fn add_answer<'a>(pieces: &'a [AnswerPart<'a>], entries: &mut Vec<Entry<'a>>) {
    let reasoning = |piece: &'a AnswerPart<'a>| match piece {
        AnswerPart::Thinking(block) => block.thinking_signature.as_deref().and_then(item::reasoning),
        _ => None,
    };
    let end =
        pieces.iter().rposition(|piece| !matches!(piece, AnswerPart::Thinking(_))).map_or(0, |last| last + 1);
    let pieces = &pieces[..end];
    let identified = pieces.iter().any(|piece| reasoning(piece).is_some());
    for piece in pieces {
        match piece {
            AnswerPart::Thinking(_) => entries.extend(reasoning(piece).map(Entry::Raw)),
            AnswerPart::Text { text, signature } => {
                entries.push(text_entry(text, *signature, identified, entries.len()));
            }
            AnswerPart::Call(call) => entries.push(call_entry(call, identified)),
        }
    }
}

fn text_entry<'a>(text: &'a str, signature: Option<&'a str>, identified: bool, place: usize) -> Entry<'a> {
    let mark = signature.and_then(|signature| match serde_json::from_str::<MessageMark<'_>>(signature) {
        Ok(mark) => Some((mark.id, mark.phase)),
        // Older files contain the bare id.
        Err(_) => signature.starts_with("msg").then_some((signature, None)),
    });
    let own = mark.map(|(id, _)| id).filter(|id| identified && is_item_id(id));
    Entry::Message(MessageItem {
        role: "assistant",
        content: vec![Piece::OutputText { text, annotations: [] }],
        kind: Some("message"),
        id: Some(own.map_or_else(|| Cow::Owned(format!("msg_bowline_{place}")), Cow::Borrowed)),
        status: Some("completed"),
        phase: mark.and_then(|(_, phase)| phase),
    })
}

fn call_entry<'a>(call: &'a Call<'a>, identified: bool) -> Entry<'a> {
    let id = call.own_id.and_then(|id| Some(id.split_once('|')?.1));
    Entry::Typed(Typed::FunctionCall {
        id: id.filter(|id| identified && is_item_id(id)),
        call_id: &call.id,
        name: call.name,
        arguments: serde_json::to_string(call.arguments).unwrap_or_default(),
    })
}

fn is_item_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=LONGEST_ITEM_ID).contains(&id.len()) && id.bytes().all(allowed)
}

fn result<'a>(outcome: &'a Outcome<'a>) -> Entry<'a> {
    let output = match &outcome.parts[..] {
        [] => Output::Text(Cow::Borrowed("(no output)")),
        [Part::Text(text)] => Output::Text(Cow::Borrowed(text)),
        parts => Output::Parts(parts.iter().map(piece).collect()),
    };
    Entry::Typed(Typed::FunctionCallOutput { call_id: &outcome.call_id, output })
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

    fn body(request: &ModelRequest) -> Value {
        let credential =
            Credential { secret: Secret::new("key"), scheme: Scheme::Key, origin: String::new() };
        let endpoint = Endpoint {
            base_url: "http://h/v1".into(),
            headers: Vec::new(),
            credential: Some(credential),
            auth_header: false,
            variables: Variables::default(),
        };
        let http = build(request, &endpoint).unwrap();
        assert_eq!(http.url, "http://h/v1/responses");
        let key = http.headers.iter().find(|(name, _)| name == "authorization");
        assert_eq!(key.unwrap().1.expose(), "Bearer key");
        serde_json::from_slice(&http.body).unwrap()
    }

    #[test]
    fn output_schema_is_the_text_format() {
        let asking = |compat: Value| output_format_tests::asking(json!({"compat": compat}), true);
        let with_schema = body(&asking(json!({"supportsOutputSchema": true})));
        let schema = output_format_tests::sample();
        let format = json!({"type": "json_schema", "name": "output", "strict": true, "schema": schema});
        assert_eq!(
            (&with_schema["text"], with_schema["tools"].as_array().unwrap().len()),
            (&json!({"format": format}), 1)
        );
        assert_eq!(body(&asking(json!({}))).get("text"), None);
    }

    const REASONING: &str = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#;

    fn answer(model: &str, thinking: &str) -> Value {
        json!({"role": "assistant", "api": "openai-responses", "provider": "p", "model": model, "stopReason": "toolUse",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": thinking},
                {"type": "text", "text": "look", "textSignature": r#"{"v":1,"id":"msg_1","phase":"commentary"}"#},
                {"type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": {"path": "x"}}]})
    }

    #[test]
    fn conversation_is_serialised_as_the_api_requires() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let conversation = json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            answer("m", REASONING),
            {"role": "toolResult", "toolCallId": "call_1|fc_1", "toolName": "read", "isError": false, "content": [image]},
        ]);
        let parameters = json!({"type": "object"});
        let tool = ToolDefinition { name: "ls".into(), description: "d".into(), parameters, strict: None };
        let model = json!({"api": "openai-responses", "input": ["text", "image"]});
        let request = ModelRequest {
            system: "sys".into(),
            messages: messages(conversation),
            tools: vec![tool].into(),
            thinking: ThinkingLevel::High,
            cache: true,
            ..request(model)
        };
        let picture =
            json!({"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"});
        let expected = json!({
            "model": "m", "stream": true, "store": false, "max_output_tokens": 32000,
            "input": [
                {"role": "system", "content": [{"type": "input_text", "text": "sys"}]},
                {"role": "user", "content": [{"type": "input_text", "text": "look"}, picture]},
                {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
                {"role": "assistant", "type": "message", "id": "msg_1", "status": "completed", "phase": "commentary",
                 "content": [{"type": "output_text", "text": "look", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"x\"}"},
                {"type": "function_call_output", "call_id": "call_1", "output": [picture]},
            ],
            "tools": [{"type": "function", "name": "ls", "description": "d", "parameters": {"type": "object"}, "strict": false}],
            "reasoning": {"effort": "high", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "s",
        });
        assert_eq!(body(&request), expected);
    }

    #[test]
    fn items_without_their_reasoning_have_no_ids_of_the_provider() {
        let model = json!({"api": "openai-responses"});
        for answer in
            [answer("m", r#"{"id":"rs_1","type":"reasoning","summary":[]}"#), answer("n", REASONING)]
        {
            let body = body(&ModelRequest { messages: messages(json!([answer])), ..request(model.clone()) });
            let input = body["input"].as_array().unwrap();
            for (index, item) in input.iter().enumerate() {
                let own = (item["type"] == "message").then(|| json!(format!("msg_bowline_{index}")));
                assert_eq!(item.get("id"), own.as_ref(), "{body}");
            }
            assert!(input.iter().any(|item| item["type"] == "message"), "{body}");
            assert!(input.iter().all(|item| item["type"] != "reasoning"), "{body}");
        }
    }

    #[test]
    fn reasoning_that_nothing_follows_is_omitted() {
        let model = json!({"api": "openai-responses"});
        let alone = json!({"role": "assistant", "api": "openai-responses", "provider": "p", "model": "m",
            "stopReason": "length", "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": REASONING}]});
        let body = body(&ModelRequest { messages: messages(json!([alone])), ..request(model) });
        assert_eq!(body["input"], json!([]));
    }

    #[test]
    fn thinking_is_an_effort() {
        let asked = |changes: Value, level| {
            body(&ModelRequest { thinking: level, ..request(changes) })["reasoning"].clone()
        };
        let high = json!({"effort": "high", "summary": "auto"});
        assert_eq!(asked(json!({}), ThinkingLevel::High), high);
        assert_eq!(asked(json!({}), ThinkingLevel::Max), high);
        assert_eq!(asked(json!({}), ThinkingLevel::Off), Value::Null);
        assert_eq!(asked(json!({"reasoning": false}), ThinkingLevel::High), Value::Null);
        let mapped = json!({"thinkingLevelMap": {"off": "none", "max": "max"}});
        assert_eq!(asked(mapped.clone(), ThinkingLevel::Off), json!({"effort": "none"}));
        assert_eq!(asked(mapped, ThinkingLevel::Max), json!({"effort": "max", "summary": "auto"}));
    }
}
