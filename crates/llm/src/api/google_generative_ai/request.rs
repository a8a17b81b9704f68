//! Builds the request.

use std::borrow::Cow;

use bowline_core::ToolDefinition;
use bowline_core::message::Arguments;
use bowline_core::stream::StreamError;
use serde::Serialize;
use serde_json::Value;

use super::thinking::{self, ThinkingConfig};
use crate::api::strict_arguments::{self, Support};
use crate::api::{Endpoint, HttpRequest, bearer, output_format, to_body, tool_schema};
use crate::conversation::{self, AnswerPart, Outcome, Part as Given, Turn};
use crate::credentials::Scheme;
use crate::output_limit::output_limit;
use crate::request::ModelRequest;

/// Replaces the signature of a call that another model made. The third generation refuses calls without one, and its
/// documentation gives this value for histories that it did not write.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    data: Payload<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Payload<'a> {
    Text(&'a str),
    InlineData(Image<'a>),
    FunctionCall { id: &'a str, name: &'a str, args: &'a Arguments },
    FunctionResponse(Response<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Image<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Response<'a> {
    id: &'a str,
    name: &'a str,
    response: Answered<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Answered<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: FunctionCallingConfig,
}

#[derive(Serialize)]
struct FunctionCallingConfig {
    mode: &'static str,
}

impl ToolConfig {
    /// Keeps the arguments of all tools to their schemas.
    const VALIDATED: Self = Self { function_calling_config: FunctionCallingConfig { mode: "VALIDATED" } };
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

/// Returns the request.
pub(super) fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let model = &*request.model;
    let turns = conversation::turns(request);
    let max_output_tokens = output_limit(request, &turns);
    // Earlier generations do not insist on what is required.
    let support = Support::usual_if(thinking::has_levels(model));
    let schemas = strict_arguments::schemas(&request.tools, support)?;
    let is_strict = schemas.iter().any(Option::is_some);
    let declarations: Vec<Declaration<'_>> =
        request.tools.iter().zip(&schemas).map(|(tool, schema)| declaration(tool, schema.as_ref())).collect();
    let response_json_schema = response_schema(request);
    let body = to_body(&Body {
        contents: contents(&turns, thinking::has_levels(model)),
        system_instruction: (!request.system.trim().is_empty())
            .then(|| Instruction { parts: [plain(Payload::Text(&request.system))] }),
        tools: (!declarations.is_empty()).then_some([Tools { function_declarations: declarations }]),
        tool_config: is_strict.then_some(ToolConfig::VALIDATED),
        generation_config: GenerationConfig {
            max_output_tokens,
            thinking_config: thinking::ask(model, request.thinking, request.options.budgets),
            response_mime_type: response_json_schema.is_some().then_some("application/json"),
            response_json_schema,
        },
    })?;
    let mut headers = Vec::new();
    if let Some(credential) = &endpoint.credential {
        headers.push(match credential.scheme {
            Scheme::Key if !endpoint.auth_header => ("x-goog-api-key", credential.secret.clone()),
            _ => ("authorization", bearer(&credential.secret)),
        });
    }
    // The id of a tuned model includes its resource type.
    let kind = if model.id.contains('/') { "" } else { "models/" };
    let path = format!("/{kind}{}:streamGenerateContent?alt=sse", model.id);
    Ok(endpoint.post(&path, headers, body))
}

/// Returns the schema of the answer. Models before the third generation refuse one beside tools.
fn response_schema(request: &ModelRequest) -> Option<Value> {
    if !request.tools.is_empty() && !thinking::has_levels(&request.model) {
        return None;
    }
    output_format::schema_for(request, |model| {
        model.base_url.starts_with("https://generativelanguage.googleapis.com")
            && model.id.starts_with("gemini-")
    })
}

fn declaration<'a>(definition: &'a ToolDefinition, schema: Option<&Value>) -> Declaration<'a> {
    let ToolDefinition { name, description, parameters, .. } = definition;
    Declaration { name, description, parameters: tool_schema::for_gemini(schema.unwrap_or(parameters)) }
}

fn plain(data: Payload<'_>) -> Part<'_> {
    Part { data, thought: None, thought_signature: None }
}

/// Returns the contents. A call must directly follow the user's message or the previous results, so consecutive turns
/// of one side are merged.
fn contents<'a>(turns: &'a [Turn<'a>], third: bool) -> Vec<Content<'a>> {
    let mut contents: Vec<Content<'a>> = Vec::new();
    for turn in turns {
        match turn {
            Turn::User(parts) => contents.push(user(parts.iter().map(piece).collect())),
            Turn::Results(outcomes) => add_results(outcomes, third, &mut contents),
            Turn::Assistant(pieces) => {
                let parts = answer_parts(pieces, third);
                match contents.last_mut() {
                    Some(last) if last.role == "model" => last.parts.extend(parts),
                    _ if parts.is_empty() => {}
                    _ => contents.push(Content { role: "model", parts }),
                }
            }
        }
    }
    contents
}

fn user(parts: Vec<Part<'_>>) -> Content<'_> {
    Content { role: "user", parts }
}

fn piece<'a>(part: &'a Given<'a>) -> Part<'a> {
    plain(match part {
        Given::Text(text) => Payload::Text(text),
        Given::Image { data, mime_type } => Payload::InlineData(Image { mime_type, data }),
    })
}

fn answer_parts<'a>(pieces: &'a [AnswerPart<'a>], third: bool) -> Vec<Part<'a>> {
    let mut first_call = true;
    let parts = pieces.iter().filter_map(|piece| match piece {
        AnswerPart::Text { text, signature } => {
            Some(Part { thought_signature: *signature, ..plain(Payload::Text(text)) })
        }
        AnswerPart::Thinking(block) => {
            let thought_signature = block.thinking_signature.as_deref();
            (!block.thinking.trim().is_empty()).then(|| Part {
                thought: Some(true),
                thought_signature,
                data: Payload::Text(&block.thinking),
            })
        }
        AnswerPart::Call(call) => {
            // Only the first call of a step has a signature.
            let needs_one = third && std::mem::take(&mut first_call);
            let thought_signature = call.signature.or(needs_one.then_some(NO_SIGNATURE));
            let data = Payload::FunctionCall { id: &call.id, name: call.name, args: call.arguments };
            Some(Part { thought_signature, ..plain(data) })
        }
    });
    parts.collect()
}

/// Adds the results of calls, all in one content. The third generation accepts images inside a result; for others they
/// follow as the user's.
fn add_results<'a>(outcomes: &'a [Outcome<'a>], third: bool, contents: &mut Vec<Content<'a>>) {
    let (mut parts, mut images) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        let pictures = || outcome.parts.iter().filter(|part| matches!(part, Given::Image { .. })).map(piece);
        let inside: Vec<Part<'a>> = if third { pictures().collect() } else { Vec::new() };
        if !third {
            images.extend(pictures());
        }
        let text = text_of(outcome);
        parts.push(plain(Payload::FunctionResponse(Response {
            id: &outcome.call_id,
            name: outcome.name,
            response: if outcome.is_error { Answered::Error(text) } else { Answered::Output(text) },
            parts: inside,
        })));
    }
    contents.push(user(parts));
    if !images.is_empty() {
        images.insert(0, plain(Payload::Text("The images of the tool results:")));
        contents.push(user(images));
    }
}

fn text_of<'a>(outcome: &'a Outcome<'a>) -> Cow<'a, str> {
    let texts: Vec<&str> = outcome
        .parts
        .iter()
        .filter_map(|part| match part {
            Given::Text(text) => Some(&**text),
            Given::Image { .. } => None,
        })
        .collect();
    match &texts[..] {
        [] if outcome.parts.is_empty() => Cow::Borrowed("(no output)"),
        [] => Cow::Borrowed("(see the attached image)"),
        [text] => Cow::Borrowed(*text),
        texts => Cow::Owned(texts.join("\n")),
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
    use crate::secret::Secret;
    use serde_json::json;

    fn http(request: &ModelRequest) -> HttpRequest {
        let credential =
            Credential { secret: Secret::new("key"), scheme: Scheme::Key, origin: String::new() };
        let endpoint = Endpoint {
            base_url: "http://h/v1beta".into(),
            headers: Vec::new(),
            credential: Some(credential),
            auth_header: false,
            variables: Variables::default(),
        };
        build(request, &endpoint).unwrap()
    }

    #[test]
    fn output_schema_is_in_the_generation_config() {
        let config = |id: &str, has_tool: bool, compat: Value| {
            let model = json!({"id": id, "reasoning": false, "compat": compat});
            let body = http(&output_format_tests::asking(model, has_tool)).body;
            serde_json::from_slice::<Value>(&body).unwrap()["generationConfig"].clone()
        };
        let declared = || json!({"supportsOutputSchema": true});
        let third = config("gemini-3.8-flash", true, declared());
        assert_eq!(third["responseJsonSchema"], output_format_tests::sample());
        assert_eq!(third["responseMimeType"], "application/json");
        let second = config("gemini-2.5-pro", false, declared());
        assert_eq!(second["responseJsonSchema"], output_format_tests::sample());
        for without in
            [config("gemini-2.5-pro", true, declared()), config("gemini-3.8-flash", true, json!({}))]
        {
            assert_eq!((without.get("responseJsonSchema"), without.get("responseMimeType")), (None, None));
        }
    }

    fn conversation() -> Value {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            {"role": "assistant", "api": "google-generative-ai", "provider": "p", "model": "gemini-3.8-flash",
             "stopReason": "toolUse", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s1"},
                {"type": "text", "text": "I will", "textSignature": "s2"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}, "thoughtSignature": "s3"},
                {"type": "toolCall", "id": "c2", "name": "ls", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false, "content": [image]},
            {"role": "toolResult", "toolCallId": "c2", "toolName": "ls", "isError": true, "content": "no"},
        ])
    }

    fn asked(model: &str) -> ModelRequest {
        let tool = |name: &str, parameters| ToolDefinition {
            name: name.into(),
            description: "d".into(),
            parameters,
            strict: None,
        };
        let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false});
        let model = json!({"id": model, "api": "google-generative-ai", "input": ["text", "image"]});
        ModelRequest {
            system: "sys".into(),
            messages: messages(conversation()),
            tools: vec![tool("read", path), tool("ls", json!({"type": "object", "properties": {}}))].into(),
            thinking: bowline_core::ThinkingLevel::High,
            ..request(model)
        }
    }

    #[test]
    fn conversation_is_serialised_as_the_api_requires() {
        let http = http(&asked("gemini-3.8-flash"));
        assert_eq!(http.url, "http://h/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
        assert!(http.headers.iter().any(|(name, _)| name == "x-goog-api-key"));
        let picture = json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}});
        let expected = json!({
            "systemInstruction": {"parts": [{"text": "sys"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "look"}, picture]},
                {"role": "model", "parts": [
                    {"text": "hm", "thought": true, "thoughtSignature": "s1"},
                    {"text": "I will", "thoughtSignature": "s2"},
                    {"functionCall": {"id": "c1", "name": "read", "args": {"path": "x"}}, "thoughtSignature": "s3"},
                    {"functionCall": {"id": "c2", "name": "ls", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "(see the attached image)"}, "parts": [picture]}},
                    {"functionResponse": {"id": "c2", "name": "ls", "response": {"error": "no"}}}]},
            ],
            "tools": [{"functionDeclarations": [
                {"name": "read", "description": "d", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
                {"name": "ls", "description": "d"}]}],
            "generationConfig": {"maxOutputTokens": 32000, "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "HIGH"}},
        });
        assert_eq!(serde_json::from_slice::<Value>(&http.body).unwrap(), expected);
    }

    #[test]
    fn another_model_gets_no_signatures() {
        let parts = |model: &str| {
            let body: Value = serde_json::from_slice(&http(&asked(model)).body).unwrap();
            (body["contents"][1]["parts"].clone(), body["contents"][3]["parts"].clone())
        };
        let (sent, images) = parts("gemini-2.5-flash");
        assert!(!sent.to_string().contains("ignature"), "{sent}");
        assert_eq!(images[1]["inlineData"]["data"], "aGk=");
        let (sent, images) = parts("gemini-3-pro");
        assert_eq!(sent[2]["thoughtSignature"], NO_SIGNATURE);
        assert_eq!((&sent[0]["thought"], sent[3].get("thoughtSignature")), (&Value::Null, None));
        assert!(images.is_null());
    }
}
