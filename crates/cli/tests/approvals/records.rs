//! The records of bowline's own for clients that declare them.

use bowline_testkit::{Agent, Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::{calling, entries, prompt};

fn declared(
    dialect: &str,
    settings: Value,
    commands: &[&str],
) -> (bowline_testkit::ModelServer, Workspace, Agent) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(settings);
    calling(&server, commands);
    let launch = Launch::rpc(&workspace).model("mock/m1").dialect(dialect).arguments(&["--ask", "untrusted"]);
    let mut agent = launch.start_greeted();
    agent.carry_out(json!({ "type": "set_client_capabilities", "approvals": "record" }));
    (server, workspace, agent)
}

fn respond(agent: &mut Agent, approval: &Value, decision: &str, message: Option<&str>) -> Value {
    agent.ask(json!({
        "type": "approval_response", "approvalId": approval, "decision": decision, "message": message,
    }))
}

#[test]
fn request_has_everything_and_its_response_decides() {
    for (dialect, ended) in [("pi", "agent_settled"), ("omp", "agent_end")] {
        let (_server, workspace, mut agent) = declared(dialect, json!({}), &["mkdir one"]);
        prompt(&mut agent);
        let request = agent.until_type("approval_request").pop().unwrap();
        let digest = request["digest"].clone();
        assert_eq!(
            request,
            json!({
                "type": "approval_request", "id": request["id"], "toolCallId": request["toolCallId"], "kind": "command",
                "tool": "bash", "command": "mkdir one", "cwd": workspace.work().canonicalize().unwrap(),
                "reason": { "code": "untrusted", "text": "It may change something, and no rule allows it." },
                "options": ["once", "session", "project", "deny"],
                "rule": { "tool": "bash", "prefix": ["mkdir", "one"], "then": "allow" },
                "digest": digest, "timeoutMs": 600_000, "default": "deny",
            })
        );
        assert!(request["id"].as_str().unwrap().starts_with("ap_"));
        assert_eq!(respond(&mut agent, &request["id"], "once", None)["success"], true);
        let records = agent.until_type(ended);
        let resolved =
            json!({ "type": "approval_resolved", "id": request["id"], "decision": "once", "by": "client" });
        let transcript = of_type(agent.transcript(), "approval_resolved");
        assert_eq!(transcript, [&resolved], "{records:?}");
        assert!(workspace.work().join("one").exists());
        assert_eq!(entries(&workspace)[0]["digest"], digest);
        assert_eq!(of_type(agent.transcript(), "extension_ui_request").len(), 0);
    }
}

#[test]
fn message_of_the_user_reaches_the_model() {
    let (server, workspace, mut agent) = declared("pi", json!({}), &["mkdir one"]);
    prompt(&mut agent);
    let request = agent.until_type("approval_request").pop().unwrap();
    respond(&mut agent, &request["id"], "deny", Some("Use the folder that is there."));
    agent.collect_until_settled();
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("The user rejected this call. Use the folder that is there."), "{told}");
    assert_eq!(entries(&workspace)[0]["message"], "Use the folder that is there.");
}

#[test]
fn unknown_options_deny_and_unknown_ids_decide_nothing() {
    let (_server, workspace, mut agent) = declared("pi", json!({}), &["mkdir one", "mkdir two"]);
    prompt(&mut agent);
    let first = agent.until_type("approval_request").pop().unwrap();
    for unknown in ["ap_999", "x", "", "ap_-1", "ap_", "ap_01", "ap_+1", "AP_1"] {
        let refused = respond(&mut agent, &json!(unknown), "once", None);
        assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("invalid_argument")));
    }
    let refused = respond(&mut agent, &first["id"], "always", None);
    assert!(refused["error"].as_str().unwrap().contains("was denied"), "{refused}");
    let again = respond(&mut agent, &first["id"], "once", None);
    assert_eq!(again["success"], false, "a second answer decides nothing");
    let second = agent.until_type("approval_request").pop().unwrap();
    assert_ne!(first["id"], second["id"]);
    respond(&mut agent, &second["id"], "once", None);
    agent.collect_until_settled();
    assert!(!workspace.work().join("one").exists() && workspace.work().join("two").exists());
}

