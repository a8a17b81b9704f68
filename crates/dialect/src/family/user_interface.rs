//! What extensions ask and show, as in `pi` and `omp`: `extension_ui_request`, and its answer `extension_ui_response`.

mod approval_dialogs;

use std::borrow::Cow;

use bowline_core::ask::{ApprovalForm, Ask, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use bowline_core::ui::{
    Dialog, DialogAnswer, DialogKind, Display, NotifyLevel, OpenUrl, UiToken, WidgetPlacement,
};
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use self::approval_dialogs::{approval_request, choice_request, offers_to_remember};
use crate::Incoming;
use crate::answer_table::AnswerRow;
use crate::approval_text::APPROVE;
use crate::decode::ClientAnswer;
use crate::family::approvals;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Text};
use crate::json::{self, milliseconds};
use crate::open_questions::{Open, OpenQuestions, Subject, Wanted, uuid};
use crate::schema::{record_union, variants};

/// The type of a request.
const REQUEST: &str = "extension_ui_request";

/// The client's answer to a request.
pub(crate) const RESPONSE: AnswerRow = AnswerRow {
    name: "extension_ui_response",
    about: "Answers a dialog: `select`, `input` and `editor` with `value`, `confirm` with `confirmed`. Any other answer, \
            like `cancelled`, means that the user gave none. An answer to a request that is unknown or no longer open is \
            ignored.",
    fields: &[
        Field::required("id", Text, "The id of the request."),
        Field::optional(
            "value",
            Text,
            "The text, or the chosen option. One that was not offered is passed on.",
        ),
        Field::optional("confirmed", Boolean, "Whether the user agreed."),
        Field::optional(
            "cancelled",
            Boolean,
            "`true` if the user closed the dialog; other fields are ignored then.",
        ),
        Field::optional(
            "timedOut",
            Boolean,
            "Whether it was closed because its time was up. Only with `cancelled`.",
        ),
    ],
};

