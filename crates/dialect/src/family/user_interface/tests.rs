use std::sync::Arc;
use std::time::Duration;

use bowline_core::ask::{Approval, ApprovalKind, AskAnswer, Terms};
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
        takes_keys: false,
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
    check(Style::Pi, &page(None, Some("Log in")), Some(r#""notify","message":"Log in\nhttps://a.example""#));
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
