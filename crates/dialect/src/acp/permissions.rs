//! Questions about tool calls.

use bowline_core::SessionTag;
use bowline_core::ask::{Approval, Ask, AskAnswer, AskId, Decision, Question, Remembered};
use bowline_core::event::AskEnd;
use bowline_core::ui::DialogAnswer;
use bowline_wire::Record;
use serde_json::Value;

use super::records::PermissionParams;
use super::results::{PermissionOption, ToolCallFields};
use super::seats::Seats;
use super::{Acp, fitting, forms, records, tool_calls};
use crate::Incoming;
use crate::decode::ClientAnswer;

const ONCE: &str = "once";
const SESSION: &str = "session";
const PROJECT: &str = "project";
const REJECT: &str = "reject";

/// The questions that the client has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    last: u64,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// The id of the request.
    id: String,
    session: SessionTag,
    ask: AskId,
    /// The call that it is about; none if it is a dialog.
    call_id: Option<String>,
}

impl Permissions {
    /// Notes a question, and returns the id of its request.
    fn add(&mut self, session: SessionTag, ask: AskId, call_id: Option<String>) -> String {
        self.last += 1;
        let id = format!("{}-{}", if call_id.is_some() { "permission" } else { "form" }, self.last);
        self.open.push(Open { id: id.clone(), session, ask, call_id });
        id
    }

    /// Returns the user's answer to a question that is open.
    pub fn answered(&mut self, answer: &ClientAnswer, seats: &mut Seats) -> Option<Incoming> {
        let id: String = serde_json::from_str(answer.id.as_deref()?).ok()?;
        let place = self.open.iter().position(|open| open.id == id)?;
        let open = &self.open[place];
        let (session, ask, is_permission) = (open.session, open.ask, open.call_id.is_some());
        let line: Value = serde_json::from_str(&answer.line).ok()?;
        let is_error = line.get("result").is_none();
        if is_permission
            && is_error
            && let Some(seat) = seats.get_mut(session)
        {
            seat.refuses_questions = true;
        }
        let decision = if is_permission {
            decision(&line["result"]["outcome"])
        } else {
            Decision::Dialog(forms::answer(&line["result"]))
        };
        Some(Incoming::Answer { session, answer: AskAnswer { id: ask, decision } })
    }
}

fn decision(outcome: &Value) -> Decision {
    let option = outcome["optionId"].as_str().filter(|_| outcome["outcome"] == "selected");
    match option {
        Some(ONCE) => Decision::Allow,
        Some(SESSION) => Decision::AllowFor(Remembered::Session),
        Some(PROJECT) => Decision::AllowFor(Remembered::Project),
        _ => Decision::Deny { reason: None },
    }
}

impl Acp {
    /// Asks the client, or answers for it.
    pub(super) fn ask(&mut self, session: SessionTag, ask: &Ask, records: &mut Vec<Record>) {
        let fills_forms = self.client.is_some_and(|client| client.fills_forms);
        let Some(seat) = self.seats.get_mut(session) else { return };
        let decision = match &ask.question {
            Question::Approval(_) if seat.refuses_questions => {
                Decision::NotAsked { why: "the client does not answer questions about calls" }
            }
            Question::Dialog(dialog) if fills_forms => {
                let id = self.permissions.add(session, ask.id, None);
                records.push(records::request(&id, records::FORM, forms::form(&seat.id, dialog)));
                return;
            }
            Question::Dialog(_) => Decision::Dialog(DialogAnswer::Cancelled),
            Question::Approval(approval) => {
                let id = self.permissions.add(session, ask.id, Some(approval.call_id.clone()));
                let tool_call = asked_call(approval);
                let options = choices(approval);
                let params = PermissionParams { session_id: &seat.id, tool_call, options };
                records.push(records::request(&id, records::PERMISSION, params));
                return;
            }
        };
        let answer = AskAnswer { id: ask.id, decision };
        self.upcoming.push_back(Incoming::Answer { session, answer });
    }

    /// A question is decided. If it was not the client who did so, it is told.
    pub(super) fn ask_resolved(
        &mut self,
        session: SessionTag,
        ask: AskId,
        decision: &Decision,
        cause: AskEnd,
        records: &mut Vec<Record>,
    ) {
        let is_it = |open: &Open| open.session == session && open.ask == ask;
        let Some(place) = self.permissions.open.iter().position(is_it) else { return };
        let open = self.permissions.open.remove(place);
        if cause != AskEnd::Answered {
            records.push(records::withdrawal(&open.id));
        }
        let is_allowed = matches!(decision, Decision::Allow | Decision::AllowFor(_));
        if let (true, Some(call_id), Some(seat)) = (is_allowed, open.call_id, self.seats.get_mut(session)) {
            seat.call_begins(&call_id, records);
        }
    }
}

fn asked_call(approval: &Approval) -> ToolCallFields {
    let folder = &approval.terms.working_directory;
    let shown = tool_calls::shown(&approval.tool, &approval.arguments, folder);
    ToolCallFields {
        tool_call_id: if approval.call_id.is_empty() {
            "network".to_owned()
        } else {
            approval.call_id.clone()
        },
        title: Some(shown.title),
        kind: Some(shown.kind),
        status: Some("pending"),
        content: tool_calls::planned_change(&approval.tool, &approval.arguments, folder),
        locations: Some(shown.locations).filter(|places| !places.is_empty()),
        raw_input: Some(fitting::arguments(&approval.arguments)),
        ..ToolCallFields::default()
    }
}

fn choices(approval: &Approval) -> Vec<PermissionOption> {
    let option = |option_id, name, kind| PermissionOption { option_id, name, kind };
    let mut options = vec![option(ONCE, "Allow", "allow_once")];
    options.extend(approval.terms.may_remember.iter().map(|remembered| match remembered {
        Remembered::Session => option(SESSION, "Allow calls like this in this session", "allow_always"),
        Remembered::Project => {
            option(PROJECT, "Always allow calls like this in this project", "allow_always")
        }
    }));
    options.push(option(REJECT, "Reject", "reject_once"));
    options
}