/// What is asked or shown.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Request<'event> {
    /// Asks the user to choose an option. Answered with `value`.
    Select {
        title: Cow<'event, str>,
        options: Cow<'event, [String]>,
        /// What is said about each option, in their order. Absent if nothing is said about any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        option_details: Vec<OptionDetail<'event>>,
        /// After this many milliseconds the agent goes on without an answer; absent if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Asks the user for consent. Answered with `confirmed`.
    Confirm {
        title: Cow<'event, str>,
        message: Cow<'event, str>,
        /// After this many milliseconds the agent goes on without an answer; absent if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Asks the user for a line of text. Answered with `value`.
    Input {
        title: Cow<'event, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'event str>,
        /// After this many milliseconds the agent goes on without an answer; absent if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Asks the user for a text of any length. Answered with `value`.
    Editor {
        title: Cow<'event, str>,
        /// What the text is at first.
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'event str>,
        /// `true` if it is to look and behave like the place where prompts are written.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_style: Option<bool>,
    },
    /// Shows a message. Not answered, like all that follow.
    Notify {
        message: Cow<'event, str>,
        /// How much it matters; absent for `info`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["info", "warning", "error"]))]
        notify_type: Option<&'static str>,
    },
    /// Shows a short text under a key.
    SetStatus {
        status_key: &'event str,
        /// Absent to remove the text of this key.
        #[serde(skip_serializing_if = "Option::is_none")]
        status_text: Option<&'event str>,
    },
    /// Shows lines of text under a key.
    SetWidget {
        widget_key: &'event str,
        /// Absent to remove the lines of this key.
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_lines: Option<&'event [String]>,
        /// Where to show them.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["aboveEditor", "belowEditor"]))]
        widget_placement: Option<&'static str>,
        /// `true` for a component: the client passes keys on with `widget_input`. Only for clients that declared `render`.
        #[serde(skip_serializing_if = "Option::is_none")]
        takes_keys: Option<bool>,
    },
    /// Sets the title of the window.
    SetTitle { title: &'event str },
    /// Replaces what the user is typing.
    #[serde(rename = "set_editor_text")]
    SetEditorText { text: &'event str },
    /// Asks the user to open a web page.
    #[serde(rename = "open_url")]
    OpenUrl {
        url: &'event str,
        /// What to open instead, if `url` is only to be shown.
        #[serde(skip_serializing_if = "Option::is_none")]
        launch_url: Option<&'event str>,
        /// What the user is to do there.
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'event str>,
    },
    /// Withdraws a dialog: nobody waits for its answer any longer.
    Cancel {
        /// The id of the dialog.
        target_id: String,
    },
}

/// What is said about an option.
#[derive(Serialize, JsonSchema)]
struct OptionDetail<'event> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'event str>,
}

#[derive(Serialize)]
struct RequestRecord<'event> {
    r#type: &'static str,
    id: String,
    #[serde(flatten)]
    request: Request<'event>,
}

/// How a dialect of the family phrases requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Pi,
    Omp {
        /// Whether titles of windows are sent.
        titles: bool,
    },
}

/// Encodes what extensions ask and show, and decodes the answers.
#[derive(Debug)]
pub(crate) struct UserInterface {
    style: Style,
    open: OpenQuestions,
}

impl UserInterface {
    pub fn new(style: Style) -> Self {
        Self { style, open: OpenQuestions::default() }
    }

    /// Encodes an event that is about the user interface, if it has a record.
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        match event {
            Event::Ask(ask) => Some(self.ask(ask)),
            Event::AskResolved { id, decision, cause } => self.resolve(*id, decision, *cause),
            Event::Display { token, display } => self.show(*token, display),
            _ => None,
        }
    }

    /// Returns a client's answer for the session, if it answers an open question.
    pub fn decode(&self, answer: &ClientAnswer) -> Option<Incoming> {
        answer.row.filter(|row| row.name == RESPONSE.name)?;
        let line: Map<String, Value> = serde_json::from_str(&answer.line).ok()?;
        let id = line.get("id")?.as_str()?;
        let consent = match self.style {
            Style::Pi => DialogAnswer::Confirmed(true),
            Style::Omp { .. } => DialogAnswer::Value(APPROVE.to_owned()),
        };
        self.open.answer(id, |wanted| content(&line, wanted), &consent)
    }

    fn ask(&mut self, ask: &Ask) -> Record {
        let (request, subject, wanted) = match &ask.question {
            Question::Dialog(dialog) => (dialog_request(dialog), Subject::Dialog, Wanted::of(&dialog.kind)),
            Question::Approval(approval) if approval.terms.form == ApprovalForm::Record => {
                let (subject, wanted) = (Subject::Record, Wanted::Text);
                let id = approvals::wire_id(&approval.terms);
                self.open.add(Open { ask: ask.id, id, token: ask.token, subject, wanted });
                return approvals::request(approval);
            }
            Question::Approval(approval) if offers_to_remember(approval) => {
                (choice_request(self.style, approval), Subject::Choice, Wanted::Text)
            }
            Question::Approval(approval) => {
                let wanted = if self.style == Style::Pi { Wanted::YesOrNo } else { Wanted::Text };
                (approval_request(self.style, approval), Subject::Approval, wanted)
            }
        };
        let id = self.style.id(ask.token);
        self.open.add(Open { ask: ask.id, id: id.clone(), token: ask.token, subject, wanted });
        encode(id, request)
    }

    fn resolve(&mut self, ask: AskId, decision: &Decision, cause: AskEnd) -> Option<Record> {
        let subject = self.open.subject(ask)?;
        if cause == AskEnd::TimedOut && matches!(subject, Subject::Approval | Subject::Choice) {
            // An answer that comes too late decides nothing, but shows that the client answers.
            return None;
        }
        let open = self.open.remove(ask)?;
        if subject == Subject::Record {
            return Some(approvals::resolved(open.id, decision, cause));
        }
        let is_told = matches!(self.style, Style::Omp { .. }) && cause == AskEnd::Withdrawn;
        // An id of its own, as random as that of the dialog.
        let id = self.style.id(UiToken(!open.token.0));
        is_told.then(|| encode(id, Request::Cancel { target_id: open.id }))
    }

    fn show(&self, token: UiToken, display: &Display) -> Option<Record> {
        let request = match display {
            Display::Notify { message, level } => {
                Request::Notify { message: message.into(), notify_type: level.map(NotifyLevel::as_str) }
            }
            Display::Status { key, text } => {
                Request::SetStatus { status_key: key, status_text: text.as_deref() }
            }
            Display::Widget { key, lines, placement, takes_keys } => Request::SetWidget {
                widget_key: key,
                widget_lines: lines.as_deref(),
                widget_placement: placement.map(WidgetPlacement::as_str),
                takes_keys: takes_keys.then_some(true),
            },
            Display::Title { .. } if self.style == (Style::Omp { titles: false }) => return None,
            Display::Title { title } => Request::SetTitle { title },
            Display::EditorText { text } => Request::SetEditorText { text },
            // pi has no such request, but every client of it shows messages.
            Display::OpenUrl(page) if self.style == Style::Pi => {
                Request::Notify { message: page.message().into(), notify_type: None }
            }
            Display::OpenUrl(OpenUrl { url, launch_url, instructions }) => Request::OpenUrl {
                url,
                launch_url: launch_url.as_deref(),
                instructions: instructions.as_deref(),
            },
        };
        Some(encode(self.style.id(token), request))
    }
}

