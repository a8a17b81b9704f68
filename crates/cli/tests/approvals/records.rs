//! The records of bowline's own for clients that declare them.

use bowline_testkit::{Agent, Launch, Workspace, of_type};
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
    for unknown in ["ap_999", "x", "", "ap_-1", "ap_"] {
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
    let settings = json!({ "approvals": { "timeoutMs": 40 } });
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
