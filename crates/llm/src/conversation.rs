//! The part of a session that a model sees: the same for every API, so that an API only has to serialise it.
//!
//! Failed answers are omitted, with the results of their calls. Every call has exactly one result, right after the
//! answer that made it. Session notes (user-initiated commands, summaries, extensions' messages) become user messages.
//! Thinking and signatures are kept only for the model that produced them; other models see thinking as text without
//! signatures. Call ids have the form that the API accepts. There are no empty blocks.

mod call_ids;
mod whole_messages;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use bowline_core::message::{
    Arguments, AssistantContent, AssistantMessage, BashExecutionMessage, Content, StopReason, ThinkingBlock,
    ToolResultMessage,
};
use bowline_core::{Message, Model};

use call_ids::CallIds;
pub(crate) use call_ids::IdRule;

use crate::request::ModelRequest;

/// A turn of a conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User(Vec<Part<'a>>),
    Assistant(Vec<AnswerPart<'a>>),
    /// The results of the calls of the preceding answer, in the order of the calls.
    Results(Vec<Outcome<'a>>),
}

/// A part of a user message or a tool result.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { data: &'a str, mime_type: &'a str },
}

/// A part of an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum AnswerPart<'a> {
    Text {
        text: &'a str,
        signature: Option<&'a str>,
    },
    /// Thinking that the requested model itself produced.
    Thinking(&'a ThinkingBlock),
    Call(Call<'a>),
}

/// A tool call.
#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) id: Cow<'a, str>,
    /// The original id, if the requested model itself made the call.
    pub(crate) own_id: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a Arguments,
    pub(crate) signature: Option<&'a str>,
}

/// The result of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome<'a> {
    pub(crate) call_id: Cow<'a, str>,
    /// The tool that was called.
    pub(crate) name: &'a str,
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) is_error: bool,
}

/// Replaces an image that the model cannot see.
const NO_IMAGE: &str = "(An image was omitted here: this model does not accept images.)";

/// Replaces an image if the user allows none.
const BLOCKED_IMAGE: &str = "(An image was omitted here: the settings block images.)";

/// What becomes of images.
#[derive(Debug, Clone, Copy)]
enum Images {
    Sent,
    /// By a note.
    Replaced(&'static str),
}

/// Replaces the result of a call that never got one, for example after a crash.
const NO_RESULT: &str = "No result was recorded for this call. It may or may not have been carried out.";

/// The results of a session by the id of their call, each with its position.
type Results<'a> = HashMap<&'a str, Vec<(usize, &'a ToolResultMessage)>>;

/// Returns the part of a conversation that its model sees, with call ids that nearly every API accepts.
pub(crate) fn turns(request: &ModelRequest) -> Vec<Turn<'_>> {
    turns_with_ids(request, IdRule::COMMON)
}

/// Returns the part of a conversation that its model sees, with call ids of the given form.
pub(crate) fn turns_with_ids(request: &ModelRequest, rule: IdRule) -> Vec<Turn<'_>> {
    let (messages, model) = (&request.messages, &*request.model);
    let images = images_for(request);
    let mut results = results_of(messages);
    let mut ids = CallIds::new(rule);
    let mut turns = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match &**message {
            Message::Assistant(answer) => {
                let (pieces, outcomes) = exchange(answer, index, model, images, &mut results, &mut ids);
                if !pieces.is_empty() {
                    turns.push(Turn::Assistant(pieces));
                }
                if !outcomes.is_empty() {
                    turns.push(Turn::Results(outcomes));
                }
            }
            Message::ToolResult(_) => {}
            other => {
                let parts = user_parts(other, images);
                if !parts.is_empty() {
                    turns.push(Turn::User(parts));
                }
            }
        }
    }
    turns
}

/// Returns what becomes of the images of a request.
fn images_for(request: &ModelRequest) -> Images {
    match () {
        () if request.options.block_images => Images::Replaced(BLOCKED_IMAGE),
        () if !request.model.takes_images() => Images::Replaced(NO_IMAGE),
        () => Images::Sent,
    }
}

fn results_of(messages: &[Arc<Message>]) -> Results<'_> {
    let mut results = Results::new();
    for (index, message) in messages.iter().enumerate() {
        if let Message::ToolResult(result) = &**message {
            results.entry(&result.tool_call_id).or_default().push((index, result));
        }
    }
    results
}

/// Tells whether an answer failed or never ended, so that models do not see it.
fn is_omitted(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted | StopReason::Pending)
}

