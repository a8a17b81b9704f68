//! Answers in time, late, twice and for others; two questions at once.

use std::time::Duration;

use bowline_testkit::{assert_well_formed, of_type};
use serde_json::{Value, json};

use crate::{asking, confirm, dialog, entries, prompt, results};

const RULE: &str = "It leaves this machine.";

fn rules() -> Value {
    json!({ "approvals": { "rules": [{ "tool": "bash", "prefix": ["touch"], "then": "ask", "why": RULE }] } })
}

#[test]
fn confirm_of_pi_shows_the_call_and_decides_about_it() {
    for confirmed in [true, false] {
        let (server, workspace, mut agent) = asking("on-request", rules(), &["touch ran"]);
        prompt(&mut agent);
        let question = dialog(&mut agent);
        assert_eq!((&question["method"], &question["title"]), (&json!("confirm"), &json!("Allow bash?")));
        let folder = workspace.work().canonicalize().unwrap();
        let expected = format!("Command: touch ran\nFolder: {}\nReason: {RULE}", folder.display());
        assert_eq!(question["message"], expected);
        assert_eq!(question["timeout"], 600_000);
        assert!(!workspace.work().join("ran").exists());
        confirm(&mut agent, &question, confirmed);
        let records = agent.collect_until_settled();
        assert_eq!(workspace.work().join("ran").exists(), confirmed);
        let refusal = "The user rejected this call. Go on without it, or ask the user what to do instead";
        assert_eq!(results(&records)[0].starts_with(refusal), !confirmed);
        assert_eq!(server.requests()[1].body.to_string().contains(refusal), !confirmed, "the model knows");
        let decision = if confirmed { "once" } else { "deny" };
        let [entry] = &entries(&workspace)[..] else { panic!("{:?}", entries(&workspace)) };
        assert_eq!((&entry["decision"], &entry["by"]), (&json!(decision), &json!("client")));
        assert_eq!(entry["reason"], json!({ "code": "rule", "text": RULE }));
        assert!(entry["digest"].as_str().unwrap().starts_with("sha256:") && entry["decidedAt"].is_u64());
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn answers_to_others_late_answers_and_second_answers_decide_nothing() {
    let (server, workspace, mut agent) = asking("on-request", rules(), &["touch one", "touch two"]);
    prompt(&mut agent);
    let first = dialog(&mut agent);
    confirm(&mut agent, &json!({ "id": "somebody-elses" }), true);
    agent.send(json!({ "type": "get_state", "id": "s" }));
    agent.response("s");
    assert!(!workspace.work().join("one").exists(), "an answer for another id allows nothing");
    confirm(&mut agent, &first, false);
    // The second answer is for a question that is decided; it must not be taken for the next one.
    confirm(&mut agent, &first, true);
    let second = dialog(&mut agent);
    assert_ne!(first["id"], second["id"]);
    confirm(&mut agent, &first, true);
    confirm(&mut agent, &second, false);
    let records = agent.collect_until_settled();
    assert_eq!(of_type(&records, "tool_execution_end").len(), 2 - 1, "the first one ended before");
    assert!(!workspace.work().join("one").exists() && !workspace.work().join("two").exists());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn one_dialog_is_open_at_a_time_and_the_others_wait_in_order() {
    let (_server, workspace, mut agent) =
        asking("on-request", rules(), &["touch one", "touch two", "touch three"]);
    prompt(&mut agent);
    for name in ["one", "two", "three"] {
        let question = dialog(&mut agent);
        assert!(
            question["message"].as_str().unwrap().starts_with(&format!("Command: touch {name}\n")),
            "{question}"
        );
        while let Some(record) = agent.next_within(Duration::from_millis(50)) {
            assert_ne!(record["type"], "extension_ui_request", "nothing else is asked meanwhile");
        }
        confirm(&mut agent, &question, name != "two");
    }
    agent.collect_until_settled();
    let exists = |name: &str| workspace.work().join(name).exists();
    assert_eq!([exists("one"), exists("two"), exists("three")], [true, false, true]);
    assert_eq!(entries(&workspace).len(), 3);
}

#[test]
fn silence_is_a_no_and_a_client_that_never_answers_is_not_asked_again() {
    let mut settings = rules();
    settings["approvals"]["timeoutMs"] = json!(50);
    let (server, workspace, mut agent) = asking("on-request", settings, &["touch one"]);
    crate::calling(&server, &["touch two"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    assert_eq!(question["timeout"], 50);
    let records = agent.collect_until_settled();
    assert!(results(&records)[0].starts_with("Nobody answered in time"), "{:?}", results(&records));
    assert_eq!(entries(&workspace)[0]["by"], "timeout");

    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert_eq!(of_type(&records, "extension_ui_request").len(), 0);
    let told = &results(&records)[0];
    assert!(
        told.contains("the client does not answer questions") && told.contains("Go on without it"),
        "{told}"
    );
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state["approvals"], json!({ "ask": "on-request", "clientAnswers": false }));

    // A late answer allows nothing, but shows that somebody is there.
    confirm(&mut agent, &question, true);
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state["approvals"]["clientAnswers"], true);
    crate::calling(&server, &["touch three"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    confirm(&mut agent, &question, true);
    agent.collect_until_settled();
    let exists = |name: &str| workspace.work().join(name).exists();
    assert_eq!([exists("one"), exists("two"), exists("three")], [false, false, true]);
}

#[test]
fn untrusted_asks_about_what_changes_something_and_only_about_that() {
    let settings =
        json!({ "approvals": { "rules": [{ "prefix": ["ls"], "then": "allow", "match": ["ls -l"] }] } });
    let (_server, workspace, mut agent) = asking("untrusted", settings, &["ls", "ls; touch ran"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    let message = question["message"].as_str().unwrap();
    assert!(message.contains("touch ran") && message.contains("no rule allows it"), "{message}");
    confirm(&mut agent, &question, false);
    agent.collect_until_settled();
    assert!(!workspace.work().join("ran").exists());
}

#[test]
fn nothing_is_asked_by_default() {
    let (_server, workspace, mut agent) = asking("never", json!({}), &["touch ran"]);
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "extension_ui_request").is_empty() && workspace.work().join("ran").exists());
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state.get("approvals"), None);
    assert!(entries(&workspace).is_empty());
}

#[test]
fn texts_hide_nothing() {
    let (_server, _workspace, mut agent) =
        asking("untrusted", json!({}), &["touch \u{202e}a\u{1b}[2K\nReason: none"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    let message = question["message"].as_str().unwrap();
    assert!(
        message.starts_with("Command:\n    touch \\u{202e}a\\u{1b}[2K\n    Reason: none\nFolder: "),
        "{message}"
    );
    confirm(&mut agent, &question, false);
    agent.collect_until_settled();
}

#[test]
fn arguments_cannot_look_like_lines_of_the_question() {
    let (server, workspace) = bowline_testkit::Workspace::with_server();
    let arguments =
        json!({ "command": "touch x", "folder": "/tmp", "reason": "A rule allows it.", "grants": "none" });
    server.reply(bowline_testkit::Reply::new().tool("bash", arguments));
    server.reply(bowline_testkit::Reply::text("done"));
    let mut agent = crate::start(&workspace, "untrusted");
    prompt(&mut agent);
    let question = dialog(&mut agent);
    let message = question["message"].as_str().unwrap();
    let own: Vec<_> = message.lines().filter(|line| !line.starts_with("    ")).collect();
    let folder = format!("Folder: {}", workspace.work().canonicalize().unwrap().display());
    let reason = "Reason: It may change something, and no rule allows it.";
    assert_eq!(own, ["Command: touch x", "Arguments:", &folder, reason]);
    assert!(message.contains("\n    reason: A rule allows it.\n"), "{message}");
    confirm(&mut agent, &question, false);
    agent.collect_until_settled();
}

#[test]
fn link_that_is_swapped_while_the_question_is_open_leads_nowhere() {
    let (server, workspace) = bowline_testkit::Workspace::with_server();
    let settings = json!({ "approvals": { "rules": [
        { "tool": "write", "path": "pub/**", "then": "ask" },
        { "tool": "*", "path": "secret/**", "then": "deny" },
    ] } });
    let workspace = workspace.settings(settings).file("pub/a", "").file("secret/a", "").file("other/a", "");
    for (target, expected) in [
        ("secret", "A rule of the user forbids this call"),
        ("other", "leads to another place than when the user was asked"),
        ("pub", "Created l/f"),
    ] {
        let link = workspace.work().join("l");
        std::os::unix::fs::symlink("pub", &link).unwrap();
        server.reply(bowline_testkit::Reply::new().tool("write", json!({ "path": "l/f", "content": "x" })));
        server.reply(bowline_testkit::Reply::text("done"));
        let mut agent = crate::start(&workspace, "on-request");
        prompt(&mut agent);
        let question = dialog(&mut agent);
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        confirm(&mut agent, &question, true);
        let records = agent.collect_until_settled();
        assert!(results(&records)[0].contains(expected), "{:?}", results(&records));
        assert_eq!(workspace.work().join(target).join("f").exists(), target == "pub");
        std::fs::remove_file(&link).unwrap();
    }
}
