//! What extensions ask and show, as in `pi` and `omp`: `extension_ui_request`, and its answer `extension_ui_response`.

use std::borrow::Cow;

use bowline_core::ask::{Approval, ApprovalForm, Ask, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use bowline_core::ui::{
    Dialog, DialogAnswer, DialogKind, Display, NotifyLevel, OpenUrl, UiToken, WidgetPlacement,
};
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Incoming;
use crate::answer_table::AnswerRow;
use crate::approval_text::{APPROVE, approval_text, approval_title, choices, yes_or_no};
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
                (self.approval_request(approval), Subject::Approval, wanted)
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
            Display::Widget { key, lines, placement } => Request::SetWidget {
                widget_key: key,
                widget_lines: lines.as_deref(),
                widget_placement: placement.map(WidgetPlacement::as_str),
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

    fn approval_request<'event>(&self, approval: &'event Approval) -> Request<'event> {
        let text = approval_text(approval);
        let timeout = approval.terms.timeout.map(milliseconds);
        match self.style {
            Style::Pi => {
                Request::Confirm { title: approval_title(approval).into(), message: text.into(), timeout }
            }
            Style::Omp { .. } => Request::Select {
                title: omp_title(approval).into(),
                options: yes_or_no().into(),
                option_details: Vec::new(),
                timeout,
            },
        }
    }
}

/// Tells whether a dialog offers more than yes and no.
fn offers_to_remember(approval: &Approval) -> bool {
    approval.terms.form == ApprovalForm::FullDialog && !approval.terms.may_remember.is_empty()
}

fn choice_request<'event>(style: Style, approval: &'event Approval) -> Request<'event> {
    let title = match style {
        Style::Pi => format!("{}\n{}", approval_title(approval), approval_text(approval)),
        Style::Omp { .. } => omp_title(approval),
    };
    Request::Select {
        title: title.into(),
        options: choices(&approval.terms).into(),
        option_details: Vec::new(),
        timeout: approval.terms.timeout.map(milliseconds),
    }
}

fn omp_title(approval: &Approval) -> String {
    let text = approval_text(approval);
    format!("Allow tool: {}\n{text}", approval.tool).trim_end().to_owned()
}

impl Style {
    /// Returns the id of a request: a UUID, or 16 digits.
    pub fn id(self, token: UiToken) -> String {
        match self {
            Self::Pi => uuid(token),
            Self::Omp { .. } => format!("{:016x}", token.0 & u128::from(u64::MAX)),
        }
    }

