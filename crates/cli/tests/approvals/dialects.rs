//! The same question in the words of every dialect.

use bowline_testkit::{Launch, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

use crate::calling;

fn launch(dialect: &str, arguments: &[&str]) -> (ModelServer, Workspace, bowline_testkit::Agent) {
    let (server, workspace) = Workspace::with_server();
    calling(&server, &["touch ran"]);
    let arguments = [&["--ask", "untrusted"], arguments].concat();
    let agent =
        Launch::rpc(&workspace).model("mock/m1").dialect(dialect).arguments(&arguments).start_greeted();
    (server, workspace, agent)
}

/// Runs a call with this answer, and returns the dialog; `ended` is the type of the last record of a run.
fn answered(dialect: &str, answer: &Value, ended: &str, is_allowed: bool) -> Value {
    let (_server, workspace, mut agent) = launch(dialect, &[]);
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let question = crate::dialog(&mut agent);
    assert!(!workspace.work().join("ran").exists());
    let mut response = json!({ "type": "extension_ui_response", "id": question["id"] });
    response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    agent.send(response);
    agent.until_type(ended);
    assert_eq!(workspace.work().join("ran").exists(), is_allowed, "{dialect} {answer}");
    question
}

#[test]
fn pi_pi_classic_and_operator_ask_with_confirm() {
    let no = json!({ "cancelled": true });
    for (dialect, yes, ended) in [
        ("pi", json!({ "confirmed": true }), "agent_settled"),
        ("pi-classic", json!({ "confirmed": true }), "agent_end"),
        ("operator-flat", json!({ "value": true }), "settled"),
    ] {
        for (answer, is_allowed) in [(&yes, true), (&no, false)] {
            let question = answered(dialect, answer, ended, is_allowed);
            assert_eq!((&question["method"], &question["title"]), (&json!("confirm"), &json!("Allow bash?")));
            assert_eq!(question["timeout"], 600_000, "{dialect}");
            let message = question["message"].as_str().unwrap();
            assert!(message.starts_with("Command: touch ran\nFolder: /"), "{message}");
        }
    }
}

#[test]
fn omp_asks_with_select_and_withdraws_it_at_an_abort() {
    for (word, is_allowed) in [("Approve", true), ("Deny", false), ("approve", false), ("Allow", false)] {
        let question = answered("omp", &json!({ "value": word }), "agent_end", is_allowed);
        assert_eq!(
            (&question["method"], &question["options"]),
            (&json!("select"), &json!(["Approve", "Deny"]))
        );
        assert!(question["title"].as_str().unwrap().starts_with("Allow tool: bash\nCommand: touch ran\n"));
    }
    let (_server, workspace, mut agent) = launch("omp", &[]);
    agent.send(json!({ "type": "prompt", "message": "go" }));
    let question = crate::dialog(&mut agent);
    agent.send(json!({ "type": "abort", "id": "a" }));
    let cancel = crate::dialog(&mut agent);
    assert_eq!((&cancel["method"], &cancel["targetId"]), (&json!("cancel"), &question["id"]));
    agent.until_type("agent_end");
    assert!(!workspace.work().join("ran").exists());
}

#[test]
fn clients_without_words_for_questions_get_a_no_at_once() {
    for (dialect, arguments) in [("opi", &["--allow-mutating"][..]), ("operator", &[])] {
        let (server, workspace, mut agent) = launch(dialect, arguments);
        let message = if dialect == "operator" { "text" } else { "message" };
        agent.send(json!({ "type": "prompt", "id": "p", message: "go" }));
        let requests = server.wait_for_requests(2, std::time::Duration::from_secs(20));
        let told = requests[1].body.to_string();
        assert!(told.contains("needs the user's consent, and the client cannot ask for it"), "{told}");
        assert!(!workspace.work().join("ran").exists());
    }
}

#[test]
fn questions_of_subagents_are_asked_in_turn_by_their_parent() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "task": { "enabled": true }, "approvals": { "rules": [
        { "tool": "bash", "prefix": ["touch"], "then": "ask" },
    ] } }));
    server.reply(Reply::new().tool(
        "task",
        json!({ "tasks": [
        { "name": "one", "task": "do one" },
        { "name": "two", "task": "do two" },
    ] }),
    ));
    for name in ["one", "two"] {
        let call = Reply::new().tool("bash", json!({ "command": format!("touch {name}") }));
        server.reply_in(&format!("do {name}"), call);
        server.reply_in(&format!("do {name}"), Reply::text("done"));
    }
    server.reply(Reply::text("all done"));
    let mut agent = crate::start(&workspace, "on-request");
    agent.send(json!({ "type": "prompt", "message": "go" }));
    for _ in 0..2 {
        let question = crate::dialog(&mut agent);
        let message = question["message"].as_str().unwrap().to_owned();
        assert!(message.contains("(subagent "), "{message}");
        crate::confirm(&mut agent, &question, message.contains("touch one"));
    }
    agent.collect_until_settled();
    assert!(workspace.work().join("one").exists() && !workspace.work().join("two").exists());
}
