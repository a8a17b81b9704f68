//! Files that users let file tools write although the sandbox does not: only those, and nothing else changes for the session.

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::{prompt, results};

/// Starts an agent in a sandbox that asks, with a client that declares the records.
fn start(workspace: &Workspace) -> Agent {
    let flags = ["--ask", "on-request", "--sandbox", "workspace-write"];
    let mut agent = Launch::rpc(workspace).model("mock/m1").arguments(&flags).start();
    agent.carry_out(json!({ "type": "set_client_capabilities", "approvals": "record" }));
    agent
}

/// Has the model make a call, answers what is asked about it, and returns the result and the reasons of the questions.
fn call(
    server: &ModelServer,
    agent: &mut Agent,
    tool: &str,
    arguments: Value,
    decision: &str,
) -> (String, Vec<String>) {
    server.reply(Reply::new().tool(tool, arguments));
    server.reply(Reply::text("done"));
    prompt(agent);
    let mut reasons = Vec::new();
    loop {
        let records =
            agent.until(|record| record["type"] == "approval_request" || record["type"] == "agent_settled");
        let last = records.last().unwrap();
        if last["type"] == "agent_settled" {
            return (results(&records).pop().unwrap_or_default(), reasons);
        }
        reasons.push(last["reason"]["text"].as_str().unwrap().to_owned());
        let response =
            agent.ask(json!({ "type": "approval_response", "approvalId": last["id"], "decision": decision }));
        assert_eq!(response["success"], true, "{response}");
    }
}

fn outside() -> tempfile::TempDir {
    // Not below /tmp, which is private in the sandbox.
    tempfile::tempdir_in("/var/tmp").unwrap()
}

#[test]
fn granted_files_take_neither_temporary_files_nor_servers_from_commands() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace);
    let serve = "echo kept > /tmp/mark; echo served > page; \
                 (python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &) ; sleep 1";
    call(&server, &mut agent, "bash", json!({ "command": serve }), "deny");
    let folder = outside();
    let folder = folder.path().canonicalize().unwrap();
    for (number, decision) in ["once", "session", "once", "session", "once", "once"].iter().enumerate() {
        let path = folder.join(format!("file{number}"));
        let arguments = json!({ "path": path, "content": "new" });
        let (result, reasons) = call(&server, &mut agent, "write", arguments.clone(), decision);
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some("new"), "{result}");
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        // What holds for the session is not asked about again.
        std::fs::write(&path, "old").unwrap();
        let (_, again) = call(&server, &mut agent, "write", arguments, "deny");
        assert_eq!(again.len(), usize::from(*decision == "once"), "{again:?}");
    }
    let fetch = "cat /tmp/mark; python3 -c \"import urllib.request as r; print(r.urlopen('http://127.0.0.1:8123/page').read())\"";
    let (result, _) = call(&server, &mut agent, "bash", json!({ "command": fetch }), "deny");
    assert!(result.contains("kept") && result.contains("served"), "{result}");
    // Commands have got nothing.
    let write = format!("echo by bash > {}", folder.join("file1").display());
    let (result, _) = call(&server, &mut agent, "bash", json!({ "command": write }), "deny");
    assert!(result.contains("Read-only file system"), "{result}");
    // The report speaks of the commands' sandbox.
    let report = agent.ask(json!({ "type": "get_sandbox" }));
    let writable = report["data"]["writable"].to_string();
    assert!(!writable.contains("file"), "{writable}");
}

#[test]
fn protected_file_is_asked_about_at_once_and_stays_if_allowed() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file(".vscode/settings.json", "{}");
    for (path, before) in [(".vscode/settings.json", Some("{}")), (".husky/pre-commit", None)] {
        for decision in ["deny", "once"] {
            let mut agent = start(&workspace);
            let arguments = json!({ "path": path, "content": "allowed" });
            let (result, reasons) = call(&server, &mut agent, "write", arguments, decision);
            assert!(reasons.len() == 1 && reasons[0].contains("is protected"), "{reasons:?} {result}");
            // A command has what it left be looked at.
            call(&server, &mut agent, "bash", json!({ "command": "true" }), "deny");
            let expected = if decision == "once" { Some("allowed") } else { before };
            let now = std::fs::read_to_string(workspace.work().join(path)).ok();
            assert_eq!(now.as_deref(), expected, "{decision}: {result}");
            assert_eq!(of_type(agent.transcript(), "protected_path_changed").len(), 0);
        }
    }
}

#[test]
fn file_with_credentials_is_refused_without_a_question() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".ssh/config", "mine");
    let mut agent = start(&workspace);
    let path = workspace.home().canonicalize().unwrap().join(".ssh/config");
    let arguments = json!({ "path": path, "content": "evil" });
    let (result, reasons) = call(&server, &mut agent, "write", arguments, "once");
    assert_eq!(reasons, [""; 0], "{result}");
    assert!(result.contains("is closed to tools"), "{result}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
}
