//! A session moves from each API to each other, and every request meets the demands of the target API.

mod demands;

use std::sync::Arc;

use bowline_core::Message;
use serde_json::{Value, json};

use super::{APIS, Api, Endpoint, Variables};
use crate::conversation::tests::{messages, model};
use crate::output_limit::tests::request;
use crate::request::ModelRequest;

/// Starts every signature, so that a misplaced one is found.
const MARK: &str = "SIGNATURE-OF-";
const IMAGE: &str = "aW1hZ2Ugb2YgYSBjYXQ=";
const THOUGHT: &str = "Shall I look at the files first?";

/// The form of an API's answers in a session.
struct Style {
    thinking_signature: String,
    text_signature: Option<String>,
    call_signature: Option<String>,
    ids: [String; 2],
}

fn style(api: &str) -> Style {
    let plain = Style {
        thinking_signature: format!("{MARK}{api}"),
        text_signature: None,
        call_signature: None,
        ids: ["toolu_01A".to_owned(), "toolu_01B".to_owned()],
    };
    match api {
        "openai-completions" => Style {
            thinking_signature: "reasoning_content".to_owned(),
            ids: ["functions.read:0".to_owned(), "call_".to_owned() + &"x".repeat(60)],
            ..plain
        },
        "mistral-conversations" => Style {
            thinking_signature: "thinking".to_owned(),
            ids: ["abcDEF123".to_owned(), "abcDEF124".to_owned()],
            ..plain
        },
        "openai-responses" | "azure-openai-responses" => Style {
            thinking_signature: json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": format!("{MARK}{api}")})
                .to_string(),
            text_signature: Some(format!(r#"{{"v":1,"id":"msg_{MARK}{api}"}}"#)),
            ids: [format!("call_1|fc_{}", "y".repeat(50)), format!("call_{}|fc_2", "z".repeat(90))],
            ..plain
        },
        "google-generative-ai" => Style {
            text_signature: Some(format!("{MARK}{api}")),
            call_signature: Some(format!("{MARK}{api}")),
            // Repeated, as by a server that does not create ids.
            ids: ["read".to_owned(), "read".to_owned()],
            ..plain
        },
        _ => plain,
    }
}

/// Returns a session written by an API's model: thinking, calls, results with an image, a user's image, an interrupted
/// answer, and an empty one.
fn history(api: &str, model: &str) -> Vec<Arc<Message>> {
    let style = style(api);
    let image = json!({"type": "image", "data": IMAGE, "mimeType": "image/png"});
    let answer = |content: Value, reason: &str| json!({"role": "assistant", "api": api, "provider": "p", "model": model, "stopReason": reason, "content": content});
    let thinking =
        json!({"type": "thinking", "thinking": THOUGHT, "thinkingSignature": style.thinking_signature});
    let mut text = json!({"type": "text", "text": "I will look."});
    if let Some(signature) = &style.text_signature {
        text["textSignature"] = json!(signature);
    }
    let call = |id: &str, name: &str| {
        let mut call = json!({"type": "toolCall", "id": id, "name": name, "arguments": {"path": "cat.png"}});
        if let Some(signature) = &style.call_signature {
            call["thoughtSignature"] = json!(signature);
        }
        call
    };
    let result = |id: &str, content: Value, is_error: bool| json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": is_error, "content": content});
    let [first, second] = [style.ids[0].as_str(), style.ids[1].as_str()];
    messages(json!([
        {"role": "user", "content": [{"type": "text", "text": "What is in the picture?"}, image]},
        answer(json!([thinking, text, call(first, "read"), call(second, "ls")]), "toolUse"),
        result(first, json!([{"type": "text", "text": "Read image file"}, image]), false),
        result(second, json!([]), true),
        answer(json!([thinking, {"type": "text", "text": "It is"}, call("call_aborted", "read")]), "aborted"),
        {"role": "user", "content": "Go on."},
        answer(json!([{"type": "text", "text": " "}]), "stop"),
        answer(json!([thinking, call("call_never", "read")]), "toolUse"),
        {"role": "user", "content": "And now?"},
        answer(json!([thinking, text]), "stop"),
        {"role": "bashExecution", "command": "ls", "output": "cat.png", "exitCode": 0, "cancelled": false, "truncated": false},
        {"role": "user", "content": [image]},
    ]))
}

fn body(api: &Api, model_id: &str, sees: bool, history: Vec<Arc<Message>>) -> Value {
    let input = if sees { json!(["text", "image"]) } else { json!(["text"]) };
    let request = ModelRequest {
        system: "Be brief.".into(),
        messages: history,
        thinking: bowline_core::ThinkingLevel::High,
        ..request(json!({"id": model_id, "api": api.name, "input": input}))
    };
    assert_eq!(request.model.provider, model(json!({})).provider);
    let secrets = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let environment = secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let endpoint = Endpoint {
        base_url: "http://h".into(),
        headers: Vec::new(),
        credential: None,
        auth_header: false,
        variables: Variables::of(&environment),
    };
    serde_json::from_slice(&(api.request)(&request, &endpoint).unwrap().body).unwrap()
}

/// The requested model of an API, and another of the same API.
fn models(api: &str) -> [&'static str; 2] {
    match api {
        "google-generative-ai" => ["gemini-3.8-flash", "gemini-2.5-flash"],
        "anthropic-messages" | "bedrock-converse-stream" => ["claude-x", "claude-y"],
        _ => ["gpt-x", "gpt-y"],
    }
}

#[test]
fn history_moves_from_each_api_to_each_other() {
    for from in APIS {
        for to in APIS {
            for (asked, sees) in [(0, true), (0, false), (1, true)] {
                let place = format!("{} to {} ({asked}, images: {sees})", from.name, to.name);
                let id = models(to.name)[asked];
                let own = from.name == to.name && asked == 0;
                let body = body(to, id, sees, history(from.name, models(from.name)[0]));
                check_contents(&body, own, sees, &place);
                demands::check(to.name, &body, own, &place);
            }
        }
    }
}

/// Checks what holds for every API: no text is lost, and no signature reaches another model.
fn check_contents(body: &Value, own: bool, sees: bool, place: &str) {
    let text = body.to_string();
    for text_sent in
        ["What is in the picture?", "I will look.", "Read image file", "Go on.", "And now?", "Ran `ls`"]
    {
        assert!(text.contains(text_sent), "{place}: no {text_sent}: {body:#}");
    }
    assert!(!text.contains("call_aborted") && !text.contains("It is"), "{place}: {body:#}");
    assert_eq!(text.matches(IMAGE).count(), if sees { 3 } else { 0 }, "{place}: {body:#}");
    assert_eq!(text.contains("An image was omitted here"), !sees, "{place}: {body:#}");
    assert!(text.contains("No result was recorded"), "{place}: {body:#}");
    if own {
        return;
    }
    assert!(!text.contains(MARK), "{place}: a foreign signature: {body:#}");
    assert_eq!(text.matches(THOUGHT).count(), 3, "{place}: {body:#}");
}

#[test]
fn model_gets_its_own_signatures_back() {
    for api in APIS {
        let id = models(api.name)[0];
        let body = body(api, id, true, history(api.name, id));
        let signature = style(api.name).thinking_signature;
        if signature.contains(MARK) {
            assert!(body.to_string().contains(MARK), "{}: {body:#}", api.name);
        }
    }
}

#[test]
fn prefix_of_a_growing_conversation_is_stable() {
    for from in APIS {
        for to in APIS {
            let whole = history(from.name, "elsewhere");
            let long = body(to, models(to.name)[0], true, whole.clone());
            let short = body(to, models(to.name)[0], true, whole[..4].to_vec());
            let field = ["messages", "input", "contents"].into_iter().find(|name| short[name].is_array());
            let (short, long) = (&short[field.unwrap()], &long[field.unwrap()]);
            let shared = short.as_array().unwrap().len() - 1;
            assert_eq!(short.as_array().unwrap()[..shared], long.as_array().unwrap()[..shared]);
        }
    }
}
