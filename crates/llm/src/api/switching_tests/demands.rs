//! What the documentation of each API demands of a request, as assertions.

use std::collections::HashSet;

use serde_json::Value;

/// Checks a request to an API. `own` is whether the requested model wrote the history.
pub(super) fn check(api: &str, body: &Value, own: bool, place: &str) {
    let place = &format!("{place}: {body:#}");
    match api {
        "anthropic-messages" => anthropic(list(body, "messages", place), own, place),
        "openai-completions" => completions(list(body, "messages", place), own, place),
        "mistral-conversations" => mistral(body, place),
        "openai-responses" | "azure-openai-responses" => responses(body, own, place),
        "google-generative-ai" => gemini(list(body, "contents", place), own, place),
        "bedrock-converse-stream" => bedrock(list(body, "messages", place), own, place),
        other => panic!("no demands of {other} are known"),
    }
}

fn list<'a>(value: &'a Value, name: &str, place: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name}: {place}"))
}

fn text<'a>(value: &'a Value, name: &str, place: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name}: {place}"))
}

fn is_word(id: &str, longest: usize) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    (1..=longest).contains(&id.len()) && id.chars().all(allowed)
}

/// Checks that ids are valid and unique.
fn check_ids<'a>(ids: impl Iterator<Item = &'a str>, longest: usize, place: &str) {
    let mut seen = HashSet::new();
    for id in ids {
        assert!(is_word(id, longest), "the id {id}: {place}");
        assert!(seen.insert(id), "the id {id} comes twice: {place}");
    }
}

/// Messages start with the user's and alternate; no block is empty; results come first, right after their calls;
/// thinking is signed.
fn anthropic(messages: &[Value], own: bool, place: &str) {
    let mut ids = Vec::new();
    let mut calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "{place}");
        let content = list(message, "content", place);
        assert!(!content.is_empty(), "{place}");
        let results = content.iter().filter(|block| block["type"] == "tool_result");
        let answered: Vec<&str> = results.map(|block| text(block, "tool_use_id", place)).collect();
        assert_eq!(answered, calls, "{place}");
        assert!(content[..answered.len()].iter().all(|block| block["type"] == "tool_result"), "{place}");
        calls.clear();
        for block in content {
            match text(block, "type", place) {
                "text" => assert!(!text(block, "text", place).trim().is_empty(), "{place}"),
                "tool_use" if role == "assistant" => {
                    assert!(block["input"].is_object(), "{place}");
                    calls.push(text(block, "id", place));
                }
                "thinking" if role == "assistant" => {
                    assert!(own && !text(block, "signature", place).is_empty(), "{place}");
                }
                "image" if role == "user" => assert_eq!(block["source"]["type"], "base64", "{place}"),
                "tool_result" if role == "user" => {}
                other => panic!("{other} of the {role}: {place}"),
            }
        }
        ids.extend(calls.iter().copied());
    }
    assert_eq!(messages.last().unwrap()["role"], "user", "{place}");
    check_ids(ids.into_iter(), 64, place);
}

/// Results follow their calls immediately and completely; content is never empty; thinking fields are only the model's
/// own.
fn completions(messages: &[Value], own: bool, place: &str) {
    let ids = call_pairs(messages, place);
    if own {
        // A model's own ids are sent back unchanged.
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{place}");
    } else {
        check_ids(ids.iter().map(String::as_str), 40, place);
    }
    for message in messages {
        let thinks = ["reasoning_content", "reasoning", "reasoning_text"]
            .iter()
            .any(|field| message.get(field).is_some());
        assert!(own || !thinks, "{place}");
    }
}

/// Checks the form of chat messages and returns the ids of all calls.
fn call_pairs(messages: &[Value], place: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut waiting: Vec<&str> = Vec::new();
    for message in messages {
        let role = text(message, "role", place);
        if role == "tool" {
            let next = waiting.first().copied();
            assert_eq!(Some(text(message, "tool_call_id", place)), next, "{place}");
            waiting.remove(0);
        } else {
            assert!(waiting.is_empty(), "{waiting:?} have no result: {place}");
        }
        if role == "assistant" {
            let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            for call in calls {
                let arguments = text(&call["function"], "arguments", place);
                assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{place}");
                waiting.push(text(call, "id", place));
                ids.push(text(call, "id", place).to_owned());
            }
            assert!(
                message["content"] != "" && (!message["content"].is_null() || !calls.is_empty()),
                "{place}"
            );
        }
        match &message["content"] {
            Value::String(text) => assert!(!text.trim().is_empty(), "{place}"),
            Value::Array(parts) => assert!(!parts.is_empty(), "{place}"),
            other => assert!(role == "assistant" && other.is_null(), "{place}"),
        }
    }
    assert!(waiting.is_empty(), "{place}");
    ids
}

/// As completions, with ids of nine letters and digits, and without fields that Mistral does not know.
fn mistral(body: &Value, place: &str) {
    let known = ["model", "messages", "stream", "max_tokens", "tools", "reasoning_effort", "prompt_mode"];
    for field in body.as_object().unwrap().keys() {
        assert!(known.contains(&field.as_str()), "{field}: {place}");
    }
    let ids = call_pairs(list(body, "messages", place), place);
    for id in &ids {
        assert!(id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric()), "{id}: {place}");
    }
    check_ids(ids.iter().map(String::as_str), 9, place);
}