/// Returns the parts of an answer that `model` can see, with the results of its calls; `None` for an answer that
/// failed or never ended.
fn exchange<'a>(
    answer: &'a AssistantMessage,
    index: usize,
    model: &Model,
    images: Images,
    results: &mut Results<'a>,
    ids: &mut CallIds<'a>,
) -> (Vec<AnswerPart<'a>>, Vec<Outcome<'a>>) {
    let (mut pieces, mut outcomes) = (Vec::new(), Vec::new());
    if is_omitted(answer) {
        return (pieces, outcomes);
    }
    let own = answer.api == model.api && answer.provider == model.provider && answer.model == model.id;
    for block in &answer.content {
        match block {
            AssistantContent::Text(block) => {
                let signature = block.text_signature.as_deref().filter(|_| own);
                pieces.extend(text(&block.text).map(|text| AnswerPart::Text { text, signature }));
            }
            AssistantContent::Thinking(block) if own => {
                let shown = !block.thinking.trim().is_empty() || block.thinking_signature.is_some();
                pieces.extend(shown.then_some(AnswerPart::Thinking(block)));
            }
            // Another model's thinking is useful as text, but it is not this model's own thinking.
            AssistantContent::Thinking(block) => {
                pieces.extend(text(&block.thinking).map(|text| AnswerPart::Text { text, signature: None }));
            }
            AssistantContent::ToolCall(call) => {
                let id = ids.next(&call.id, own);
                let found = take_result(&call.id, index, results);
                let (parts, is_error) = match found {
                    Some(result) => (parts(&result.content, images), result.is_error),
                    None => (vec![Part::Text(NO_RESULT.into())], true),
                };
                outcomes.push(Outcome { call_id: id.clone(), name: &call.name, parts, is_error });
                pieces.push(AnswerPart::Call(Call {
                    id,
                    own_id: own.then_some(&call.id),
                    name: &call.name,
                    arguments: &call.arguments,
                    signature: call.thought_signature.as_deref().filter(|_| own),
                }));
            }
        }
    }
    (pieces, outcomes)
}

/// Returns the result of a call of the answer at `index`: the first one after it.
fn take_result<'a>(id: &str, index: usize, results: &mut Results<'a>) -> Option<&'a ToolResultMessage> {
    let candidates = results.get_mut(id)?;
    let place = candidates.iter().position(|(at, _)| *at > index)?;
    Some(candidates.remove(place).1)
}

/// Returns a session message as a user message.
fn user_parts(message: &Message, images: Images) -> Vec<Part<'_>> {
    let note = match message {
        Message::User(message) => return parts(&message.content, images),
        Message::Custom(message) => return parts(&message.content, images),
        Message::BashExecution(run) if run.exclude_from_context == Some(true) => return Vec::new(),
        Message::BashExecution(run) => describe_run(run),
        Message::CompactionSummary(message) => format!(
            "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>",
            message.summary
        ),
        Message::BranchSummary(message) => format!(
            "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}\n</summary>",
            message.summary
        ),
        Message::Assistant(_) | Message::ToolResult(_) => return Vec::new(),
    };
    vec![Part::Text(note.into())]
}

fn describe_run(run: &BashExecutionMessage) -> String {
    let mut note = format!("Ran `{}`\n", run.command);
    if run.output.is_empty() {
        note.push_str("(no output)");
    } else {
        let _ = write!(note, "```\n{}\n```", run.output);
    }
    match run.exit_code {
        _ if run.cancelled => note.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => {
            let _ = write!(note, "\n\nCommand exited with code {code}");
        }
        _ => {}
    }
    if let (true, Some(path)) = (run.truncated, &run.full_output_path) {
        let _ = write!(note, "\n\n[Output truncated. Full output: {path}]");
    }
    note
}

fn parts(content: &[Content], images: Images) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for block in content {
        match block {
            Content::Text { text: block } => parts.extend(text(block).map(|text| Part::Text(text.into()))),
            Content::Image { data, mime_type } => parts.push(match images {
                Images::Sent => Part::Image { data, mime_type },
                Images::Replaced(note) => Part::Text(note.into()),
            }),
        }
    }
    parts
}