#[test]
fn time_out_and_abort_are_announced() {
    let settings = json!({ "approvals": { "timeoutMs": 400 } });
    let (server, _workspace, mut agent) = declared("pi", settings, &["mkdir one"]);
    prompt(&mut agent);
    agent.collect_until_settled();
    let resolved = of_type(agent.transcript(), "approval_resolved")[0].clone();
    assert_eq!((&resolved["decision"], &resolved["by"]), (&json!("deny"), &json!("timeout")));
    // A client that declares itself again is asked again.
    agent.carry_out(json!({ "type": "set_client_capabilities", "approvals": "record" }));
    calling(&server, &["mkdir one"]);
    prompt(&mut agent);
    agent.until_type("approval_request");
    agent.send(json!({ "type": "abort" }));
    agent.collect_until_settled();
    assert_eq!(of_type(agent.transcript(), "approval_resolved").last().unwrap()["by"], "abort");
}

#[test]
fn answer_without_a_readable_decision_is_a_no() {
    let commands = ["mkdir one", "mkdir two", "mkdir three"];
    let (_server, workspace, mut agent) = declared("pi", json!({}), &commands);
    prompt(&mut agent);
    for decision in [json!({}), json!({ "decision": 7 }), json!({ "decision": null })] {
        let request = agent.until_type("approval_request").pop().unwrap();
        let mut response = json!({ "type": "approval_response", "approvalId": request["id"] });
        response.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
        let refused = agent.ask(response);
        assert!(refused["error"].as_str().unwrap().contains("was denied"), "{refused}");
    }
    agent.collect_until_settled();
    assert!(["one", "two", "three"].iter().all(|name| !workspace.work().join(name).exists()));
}

#[test]
fn equal_calls_of_subagents_are_asked_about_once_and_noted_with_the_number_that_was_shown() {
    let (server, workspace) = Workspace::with_server();
    let rules = json!([{ "tool": "bash", "prefix": ["mkdir"], "then": "ask" }]);
    let workspace =
        workspace.settings(json!({ "task": { "enabled": true }, "approvals": { "rules": rules } }));
    server.reply(Reply::new().tool("bash", json!({ "command": "mkdir zero" })));
    let tasks =
        json!({ "tasks": [{ "name": "one", "task": "do one" }, { "name": "two", "task": "do two" }] });
    server.reply(Reply::new().tool("task", tasks));
    for name in ["one", "two"] {
        let call = Reply::new().tool("bash", json!({ "command": "mkdir -p same" }));
        server.reply_in(&format!("do {name}"), call);
        server.reply_in(&format!("do {name}"), Reply::text("done"));
    }
    server.reply(Reply::text("all done"));
    let mut agent = crate::start(&workspace, "on-request");
    agent.carry_out(json!({ "type": "set_client_capabilities", "approvals": "record" }));
    prompt(&mut agent);
    let first = agent.until_type("approval_request").pop().unwrap();
    respond(&mut agent, &first["id"], "deny", None);
    let second = agent.until_type("approval_request").pop().unwrap();
    assert_eq!((&first["id"], &second["id"]), (&json!("ap_1"), &json!("ap_2")));
    // By then the other subagent waits, too, or asks later.
    std::thread::sleep(std::time::Duration::from_millis(300));
    respond(&mut agent, &second["id"], "session", None);
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "approval_request").is_empty(), "{records:?}");
    assert!(workspace.work().join("same").exists());
    let found: Vec<_> = subagent_entries(&workspace);
    let ids: Vec<_> = found.iter().map(|entry| entry["id"].as_str()).collect();
    assert!(ids.contains(&Some("ap_2")) && !ids.contains(&Some("ap_1")), "{found:?}");
}

/// Returns what the files of subagents say about approvals.
fn subagent_entries(workspace: &Workspace) -> Vec<Value> {
    let mut folders = vec![workspace.configuration().join("sessions")];
    let mut entries = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                let lines = bowline_testkit::session_lines(&path);
                let notes = lines.into_iter().filter(|line| line["customType"] == "bowline.approval");
                entries
                    .extend(notes.map(|line| line["data"].clone()).filter(|note| note["decision"] != "deny"));
            }
        }
    }
    entries
}