/// Every call is followed by one output; reasoning is encrypted and followed by something; items have the provider's
/// ids only together with their reasoning, and assistant messages always have one.
fn responses(body: &Value, own: bool, place: &str) {
    assert_eq!(body["store"], false, "{place}");
    let input = list(body, "input", place);
    let (mut ids, mut waiting) = (Vec::new(), Vec::new());
    for (index, item) in input.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind != "function_call" && kind != "function_call_output" {
            assert!(waiting.is_empty(), "{waiting:?} have no output: {place}");
        }
        let is_answer = kind == "message" && item["role"] == "assistant";
        assert!(own || is_answer || item.get("id").is_none(), "{place}");
        match kind {
            "message" => {
                let role = text(item, "role", place);
                if is_answer {
                    let id = text(item, "id", place);
                    assert!(own || id == format!("msg_bowline_{index}"), "{id}: {place}");
                }
                for part in list(item, "content", place) {
                    let expected = if role == "assistant" { "output_" } else { "input_" };
                    assert!(text(part, "type", place).starts_with(expected), "{place}");
                    assert!(part.get("text").is_none_or(|text| !text.as_str().unwrap().trim().is_empty()));
                }
            }
            "reasoning" => {
                assert!(own && !text(item, "encrypted_content", place).is_empty(), "{place}");
                let next = input.get(index + 1).map(|next| (&next["role"], &next["type"]));
                let (role, kind) = next.unwrap_or_else(|| panic!("nothing follows: {place}"));
                assert!(role == "assistant" || kind == "function_call" || kind == "reasoning", "{place}");
            }
            "function_call" => {
                assert!(text(item, "arguments", place).starts_with('{'), "{place}");
                if let Some(id) = item.get("id") {
                    assert!(is_word(id.as_str().unwrap(), 64), "{place}");
                }
                waiting.push(text(item, "call_id", place));
                ids.push(text(item, "call_id", place));
            }
            "function_call_output" => {
                let id = text(item, "call_id", place);
                let known = waiting.iter().position(|call| *call == id);
                waiting.remove(known.unwrap_or_else(|| panic!("{id} was not called: {place}")));
                assert!(item["output"].is_string() || item["output"].is_array(), "{place}");
            }
            other => panic!("{other}: {place}"),
        }
    }
    assert!(waiting.is_empty(), "{place}");
    check_ids(ids.into_iter(), 64, place);
}

/// Calls come right after the user, and as many responses right after them; every part holds one thing; signatures are
/// the model's own or the placeholder.
fn gemini(contents: &[Value], own: bool, place: &str) {
    let mut ids = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let role = text(content, "role", place);
        assert!(role == "user" || role == "model", "{place}");
        let parts = list(content, "parts", place);
        assert!(!parts.is_empty(), "{place}");
        for part in parts {
            let kinds = ["text", "inlineData", "functionCall", "functionResponse"];
            assert_eq!(kinds.iter().filter(|kind| part.get(kind).is_some()).count(), 1, "{place}");
            assert!(part.get("text").is_none_or(|text| !text.as_str().unwrap().trim().is_empty()), "{place}");
            assert!(own || part.get("thought").is_none(), "{place}");
            let signature = part["thoughtSignature"].as_str();
            let stand_in = "skip_thought_signature_validator";
            assert!(own || signature.is_none_or(|signature| signature == stand_in), "{place}");
        }
        let named = |content: &'_ Value, kind: &str| -> Vec<(String, String)> {
            let found = list(content, "parts", place).iter().filter_map(|part| part.get(kind));
            found.map(|it| (text(it, "id", place).to_owned(), text(it, "name", place).to_owned())).collect()
        };
        let calls = named(content, "functionCall");
        if !calls.is_empty() {
            assert_eq!(role, "model", "{place}");
            assert!(index > 0 && contents[index - 1]["role"] == "user", "{place}");
            assert_eq!(named(&contents[index + 1], "functionResponse"), calls, "{place}");
        }
        if !named(content, "functionResponse").is_empty() {
            assert_eq!(role, "user", "{place}");
            assert!(!named(&contents[index - 1], "functionCall").is_empty(), "{place}");
        }
        ids.extend(calls.into_iter().map(|(id, _)| id));
    }
    assert_eq!(contents[0]["role"], "user", "{place}");
    check_ids(ids.iter().map(String::as_str), 64, place);
}

/// As Anthropic's, in Bedrock's form: a block is an object with one member, and content is never empty.
fn bedrock(messages: &[Value], own: bool, place: &str) {
    let mut ids = Vec::new();
    let mut calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "{place}");
        let content = list(message, "content", place);
        assert!(!content.is_empty(), "{place}");
        let results = content.iter().filter_map(|block| block.get("toolResult"));
        let answered: Vec<&str> = results.map(|result| text(result, "toolUseId", place)).collect();
        assert_eq!(answered, calls, "{place}");
        calls.clear();
        for block in content {
            let (kind, value) = block.as_object().unwrap().iter().next().unwrap();
            assert_eq!(block.as_object().unwrap().len(), 1, "{place}");
            match kind.as_str() {
                "text" => assert!(!value.as_str().unwrap().trim().is_empty(), "{place}"),
                "toolUse" => calls.push(text(value, "toolUseId", place)),
                "reasoningContent" => assert!(own, "{place}"),
                "toolResult" => assert!(!list(value, "content", place).is_empty(), "{place}"),
                "image" => assert_eq!(value["format"], "png", "{place}"),
                other => panic!("{other}: {place}"),
            }
        }
        ids.extend(calls.iter().copied());
    }
    check_ids(ids.into_iter(), 64, place);
}
