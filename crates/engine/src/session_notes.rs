//! What a session's file says beside the conversation: the list of tasks, and the stream rules that have stepped in.
//!
//! Both are stored as data of an extension, so that every program that reads the format skips what it does not know.

use std::sync::Arc;

use bowline_core::ask::{Approval, Decision};
use bowline_core::message::Message;
use bowline_core::todo::TodoPhase;
use bowline_session::{Context, EntryBody, Session};
use bowline_tools::{TODO, check_todos};
use serde_json::{Value, json};

/// The types of the entries.
const TODOS: &str = "user_todo_edit";
const RULES: &str = "ttsr_injection";
const APPROVAL: &str = "bowline.approval";

/// The most names of rules that are taken from a file.
const MAX_RULES: usize = 1000;

/// What a file says beside the conversation.
#[derive(Debug, Default)]
pub(crate) struct SessionNotes {
    pub todos: Arc<[TodoPhase]>,
    /// The names of the rules that have stepped in.
    pub rules: Vec<String>,
}

impl SessionNotes {
    /// Reads the notes on the current branch.
    pub fn read(file: &Session, context: &Context) -> Result<Self, bowline_session::Error> {
        let mut todos = None;
        let mut rules = Vec::new();
        file.custom_data(&[TODOS, RULES], |custom| {
            if custom.custom_type == TODOS {
                todos = todos.take().or_else(|| phases(&custom.data));
            } else {
                let names = custom.data["injectedRules"].as_array().into_iter().flatten();
                rules.extend(names.filter_map(Value::as_str).map(ToOwned::to_owned));
            }
            rules.len() > MAX_RULES
        })?;
        let todos = todos.or_else(|| todos_of_calls(context)).unwrap_or_default();
        Ok(Self { todos: todos.into(), rules })
    }
}

/// Returns the entry that keeps the list of tasks.
pub(crate) fn todos_entry(phases: &[TodoPhase]) -> EntryBody {
    EntryBody::Custom { custom_type: TODOS.to_owned(), data: Some(json!({ "phases": phases })) }
}

/// Returns the entry that keeps which rules have stepped in.
pub(crate) fn rules_entry(names: &[&str]) -> EntryBody {
    EntryBody::Custom { custom_type: RULES.to_owned(), data: Some(json!({ "injectedRules": names })) }
}

/// Returns the entry that says who decided what about a call, and when.
pub(crate) fn approval_entry(
    approval: &Approval,
    decision: &Decision,
    by: &str,
    asked_at: u64,
    decided_at: u64,
) -> EntryBody {
    let Approval { call_id, tool, reason, terms, .. } = approval;
    let mut data = json!({
        "tool": tool,
        "digest": terms.digest,
        "reason": { "code": terms.code.as_str(), "text": reason },
        "decision": decision.as_str(),
        "by": by,
        "askedAt": asked_at,
        "decidedAt": decided_at,
    });
    // One that was answered together with an equal one was never shown.
    if terms.number > 0 {
        data["id"] = json!(format!("ap_{}", terms.number));
    }
    if !call_id.is_empty() {
        data["toolCallId"] = json!(call_id);
    }
    if !terms.grants.is_empty() {
        data["grants"] = json!(terms.grants);
    }
    if let (Some(rule), Decision::AllowFor(_)) = (&terms.rule, decision) {
        data["rule"] = rule.clone();
    }
    if let Decision::Deny { reason: Some(message) } = decision {
        data["message"] = json!(message);
    }
    EntryBody::Custom { custom_type: APPROVAL.to_owned(), data: Some(data) }
}

/// Returns the list in the newest result of the tool, in sessions of agents that keep it only there.
fn todos_of_calls(context: &Context) -> Option<Vec<TodoPhase>> {
    context.messages.iter().rev().find_map(|message| match &**message {
        Message::ToolResult(result) if result.tool_name == TODO && !result.is_error => {
            phases(result.details.as_ref()?)
        }
        _ => None,
    })
}

/// Returns the list in the data of an entry or of a result, if it is one.
fn phases(data: &Value) -> Option<Vec<TodoPhase>> {
    let phases: Vec<TodoPhase> = serde_json::from_value(data.get("phases")?.clone()).ok()?;
    check_todos(&phases).is_ok().then_some(phases)
}
