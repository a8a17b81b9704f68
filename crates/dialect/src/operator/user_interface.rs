//! What extensions ask and show, as in operator-use's code. It has four methods, of which nothing says what their fields
//! are; they have the names that they have in pi. The client answers with `value` or `cancelled`.

use bowline_core::ask::{ApprovalForm, Ask, Question};
use bowline_core::event::{AskEnd, Event};
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display, ExtensionError, NotifyLevel, UiToken};
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Incoming;
use crate::answer_table::AnswerRow;
use crate::approval_text::{approval_text, approval_title, choices};
use crate::decode::ClientAnswer;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Text, TextOrBoolean};
use crate::json::{self, milliseconds};
use crate::open_questions::{Open, OpenQuestions, Subject, Wanted, uuid};
use crate::schema::{record_union, variants};

/// The type of a request.
const REQUEST: &str = "extension_ui_request";

/// The client's answer to a request.
pub(super) const RESPONSE: AnswerRow = AnswerRow {
    name: "extension_ui_response",
    about: "Answers a dialog: `select` and `input` with a text, `confirm` with `true` or `false`. Any other answer, like \
            `cancelled`, means that the user gave none. An answer to a request that is unknown or no longer open is ignored.",
    fields: &[
        Field::required("id", Text, "The id of the request."),
        Field::optional(
            "value",
            TextOrBoolean,
            "The text, the chosen option, or whether the user agreed. An option that was not offered is passed on.",
        ),
        Field::optional(
            "cancelled",
            Boolean,
            "`true` if the user closed the dialog; `value` is ignored then.",
        ),
    ],
};

/// What is asked or shown.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", rename_all = "snake_case")]
enum Request<'event> {
    /// Asks the user to choose an option.
    Select {
        title: &'event str,
        options: &'event [String],
        /// After this many milliseconds the agent goes on without an answer; absent if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Asks the user for consent.
    Confirm {
        title: &'event str,
        message: &'event str,
        /// After this many milliseconds the agent goes on without an answer; absent if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Asks the user for a text.
    Input {
        title: &'event str,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'event str>,
        /// What the text is at first.
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'event str>,
    },
    /// Shows a message. Not answered.
    Notify {
        message: &'event str,
        /// How much it matters; absent for `info`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["info", "warning", "error"]))]
        level: Option<&'static str>,
    },
}

#[derive(Serialize)]
struct RequestRecord<'event> {
    r#type: &'static str,
    id: String,
    #[serde(flatten)]
    request: Request<'event>,
}

/// Encodes what extensions ask and show, and decodes the answers.
#[derive(Debug, Default)]
pub(super) struct UserInterface {
    open: OpenQuestions,
    /// How many failures of extensions were shown.
    failures: u64,
}

impl UserInterface {
    /// Encodes an event that is about the user interface, if it has a record.
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        match event {
            Event::Ask(ask) => Some(self.ask(ask)),
            Event::AskResolved { id, cause, .. } => {
                // An answer that comes too late decides nothing, but shows that the client answers.
                if *cause != AskEnd::TimedOut || self.open.subject(*id) == Some(Subject::Dialog) {
                    self.open.remove(*id);
                }
                None
            }
            Event::Display { token, display: Display::Notify { message, level } } => {
                let level = level.map(NotifyLevel::as_str);
                Some(encode(uuid(*token), Request::Notify { message, level }))
            }
            Event::Display { token, display: Display::OpenUrl(page) } => {
                let (message, level) = (&page.message(), None);
                Some(encode(uuid(*token), Request::Notify { message, level }))
            }
            Event::ExtensionFailed(error) => Some(self.failed(error)),
            _ => None,
        }
    }

    /// Returns a client's answer for the session, if it answers an open question.
    pub fn decode(&self, answer: &ClientAnswer) -> Option<Incoming> {
        let line: Map<String, Value> = serde_json::from_str(&answer.line).ok()?;
        let id = line.get("id")?.as_str()?;
        self.open.answer(id, |_| content(&line), &DialogAnswer::Confirmed(true))
    }

    fn ask(&mut self, ask: &Ask) -> Record {
        let id = uuid(ask.token);
        let (subject, wanted, record) = match &ask.question {
            Question::Dialog(dialog) => {
                let record = encode(id.clone(), dialog_request(dialog));
                (Subject::Dialog, Wanted::of(&dialog.kind), record)
            }
            Question::Approval(approval) => {
                let (title, message) = (approval_title(approval), approval_text(approval));
                let timeout = approval.terms.timeout.map(milliseconds);
                if approval.terms.form == ApprovalForm::FullDialog && !approval.terms.may_remember.is_empty()
                {
                    let (title, options) = (format!("{title}\n{message}"), choices(&approval.terms));
                    let request = Request::Select { title: &title, options: &options, timeout };
                    (Subject::Choice, Wanted::Text, encode(id.clone(), request))
                } else {
                    let request = Request::Confirm { title: &title, message: &message, timeout };
                    (Subject::Approval, Wanted::YesOrNo, encode(id.clone(), request))
                }
            }
        };
        self.open.add(Open { ask: ask.id, id, token: ask.token, subject, wanted });
        record
    }

    /// Shows a failure of an extension, for which there is no record of its own.
    fn failed(&mut self, error: &ExtensionError) -> Record {
        self.failures += 1;
        let ExtensionError { extension, event, error } = error;
        let message = format!("{extension}: {event}: {error}");
        let level = Some(NotifyLevel::Error.as_str());
        encode(uuid(UiToken(self.failures.into())), Request::Notify { message: &message, level })
    }
}

