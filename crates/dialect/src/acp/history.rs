//! The conversation of a session of before, as updates.

use std::collections::{HashMap, HashSet};

use bowline_core::message::join_text;
use bowline_core::message::{
    AssistantContent, AssistantMessage, BashExecutionMessage, Content, Message, ToolCall, ToolResultMessage,
};
use bowline_wire::Record;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client::Client;
use super::fitting::{self, LONGEST_TEXT};
use super::results::{Block, CallContent, PlanEntry, ToolCallFields, Update};
use super::seats::Seat;
use super::{records, tool_calls};

/// An entry of a session's file, as far as it matters here.
#[derive(Deserialize)]
struct Entry {
    r#type: String,
    #[serde(default)]
    id: String,
    #[serde(default, rename = "parentId")]
    parent: Option<String>,
    #[serde(default)]
    message: Option<Message>,
    /// The name of a session.
    #[serde(default)]
    name: Option<String>,
    /// What takes the place of what was compacted away.
    #[serde(default)]
    summary: Option<String>,
    /// The entry that an edit of the conversation is about, and what takes its place.
    #[serde(default, rename = "targetId")]
    target: Option<String>,
    #[serde(default)]
    replacement: Option<IgnoredAny>,
}

/// Returns the entries that are not part of the conversation any more, such as an answer that was asked for again. The last
/// edit of an entry counts.
fn removed<'entries>(branch: &[&'entries Entry]) -> HashSet<&'entries str> {
    let mut removed = HashSet::new();
    for entry in branch.iter().filter(|entry| entry.r#type == "context_edit") {
        let Some(target) = entry.target.as_deref() else { continue };
        if entry.replacement.is_some() {
            removed.remove(target);
        } else {
            removed.insert(target);
        }
    }
    removed
}

/// Sends the conversation of a session: its current branch, also what was compacted away.
pub(super) fn replay(
    seat: &mut Seat,
    client: Client,
    entries: &[Box<RawValue>],
    leaf: Option<&str>,
    records: &mut Vec<Record>,
) {
    let entries = read(entries);
    take_over(seat, &entries);
    let mut branch = branch(&entries, leaf);
    let removed = removed(&branch);
    branch.retain(|entry| !removed.contains(entry.id.as_str()));
    let results: HashMap<&str, &ToolResultMessage> = branch
        .iter()
        .filter_map(|entry| match &entry.message {
            Some(Message::ToolResult(result)) => Some((result.tool_call_id.as_str(), result)),
            _ => None,
        })
        .collect();
    let mut last_plan = None;
    for entry in branch {
        match &entry.message {
            Some(Message::User(message)) => show_blocks(seat, &entry.id, &message.content, records),
            Some(Message::Assistant(answer)) => show_answer(seat, &entry.id, answer, &results, records),
            Some(Message::BashExecution(command)) => show_command(seat, &entry.id, command, records),
            Some(Message::Custom(message)) if message.display => {
                show_blocks(seat, &entry.id, &message.content, records);
            }
            Some(Message::ToolResult(result)) if result.tool_name == "todo" => {
                last_plan = result.details.as_ref().and_then(plan).or(last_plan);
            }
            _ => {}
        }
        if entry.r#type == "compaction" && client.shows_compactions {
            let text = fitting::end_of(entry.summary.as_deref().unwrap_or_default(), LONGEST_TEXT);
            let update = Update::Compaction {
                compaction_id: entry.id.clone(),
                status: "completed",
                summary: Some(vec![Block::Text { text }]),
                error: None,
            };
            records.push(records::update(&seat.id, &update));
        }
    }
    records.extend(last_plan.map(|plan| records::update(&seat.id, &plan)));
}

/// Takes over what a session of before has cost, without showing it.
pub(super) fn remember(seat: &mut Seat, entries: &[Box<RawValue>]) {
    let entries = read(entries);
    take_over(seat, &entries);
}

fn read(entries: &[Box<RawValue>]) -> Vec<Entry> {
    entries.iter().filter_map(|entry| serde_json::from_str(entry.get()).ok()).collect()
}

fn take_over(seat: &mut Seat, entries: &[Entry]) {
    seat.cost = 0.0;
    for entry in entries {
        match &entry.message {
            Some(Message::Assistant(answer)) => seat.cost += answer.usage.cost.total,
            Some(Message::User(_)) => seat.has_title = true,
            _ => {}
        }
        seat.has_title |= entry.r#type == "session_info" && entry.name.is_some();
    }
}

/// Returns the entries from the first to the current one.
fn branch<'entries>(entries: &'entries [Entry], leaf: Option<&str>) -> Vec<&'entries Entry> {
    let by_id: HashMap<&str, &Entry> = entries.iter().map(|entry| (entry.id.as_str(), entry)).collect();
    let mut branch = Vec::new();
    let mut next = leaf.and_then(|leaf| by_id.get(leaf));
    while let Some(entry) = next {
        branch.push(*entry);
        // A damaged file may have a circle.
        if branch.len() > entries.len() {
            break;
        }
        next = entry.parent.as_deref().and_then(|parent| by_id.get(parent));
    }
    branch.reverse();
    branch
}