/// Returns the text unless it is blank. Providers refuse blank texts.
fn text(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Returns a model with some fields overridden.
    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    pub(crate) fn model(changes: Value) -> Model {
        let mut model = json!({
            "id": "m", "name": "m", "api": "a", "provider": "p", "baseUrl": "http://h", "reasoning": true,
            "input": ["text"], "cost": {}, "contextWindow": 200_000, "maxTokens": 32000,
        });
        model.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        serde_json::from_value(model).unwrap()
    }

    /// Returns messages in the form of the session file; timestamps are optional.
    #[expect(clippy::needless_pass_by_value, reason = "literals read better without a reference")]
    pub(crate) fn messages(json: Value) -> Vec<Arc<Message>> {
        let all = json.as_array().unwrap().iter().cloned().map(|mut message| {
            message["timestamp"] = json!(1);
            Arc::new(serde_json::from_value(message).unwrap())
        });
        all.collect()
    }

    /// Returns the request of a conversation.
    pub(crate) fn request(messages: Vec<Arc<Message>>, model: Model) -> ModelRequest {
        ModelRequest { model: Arc::new(model), messages, ..crate::output_limit::tests::request(json!({})) }
    }

    fn call(id: &str) -> Value {
        json!({"type": "toolCall", "id": id, "name": "ls", "arguments": {}})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "ls", "content": text, "isError": false})
    }

    #[test]
    fn every_call_has_one_result_after_its_answer() {
        let messages = messages(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call("1"), call("2"), call("3")], "stopReason": "toolUse"},
            result("2", "two"),
            {"role": "user", "content": "steer"},
            result("1", "one"),
            {"role": "assistant", "content": [call("1")], "stopReason": "toolUse"},
            result("1", "again"),
            result("9", "nobody asked"),
        ]));
        let request = request(messages, model(json!({})));
        let turns = turns(&request);
        let shown: Vec<String> = turns
            .iter()
            .map(|turn| match turn {
                Turn::User(parts) => format!("{parts:?}"),
                Turn::Assistant(pieces) => format!("{} calls", pieces.len()),
                Turn::Results(all) => {
                    let texts = all.iter().map(|one| match &one.parts[0] {
                        Part::Text(text) => text.split('.').next().unwrap_or_default().to_owned(),
                        Part::Image { .. } => String::new(),
                    });
                    texts.collect::<Vec<_>>().join("|")
                }
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"[Text("go")]"#,
                "3 calls",
                "one|two|No result was recorded for this call",
                r#"[Text("steer")]"#,
                "1 calls",
                "again"
            ]
        );
    }

    #[test]
    fn failed_answers_are_omitted_with_their_results() {
        let messages = messages(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "text", "text": "half"}, call("1")], "stopReason": "aborted"},
            result("1", "one"),
            {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "x"},
            {"role": "assistant", "content": [{"type": "text", "text": "  "}], "stopReason": "stop"},
        ]));
        let request = request(messages, model(json!({})));
        assert_eq!(turns(&request), [Turn::User(vec![Part::Text("go".into())])]);
    }

    #[test]
    fn notes_become_user_messages() {
        let messages = messages(json!([
            {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2, "cancelled": false, "truncated": true, "fullOutputPath": "/t"},
            {"role": "bashExecution", "command": "ls", "output": "", "cancelled": true, "truncated": false},
            {"role": "bashExecution", "command": "x", "output": "", "cancelled": false, "truncated": false, "excludeFromContext": true},
            {"role": "compactionSummary", "summary": "S", "tokensBefore": 1},
            {"role": "custom", "customType": "c", "content": "note"},
        ]));
        let request = request(messages, model(json!({})));
        let turns = turns(&request);
        let texts: Vec<&str> = turns
            .iter()
            .map(|turn| match turn {
                Turn::User(parts) => match &parts[0] {
                    Part::Text(text) => text.as_ref(),
                    Part::Image { .. } => "",
                },
                _ => "",
            })
            .collect();
        assert_eq!(
            texts,
            [
                "Ran `ls`\n```\na\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /t]",
                "Ran `ls`\n(no output)\n\n(command cancelled)",
                "The conversation history before this point was compacted into the following summary:\n\n<summary>\nS\n</summary>",
                "note",
            ]
        );
    }

    #[test]
    fn images_are_sent_only_to_models_that_accept_them() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let messages = messages(json!([{"role": "user", "content": [image]}]));
        let seeing = request(messages.clone(), model(json!({"input": ["text", "image"]})));
        assert_eq!(turns(&seeing), [Turn::User(vec![Part::Image { data: "aGk=", mime_type: "image/png" }])]);
        let options = crate::RequestOptions { block_images: true, ..seeing.options };
        let blocked = ModelRequest { options, ..seeing };
        assert_eq!(turns(&blocked), [Turn::User(vec![Part::Text(BLOCKED_IMAGE.into())])]);
        let blind = request(messages, model(json!({})));
        assert_eq!(turns(&blind), [Turn::User(vec![Part::Text(NO_IMAGE.into())])]);
    }

    #[test]
    fn thinking_is_kept_only_for_its_model() {
        let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"});
        let hidden = json!({"type": "thinking", "thinking": "", "thinkingSignature": "s", "redacted": true});
        let messages = messages(json!([
            {"role": "assistant", "content": [thinking, hidden], "api": "a", "provider": "p", "model": "m"},
        ]));
        let own = request(messages.clone(), model(json!({})));
        let own = turns(&own);
        assert!(
            matches!(&own[..], [Turn::Assistant(pieces)] if matches!(pieces[..], [AnswerPart::Thinking(_), AnswerPart::Thinking(_)]))
        );
        let other = request(messages, model(json!({"id": "other"})));
        assert_eq!(turns(&other), [Turn::Assistant(vec![AnswerPart::Text { text: "hm", signature: None }])]);
    }
}
