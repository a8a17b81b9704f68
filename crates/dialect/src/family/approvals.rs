//! Questions about tool calls as records of their own, for clients that want them, and the commands about them.

use std::borrow::Cow;

use bowline_core::ask::{Approval, ApprovalKind, Decision, ReasonCode, Remembered, Terms};
use bowline_core::command::Command;
use bowline_core::event::AskEnd;
use bowline_core::message::Arguments;
use bowline_core::reply::ApprovalState;
use bowline_core::sandbox::{AskMode, Grants};
use bowline_wire::Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{AnyText, OneOf, Text};
use crate::json::{self, milliseconds};

pub(crate) const SET_APPROVALS: Row = Row {
    name: "set_approvals",
    about: "Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than it is \
            now, unless bowline was started with `--client-may-widen`.",
    fields: &[Field::required(
        "ask",
        OneOf(&["never", "on-request", "untrusted"]),
        "`never`: what would have to be asked about is refused. `on-request`: when a rule says so, and when a call wants \
         more than the sandbox allows. `untrusted`: also about every call that may change something, unless a rule allows it.",
    )],
    result: None,
    action: Engine(|mut fields| Command::SetApprovals {
        ask: AskMode::parse(&fields.text("ask")).unwrap_or_default(),
    }),
};

pub(crate) const APPROVAL_RESPONSE: Row = Row {
    name: "approval_response",
    about: "Answers an `approval_request`. It overtakes every other command. Fails if the approval is not open, and if the \
            decision is none of the options, in which case the call is denied.",
    fields: &[
        Field::required("approvalId", Text, "The id of the request."),
        Field::optional(
            "decision",
            AnyText,
            "One of the `options` of the request. Whatever else is sent, also nothing, is a no.",
        ),
        Field::optional("message", Text, "What the model reads if the call is denied."),
    ],
    result: None,
    action: Engine(|mut fields| Command::AnswerApproval {
        approval: fields.text("approvalId"),
        decision: fields.text("decision"),
        message: fields.optional_text("message"),
    }),
};

/// The records about questions.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ApprovalRecord<'event> {
    /// A tool call needs the user's consent. Sent to clients that declared it with `set_client_capabilities`, instead of a
    /// dialog. One is open at a time.
    ApprovalRequest {
        id: String,
        /// Absent if it is about a host and several calls are running.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'event str>,
        #[schemars(extend("enum" = ["command", "file", "network", "tool"]))]
        kind: &'static str,
        tool: &'event str,
        /// The whole command of a call of kind `command` or `network`.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<&'event str>,
        /// The arguments of any other call.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'event Arguments>,
        /// The folder that the call runs in.
        cwd: Cow<'event, str>,
        reason: Reason<'event>,
        /// What the call gets beyond the sandbox; absent if nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        grants: Option<&'event Grants>,
        /// What `approval_response` can decide.
        #[schemars(extend("items" = { "enum": ["once", "session", "project", "deny"] }))]
        options: Vec<&'static str>,
        /// The rule that `session` and `project` remember. Without one, `session` remembers this very call.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<&'event Value>,
        /// A hash of the tool, the arguments, the folder and the grants: what was shown is what runs.
        digest: &'event str,
        /// After this many milliseconds the answer is no; absent if never.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// The answer if there is none.
        #[schemars(extend("const" = "deny"))]
        default: &'static str,
    },
    /// An `approval_request` is decided.
    ApprovalResolved {
        id: String,
        #[schemars(extend("enum" = ["once", "session", "project", "deny"]))]
        decision: &'static str,
        /// Who decided: the client, the end of its time, or an abort.
        #[schemars(extend("enum" = ["client", "timeout", "abort"]))]
        by: &'static str,
    },
}

/// Why consent is needed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApprovalReason")]
pub(crate) struct Reason<'event> {
    #[schemars(extend("enum" = reason_codes()))]
    code: &'static str,
    /// For the user.
    text: &'event str,
}

fn reason_codes() -> Vec<&'static str> {
    ReasonCode::ALL.iter().map(|code| code.as_str()).collect()
}

/// How the user is asked about tool calls.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approvals")]
pub(crate) struct ApprovalStateRecord {
    /// When the user is asked.
    pub ask: AskMode,
    /// `false` if the client let a question time out and never answered one. It is not asked again until it does, or sends
    /// `set_client_capabilities`.
    pub client_answers: bool,
}

impl From<&ApprovalState> for ApprovalStateRecord {
    fn from(state: &ApprovalState) -> Self {
        Self { ask: state.ask, client_answers: state.client_answers }
    }
}

/// Returns the id of a question on the wire.
pub(crate) fn wire_id(terms: &Terms) -> String {
    format!("ap_{}", terms.number)
}

/// Encodes a question.
pub(crate) fn request(approval: &Approval) -> Record {
    let Approval { call_id, tool, arguments, reason, terms } = approval;
    let is_command = matches!(terms.kind, ApprovalKind::Command | ApprovalKind::Network);
    let command = arguments.get("command").and_then(Value::as_str).filter(|_| is_command);
    let is_plain = command.is_some() && arguments.len() == 1;
    let remembered = terms.may_remember.iter().map(|remembered: &Remembered| remembered.as_str());
    encode(&ApprovalRecord::ApprovalRequest {
        id: wire_id(terms),
        tool_call_id: Some(&**call_id).filter(|id| !id.is_empty()),
        kind: terms.kind.as_str(),
        tool,
        command,
        arguments: (!is_plain && !arguments.is_empty()).then_some(&**arguments),
        cwd: terms.working_directory.to_string_lossy(),
        reason: Reason { code: terms.code.as_str(), text: reason },
        grants: Some(&terms.grants).filter(|grants| !grants.is_empty()),
        options: std::iter::once("once").chain(remembered).chain(["deny"]).collect(),
        rule: terms.rule.as_ref(),
        digest: &terms.digest,
        timeout_ms: terms.timeout.map(milliseconds),
        default: "deny",
    })
}

/// Encodes the end of a question.
pub(crate) fn resolved(id: String, decision: &Decision, cause: AskEnd) -> Record {
    let by = match cause {
        AskEnd::Answered => "client",
        AskEnd::TimedOut => "timeout",
        AskEnd::Withdrawn => "abort",
    };
    encode(&ApprovalRecord::ApprovalResolved { id, decision: decision.as_str(), by })
}

fn encode(record: &ApprovalRecord<'_>) -> Record {
    Record::Plain(json::to_line(record))
}