    /// Describes the requests about tool calls.
    pub fn approval_schema(self, generator: &mut SchemaGenerator) -> Schema {
        let mut methods = variants::<Request<'_>>(generator);
        let name = |method: &Schema| method.as_value()["properties"]["method"]["const"].clone();
        methods.retain(|method| name(method) == "confirm" || name(method) == "select");
        record_union(
            "A tool call needs the user's consent, for users who want to be asked. It waits for an `extension_ui_response` \
             with its id.",
            REQUEST,
            methods,
        )
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
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use bowline_core::ask::{ApprovalKind, AskAnswer, Terms};
    use bowline_core::message::Arguments;
    use serde_json::json;

    use super::*;

    const TOKEN: UiToken = UiToken(0x1516_151f_ccfa_462b_b7b1_8b1e_664f_b441);
    const OMP: Style = Style::Omp { titles: false };

    fn line(record: &Record) -> &str {
        let Record::Plain(bytes) = record else { panic!("{record:?}") };
        std::str::from_utf8(bytes).unwrap()
    }

    fn dialog(kind: DialogKind, timeout: Option<u64>) -> Event {
        let dialog = Dialog { kind, title: "T".to_owned(), timeout: timeout.map(Duration::from_millis) };
        Event::Ask(Ask { id: AskId(7), token: TOKEN, question: Question::Dialog(dialog) })
    }

    fn approval() -> Event {
        let arguments: Arguments = json!({ "command": "ls" }).as_object().cloned().unwrap();
        let approval = Approval {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            arguments: Arc::new(arguments),
            reason: "it runs a command".to_owned(),
            terms: Terms { kind: ApprovalKind::Command, ..Terms::default() },
        };
        Event::Ask(Ask { id: AskId(7), token: TOKEN, question: Question::Approval(Box::new(approval)) })
    }

    /// Checks the record of an event. `expected` is what follows the id.
    #[track_caller]
    fn check(style: Style, event: &Event, expected: Option<&str>) {
        let id = if style == Style::Pi { "1516151f-ccfa-462b-b7b1-8b1e664fb441" } else { "b7b18b1e664fb441" };
        let expected =
            expected.map(|rest| format!(r#"{{"type":"extension_ui_request","id":"{id}","method":{rest}}}"#));
        let record = UserInterface::new(style).encode(event);
        assert_eq!(record.as_ref().map(line), expected.as_deref());
    }

    #[test]
    fn requests_have_the_form_of_the_recordings() {
        let text = |text: &str| Some(text.to_owned());
        let options = || vec!["a".to_owned(), "b".to_owned()];
        let message = || "m".to_owned();
        let select = |descriptions: &[Option<&str>]| DialogKind::Select {
            options: options(),
            descriptions: descriptions.iter().map(|text| text.map(ToOwned::to_owned)).collect(),
        };
        let editor = |prefill, is_prompt| DialogKind::Editor { prefill, is_prompt };
        for (kind, timeout, expected) in [
            (select(&[]), None, r#""select","title":"T","options":["a","b"]"#),
            (select(&[None, None]), None, r#""select","title":"T","options":["a","b"]"#),
            (
                select(&[None, Some("the second")]),
                Some(1),
                r#""select","title":"T","options":["a","b"],"optionDetails":[{},{"description":"the second"}],"timeout":1"#,
            ),
            (select(&[]), Some(60_000), r#""select","title":"T","options":["a","b"],"timeout":60000"#),
            (DialogKind::Confirm { message: message() }, None, r#""confirm","title":"T","message":"m""#),
            (
                DialogKind::Confirm { message: message() },
                Some(300),
                r#""confirm","title":"T","message":"m","timeout":300"#,
            ),
            (DialogKind::Input { placeholder: None }, None, r#""input","title":"T""#),
            (DialogKind::Input { placeholder: text("p") }, None, r#""input","title":"T","placeholder":"p""#),
            (editor(None, false), None, r#""editor","title":"T""#),
            (editor(None, true), None, r#""editor","title":"T","promptStyle":true"#),
            // An editor has a time limit only on this side.
            (editor(text("p"), false), Some(1), r#""editor","title":"T","prefill":"p""#),
        ] {
            for style in [Style::Pi, OMP] {
                check(style, &dialog(kind.clone(), timeout), Some(expected));
            }
        }
        let widget = |lines: Option<&[&str]>, placement| Display::Widget {
            key: "w".to_owned(),
            lines: lines.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
            placement,
        };
        for (display, expected) in [
            (Display::Notify { message: message(), level: None }, r#""notify","message":"m""#),
            (
                Display::Notify { message: message(), level: Some(NotifyLevel::Warning) },
                r#""notify","message":"m","notifyType":"warning""#,
            ),
            (
                Display::Status { key: "k".to_owned(), text: text("t") },
                r#""setStatus","statusKey":"k","statusText":"t""#,
            ),
            (Display::Status { key: "k".to_owned(), text: None }, r#""setStatus","statusKey":"k""#),
            (
                widget(Some(&["l1", "l2"]), Some(WidgetPlacement::BelowEditor)),
                r#""setWidget","widgetKey":"w","widgetLines":["l1","l2"],"widgetPlacement":"belowEditor""#,
            ),
            (widget(None, None), r#""setWidget","widgetKey":"w""#),
            (Display::EditorText { text: message() }, r#""set_editor_text","text":"m""#),
        ] {
            for style in [Style::Pi, OMP] {
                check(style, &Event::Display { token: TOKEN, display: display.clone() }, Some(expected));
            }
        }
    }

    #[test]
    fn page_to_open_is_a_message_where_there_is_no_request_for_it() {
        let page = |launch_url: Option<&str>, instructions: Option<&str>| {
            let page = OpenUrl {
                url: "https://a.example".to_owned(),
                launch_url: launch_url.map(ToOwned::to_owned),
                instructions: instructions.map(ToOwned::to_owned),
            };
            Event::Display { token: TOKEN, display: Display::OpenUrl(page) }
        };
        check(OMP, &page(None, None), Some(r#""open_url","url":"https://a.example""#));
        check(
            OMP,
            &page(Some("https://b.example"), Some("Log in")),
            Some(
                r#""open_url","url":"https://a.example","launchUrl":"https://b.example","instructions":"Log in""#,
            ),
        );
        check(Style::Pi, &page(None, None), Some(r#""notify","message":"https://a.example""#));
        check(
            Style::Pi,
            &page(None, Some("Log in")),
            Some(r#""notify","message":"Log in\nhttps://a.example""#),
        );
    }

    #[test]
    fn omp_sends_titles_only_if_they_are_wanted() {
        let event = Event::Display { token: TOKEN, display: Display::Title { title: "t".to_owned() } };
        check(Style::Pi, &event, Some(r#""setTitle","title":"t""#));
        check(OMP, &event, None);
        check(Style::Omp { titles: true }, &event, Some(r#""setTitle","title":"t""#));
    }

    #[test]
    fn question_about_a_call_is_a_dialog_that_the_agent_has() {
        check(
            Style::Pi,
            &approval(),
            Some(r#""confirm","title":"Allow bash?","message":"Reason: it runs a command\nCommand: ls""#),
        );
        check(
            OMP,
            &approval(),
            Some(
                r#""select","title":"Allow tool: bash\nReason: it runs a command\nCommand: ls","options":["Approve","Deny"]"#,
            ),
        );
    }

    /// Returns the decision that an answer to an event makes; `members` follow the id.
    fn decision(style: Style, event: &Event, members: &str) -> Option<Decision> {
        let mut user_interface = UserInterface::new(style);
        user_interface.encode(event);
        let line = format!(r#"{{"type":"extension_ui_response","id":"{}"{members}}}"#, style.id(TOKEN));
        match user_interface.decode(&ClientAnswer { row: Some(&RESPONSE), id: None, line })? {
            Incoming::Answer { answer: AskAnswer { id: AskId(7), decision }, .. } => Some(decision),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn answers_are_read_for_the_question_that_they_answer() {
        let text = dialog(DialogKind::Input { placeholder: None }, None);
        let confirm = dialog(DialogKind::Confirm { message: String::new() }, None);
        let value = |text: &str| DialogAnswer::Value(text.to_owned());
        for (event, members, expected) in [
            (&text, r#","value":"x""#, value("x")),
            (&text, r#","value":"""#, value("")),
            (&text, r#","value":"x","confirmed":true"#, value("x")),
            (&text, r#","value":"x","cancelled":false"#, value("x")),
            (&text, r#","value":"x","cancelled":true"#, DialogAnswer::Cancelled),
            (&text, r#","cancelled":true,"timedOut":true"#, DialogAnswer::Cancelled),
            (&text, r#","confirmed":true"#, DialogAnswer::Cancelled),
            (&text, r#","value":7"#, DialogAnswer::Cancelled),
            (&text, "", DialogAnswer::Cancelled),
            (&confirm, r#","confirmed":true"#, DialogAnswer::Confirmed(true)),
            (&confirm, r#","confirmed":false"#, DialogAnswer::Confirmed(false)),
            (&confirm, r#","value":"yes","confirmed":true"#, DialogAnswer::Confirmed(true)),
            (&confirm, r#","value":"yes""#, DialogAnswer::Cancelled),
        ] {
            for style in [Style::Pi, OMP] {
                let expected = Some(Decision::Dialog(expected.clone()));
                assert_eq!(decision(style, event, members), expected, "{members}");
            }
        }
    }

    #[test]
    fn only_consent_allows_a_call() {
        let denied = Some(Decision::Deny { reason: None });
        for (style, members, is_allowed) in [
            (Style::Pi, r#","confirmed":true"#, true),
            (Style::Pi, r#","confirmed":false"#, false),
            (Style::Pi, r#","value":"Approve""#, false),
            (Style::Pi, r#","confirmed":true,"cancelled":true"#, false),
            (OMP, r#","value":"Approve""#, true),
            (OMP, r#","value":"Deny""#, false),
            (OMP, r#","value":"approve""#, false),
            (OMP, r#","confirmed":true"#, false),
        ] {
            let expected = if is_allowed { Some(Decision::Allow) } else { denied.clone() };
            assert_eq!(decision(style, &approval(), members), expected, "{style:?} {members}");
        }
    }

    #[test]
    fn answers_to_nothing_are_ignored() {
        let mut user_interface = UserInterface::new(Style::Pi);
        let answer = |user_interface: &UserInterface, id: &str| {
            let line = format!(r#"{{"type":"extension_ui_response","id":{id},"value":"x"}}"#);
            user_interface.decode(&ClientAnswer { row: Some(&RESPONSE), id: None, line })
        };
        let id = format!("{:?}", uuid(TOKEN));
        assert_eq!(answer(&user_interface, &id), None);
        user_interface.encode(&dialog(DialogKind::Input { placeholder: None }, None));
        for other in ["\"x\"", "7", "null", "{}"] {
            assert_eq!(answer(&user_interface, other), None, "{other}");
        }
        assert!(answer(&user_interface, &id).is_some());
        user_interface.encode(&resolved(AskEnd::Answered));
        assert_eq!(answer(&user_interface, &id), None, "a second answer");
    }

    fn resolved(cause: AskEnd) -> Event {
        Event::AskResolved { id: AskId(7), decision: Decision::Dialog(DialogAnswer::Cancelled), cause }
    }

    #[test]
    fn only_omp_is_told_that_a_dialog_is_withdrawn_and_of_no_other_end() {
        for (style, cause, is_told) in [
            (OMP, AskEnd::Withdrawn, true),
            (OMP, AskEnd::TimedOut, false),
            (OMP, AskEnd::Answered, false),
            (Style::Pi, AskEnd::Withdrawn, false),
        ] {
            let mut user_interface = UserInterface::new(style);
            user_interface.encode(&dialog(DialogKind::Input { placeholder: None }, None));
            let record = user_interface.encode(&resolved(cause));
            let expected = r#"{"type":"extension_ui_request","id":"484e74e199b04bbe","method":"cancel","targetId":"b7b18b1e664fb441"}"#;
            assert_eq!(record.as_ref().map(line), is_told.then_some(expected), "{style:?} {cause:?}");
        }
    }
}