impl Style {
    /// Returns the id of a request: a UUID, or 16 digits.
    pub fn id(self, token: UiToken) -> String {
        match self {
            Self::Pi => uuid(token),
            Self::Omp { .. } => format!("{:016x}", token.0 & u128::from(u64::MAX)),
        }
    }

    /// Describes a request.
    pub fn schema(self, generator: &mut SchemaGenerator) -> Schema {
        let mut methods = variants::<Request<'_>>(generator);
        if self == Self::Pi {
            let name = |method: &Schema| method.as_value()["properties"]["method"]["const"].clone();
            methods.retain(|method| name(method) != "cancel" && name(method) != "open_url");
        }
        record_union(
            "An extension asks or shows something, as `method` says. Dialogs wait for an `extension_ui_response` with \
             their id.",
            REQUEST,
            methods,
        )
    }
}

fn dialog_request(dialog: &Dialog) -> Request<'_> {
    let title = Cow::Borrowed(&*dialog.title);
    let timeout = dialog.timeout.map(milliseconds);
    match &dialog.kind {
        DialogKind::Select { options, descriptions } => Request::Select {
            title,
            options: (&**options).into(),
            option_details: option_details(descriptions),
            timeout,
        },
        DialogKind::Confirm { message } => Request::Confirm { title, message: (&**message).into(), timeout },
        DialogKind::Input { placeholder } => {
            Request::Input { title, placeholder: placeholder.as_deref(), timeout }
        }
        DialogKind::Editor { prefill, is_prompt } => {
            Request::Editor { title, prefill: prefill.as_deref(), prompt_style: is_prompt.then_some(true) }
        }
    }
}

fn option_details(descriptions: &[Option<String>]) -> Vec<OptionDetail<'_>> {
    let are_any = descriptions.iter().any(Option::is_some);
    let described = descriptions.iter().filter(|_| are_any);
    described.map(|description| OptionDetail { description: description.as_deref() }).collect()
}

fn encode(id: String, request: Request<'_>) -> Record {
    Record::Plain(json::to_line(&RequestRecord { r#type: REQUEST, id, request }))
}

/// Returns what a client's answer says. Members that the question does not ask for count as no answer.
fn content(line: &Map<String, Value>, wanted: Wanted) -> DialogAnswer {
    let is_cancelled = line.get("cancelled").and_then(Value::as_bool).unwrap_or_default();
    match (wanted, line.get("value"), line.get("confirmed")) {
        _ if is_cancelled => DialogAnswer::Cancelled,
        (Wanted::Text, Some(Value::String(value)), _) => DialogAnswer::Value(value.clone()),
        (Wanted::YesOrNo, _, Some(Value::Bool(confirmed))) => DialogAnswer::Confirmed(*confirmed),
        _ => DialogAnswer::Cancelled,
    }
}

#[cfg(test)]
mod tests;