/// Describes a request.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let about = "An extension asks or shows something, as `method` says. Dialogs wait for an `extension_ui_response` with \
                 their id.";
    record_union(about, REQUEST, variants::<Request<'_>>(generator))
}

fn dialog_request(dialog: &Dialog) -> Request<'_> {
    let title = &*dialog.title;
    match &dialog.kind {
        DialogKind::Select { options, .. } => Request::Select { title, options, timeout: None },
        DialogKind::Confirm { message } => Request::Confirm { title, message, timeout: None },
        DialogKind::Input { placeholder } => {
            Request::Input { title, placeholder: placeholder.as_deref(), prefill: None }
        }
        DialogKind::Editor { prefill, .. } => {
            Request::Input { title, placeholder: None, prefill: prefill.as_deref() }
        }
    }
}

fn encode(id: String, request: Request<'_>) -> Record {
    Record::Plain(json::to_line(&RequestRecord { r#type: REQUEST, id, request }))
}

/// Returns what a client's answer says. Whether it fits the question is up to the engine.
fn content(line: &Map<String, Value>) -> DialogAnswer {
    let is_cancelled = line.get("cancelled").and_then(Value::as_bool).unwrap_or_default();
    match line.get("value") {
        _ if is_cancelled => DialogAnswer::Cancelled,
        Some(Value::String(value)) => DialogAnswer::Value(value.clone()),
        Some(Value::Bool(confirmed)) => DialogAnswer::Confirmed(*confirmed),
        _ => DialogAnswer::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::ask::{AskAnswer, AskId, Decision};

    use super::*;

    const ID: &str = "1516151f-ccfa-462b-b7b1-8b1e664fb441";

    fn ask(kind: DialogKind) -> Event {
        let dialog = Dialog { kind, title: "T".to_owned(), timeout: None };
        let token = UiToken(0x1516_151f_ccfa_462b_b7b1_8b1e_664f_b441);
        Event::Ask(Ask { id: AskId(7), token, question: Question::Dialog(dialog) })
    }

    #[track_caller]
    fn check(event: &Event, expected: Option<&str>) {
        let record = UserInterface::default().encode(event);
        let line = record.map(|record| match record {
            Record::Plain(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        });
        let expected =
            expected.map(|rest| format!(r#"{{"type":"extension_ui_request","id":"{ID}","method":{rest}}}"#));
        assert_eq!(line, expected);
    }

    #[test]
    fn requests_have_the_four_methods_of_the_code() {
        let options = vec!["a".to_owned()];
        check(
            &ask(DialogKind::Select { options, descriptions: Vec::new() }),
            Some(r#""select","title":"T","options":["a"]"#),
        );
        let message = "m".to_owned();
        check(&ask(DialogKind::Confirm { message }), Some(r#""confirm","title":"T","message":"m""#));
        check(&ask(DialogKind::Input { placeholder: None }), Some(r#""input","title":"T""#));
        let prefill = Some("p".to_owned());
        check(
            &ask(DialogKind::Editor { prefill, is_prompt: false }),
            Some(r#""input","title":"T","prefill":"p""#),
        );
        let token = UiToken(0x1516_151f_ccfa_462b_b7b1_8b1e_664f_b441);
        let notify = Display::Notify { message: "m".to_owned(), level: Some(NotifyLevel::Error) };
        let notify = Event::Display { token, display: notify };
        check(&notify, Some(r#""notify","message":"m","level":"error""#));
        check(&Event::Display { token, display: Display::Title { title: "t".to_owned() } }, None);
    }

    #[test]
    fn failures_of_extensions_are_shown_as_notifications() {
        let error = |name: &str| name.to_owned();
        let error =
            ExtensionError { extension: error("a.py"), event: error("input"), error: error("broken") };
        let record = UserInterface::default().encode(&Event::ExtensionFailed(error));
        let Some(Record::Plain(bytes)) = record else { panic!("{record:?}") };
        let line = String::from_utf8(bytes).unwrap();
        assert!(
            line.contains(r#""method":"notify","message":"a.py: input: broken","level":"error""#),
            "{line}"
        );
    }

    #[test]
    fn value_answers_every_dialog() {
        for (kind, members, expected) in [
            (DialogKind::Input { placeholder: None }, r#""value":"x""#, DialogAnswer::Value("x".to_owned())),
            (
                DialogKind::Confirm { message: String::new() },
                r#""value":true"#,
                DialogAnswer::Confirmed(true),
            ),
            (
                DialogKind::Confirm { message: String::new() },
                r#""value":true,"cancelled":true"#,
                DialogAnswer::Cancelled,
            ),
            (DialogKind::Input { placeholder: None }, r#""value":null"#, DialogAnswer::Cancelled),
        ] {
            let mut user_interface = UserInterface::default();
            user_interface.encode(&ask(kind));
            let line = format!(r#"{{"type":"extension_ui_response","id":"{ID}",{members}}}"#);
            let answer = ClientAnswer { row: None, id: None, line };
            let Some(Incoming::Answer { answer: given, .. }) = user_interface.decode(&answer) else {
                panic!("{members}")
            };
            assert_eq!(given, AskAnswer { id: AskId(7), decision: Decision::Dialog(expected) });
            let decision = Decision::Dialog(DialogAnswer::Cancelled);
            user_interface.encode(&Event::AskResolved { id: AskId(7), decision, cause: AskEnd::Answered });
            assert_eq!(user_interface.decode(&answer), None);
        }
    }
}