/// Shows blocks as a message of the user. A text that is too long for a message is several pieces of one.
pub(super) fn show_blocks(seat: &Seat, message_id: &str, blocks: &[Content], records: &mut Vec<Record>) {
    let mut show = |content| {
        records.push(records::update(&seat.id, &Update::UserMessageChunk { content, message_id }));
    };
    for block in blocks {
        match block {
            Content::Text { text } if text.is_empty() => {}
            Content::Text { text } => {
                for piece in fitting::pieces(text, LONGEST_TEXT) {
                    show(Block::Text { text: piece.to_owned() });
                }
            }
            Content::Image { data, mime_type } => {
                show(Block::Image { data: data.clone(), mime_type: mime_type.clone() });
            }
        }
    }
}

fn show_answer(
    seat: &Seat,
    id: &str,
    answer: &AssistantMessage,
    results: &HashMap<&str, &ToolResultMessage>,
    records: &mut Vec<Record>,
) {
    let thinking_id = format!("{id}-thinking");
    for block in &answer.content {
        match block {
            AssistantContent::Text(block) if !block.text.is_empty() => {
                for piece in fitting::pieces(&block.text, LONGEST_TEXT) {
                    let content = Block::Text { text: piece.to_owned() };
                    let update = Update::AgentMessageChunk { content, message_id: id };
                    records.push(records::update(&seat.id, &update));
                }
            }
            AssistantContent::Thinking(block) if !block.thinking.is_empty() => {
                for piece in fitting::pieces(&block.thinking, LONGEST_TEXT) {
                    let content = Block::Text { text: piece.to_owned() };
                    let update = Update::AgentThoughtChunk { content, message_id: &thinking_id };
                    records.push(records::update(&seat.id, &update));
                }
            }
            AssistantContent::ToolCall(call) => {
                let result = results.get(call.id.as_str()).copied();
                let update = Update::ToolCall(Box::new(past_call(seat, call, result)));
                records.push(records::update(&seat.id, &update));
            }
            AssistantContent::Text(_) | AssistantContent::Thinking(_) => {}
        }
    }
}

/// Returns a call of before with its end; one without a result has failed.
fn past_call(seat: &Seat, call: &ToolCall, result: Option<&ToolResultMessage>) -> ToolCallFields {
    let shown = tool_calls::shown(&call.name, &call.arguments, &seat.folder);
    let details = result.and_then(|result| result.details.as_ref());
    let is_error = result.is_none_or(|result| result.is_error);
    let output = result.map(|result| result.content.as_slice()).unwrap_or_default();
    let text: String = join_text(output);
    let found = tool_calls::found_places(&call.name, &call.arguments, details, &text, &seat.folder);
    let mut facts = tool_calls::raw_output(details, None);
    if let Some(code) = tool_calls::exit_code(&call.name, &text, is_error).filter(|_| result.is_some()) {
        facts.get_or_insert_with(|| json!({}))["exitCode"] = json!(code);
    }
    ToolCallFields {
        tool_call_id: call.id.clone(),
        title: tool_calls::final_title(&call.name, details).or(Some(shown.title)),
        name: Some(call.name.clone()),
        kind: Some(shown.kind),
        status: Some(if is_error { "failed" } else { "completed" }),
        content: Some(tool_calls::content(
            &call.name,
            &call.arguments,
            output,
            details,
            is_error,
            &seat.folder,
        )),
        locations: Some(found.unwrap_or(shown.locations)).filter(|places| !places.is_empty()),
        raw_input: Some(fitting::arguments(&call.arguments)),
        raw_output: facts,
        meta: None,
    }
}

/// Shows a command that the user ran.
fn show_command(seat: &Seat, id: &str, command: &BashExecutionMessage, records: &mut Vec<Record>) {
    let is_error = command.exit_code != Some(0);
    let text = tool_calls::fenced(&fitting::end_of(&command.output, LONGEST_TEXT));
    let fields = ToolCallFields {
        tool_call_id: id.to_owned(),
        title: Some(command.command.clone()),
        name: Some("bash".to_owned()),
        kind: Some("execute"),
        status: Some(if is_error { "failed" } else { "completed" }),
        content: Some(vec![CallContent::Content { content: Block::Text { text } }]),
        ..ToolCallFields::default()
    };
    records.push(records::update(&seat.id, &Update::ToolCall(Box::new(fields))));
}

/// Returns the plan that the details of a call of `todo` hold.
pub(super) fn plan(details: &Value) -> Option<Update<'static>> {
    let phases = details["phases"].as_array()?;
    let tasks = phases.iter().filter_map(|phase| phase["tasks"].as_array()).flatten();
    let entry = |task: &Value| {
        let status = match task["status"].as_str()? {
            "in_progress" => "in_progress",
            "completed" | "abandoned" => "completed",
            _ => "pending",
        };
        Some(PlanEntry { content: task["content"].as_str()?.to_owned(), priority: "medium", status })
    };
    Some(Update::Plan { entries: tasks.filter_map(entry).collect() })
}
