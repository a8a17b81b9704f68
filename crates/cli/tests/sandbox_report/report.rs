//! `get_sandbox`, `set_sandbox`, `get_state`, and what session files say.

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::{ask, bash, start, workspace};

/// Returns what a session file says of the sandbox.
fn noted(workspace: &Workspace) -> Vec<Value> {
    let [file] = &workspace.session_files()[..] else { panic!("{:?}", workspace.session_files()) };
    let text = fs::read_to_string(file).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let notes = entries.filter(|entry| entry["customType"] == "bowline.sandbox");
    notes.map(|mut entry| entry["data"].take()).collect()
}

fn digest_of(data: &Value) -> String {
    let hash = digest(&SHA256, data.to_string().as_bytes());
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hash}")
}

fn promise<'report>(report: &'report Value, id: &str) -> &'report Value {
    report["promises"].as_array().unwrap().iter().find(|promise| promise["id"] == id).unwrap()
}

#[test]
fn unconfined_tools_are_said_to_be_unconfined() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).environment("DEPLOY_TOKEN", "x").start();
    let report = agent.get("get_sandbox");
    let summary = json!({ "mode": "full-access", "level": "none", "ask": "never", "network": "full" });
    for (name, value) in summary.as_object().unwrap() {
        assert_eq!(report[name], *value, "{report}");
    }
    assert_eq!((&report["tools"], &report["promises"]), (&json!("unconfined"), &json!([])));
    assert_eq!(report["notEnforced"][0]["id"], "everything");
    let dropped = report["environment"]["dropped"].as_array().unwrap();
    assert!(dropped.contains(&json!("DEPLOY_TOKEN")), "{report}");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(report["kernel"], kernel.trim());
    assert_eq!(agent.get("get_state")["sandbox"], summary);
}

#[test]
fn mode_external_is_told_apart_from_no_sandbox() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).arguments(&["--sandbox", "external"]).start();
    let report = agent.get("get_sandbox");
    assert_eq!((&report["mode"], &report["level"]), (&json!("external"), &json!("external")));
    assert_eq!(agent.get("get_state")["sandbox"]["level"], "external");
}

#[test]
fn report_says_what_was_tried_in_the_sandbox_that_runs_the_tools() {
    let (server, workspace, mut agent) = start(&[]);
    let report = agent.get("get_sandbox");
    assert_eq!((&report["mode"], &report["tools"]), (&json!("workspace-write"), &json!("confined")));
    let work = workspace.work().canonicalize().unwrap();
    assert!(report["writable"].as_array().unwrap().contains(&json!(work)), "{report}");
    let own = workspace.configuration().canonicalize().unwrap();
    assert!(report["masked"].as_array().unwrap().contains(&json!(own)), "{report}");
    for id in ["file.write", "file.create", "process.signal", "kernel.mount"] {
        let promise = promise(&report, id);
        assert_eq!(promise["state"], "proved", "{report}");
        assert!(promise["at"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{promise}");
    }
    assert!(report["checks"]["passed"].as_u64().unwrap() >= 10, "{report}");
    assert_eq!(report["checks"]["failed"], 0);
    let state = agent.get("get_state")["sandbox"].clone();
    for name in ["mode", "level", "network", "ask"] {
        assert_eq!(state[name], report[name]);
    }
    let text = bash(&mut agent, &server, "echo in > inside; echo out > /etc/outside; ls");
    assert!(text.contains("inside"), "{text}");
    assert!(!fs::exists("/etc/outside").unwrap());
    let again = agent.get("get_sandbox");
    assert_eq!(again, report, "the same keeper ran the command");
}

#[test]
fn session_file_says_what_confined_its_tools_and_its_digest_is_that_of_the_report() {
    let (server, workspace, mut agent) = start(&[]);
    bash(&mut agent, &server, "true");
    let report = agent.get("get_sandbox");
    let expected = json!({ "level": report["level"], "mode": "workspace-write", "network": "none",
        "writable": report["writable"], "digest": digest_of(&report) });
    assert_eq!(noted(&workspace), [expected]);
    bash(&mut agent, &server, "true");
    assert_eq!(noted(&workspace).len(), 1);
    let changed = ask(&mut agent, json!({ "type": "set_sandbox", "mode": "read-only" }));
    assert_eq!(changed["data"]["mode"], "read-only", "{changed}");
    bash(&mut agent, &server, "true");
    let modes: Vec<_> = noted(&workspace).into_iter().map(|mut note| note["mode"].take()).collect();
    assert_eq!(modes, ["workspace-write", "read-only", "read-only"]);
    agent.finish();
}

#[test]
fn session_without_a_sandbox_has_no_such_entry() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.get("get_sandbox");
    bash(&mut agent, &server, "true");
    assert_eq!(noted(&workspace), [Value::Null; 0]);
}

#[test]
fn stricter_sandbox_holds_for_the_prompt_in_the_same_write() {
    let (server, workspace, mut agent) = start(&[]);
    assert!(bash(&mut agent, &server, "touch first && echo done").contains("done"));
    server.reply(Reply::new().tool("bash", json!({ "command": "touch second" })));
    let lines = [
        json!({ "id": "s", "type": "set_sandbox", "mode": "read-only" }),
        json!({ "id": "p", "type": "prompt", "message": "go" }),
    ];
    agent.send_raw(lines.map(|line| format!("{line}\n")).concat().as_bytes());
    assert_eq!(agent.response("s")["success"], true);
    agent.collect_until_settled();
    assert!(workspace.work().join("first").exists() && !workspace.work().join("second").exists());
    assert_eq!(agent.get("get_state")["sandbox"]["mode"], "read-only");
}

#[track_caller]
fn check_refused(agent: &mut Agent, command: Value, code: &str) {
    let response = ask(agent, command);
    assert_eq!((&response["success"], &response["code"]), (&json!(false), &json!(code)), "{response}");
}

#[test]
fn client_widens_the_sandbox_only_if_the_user_lets_it() {
    let wider = [
        json!({ "type": "set_sandbox", "mode": "full-access" }),
        json!({ "type": "set_sandbox", "mode": "external" }),
        json!({ "type": "set_sandbox", "network": "full" }),
        json!({ "type": "set_sandbox", "mode": "read-only", "network": "full" }),
    ];
    let (server, workspace, mut agent) = start(&[]);
    for command in &wider {
        check_refused(&mut agent, command.clone(), "forbidden");
    }
    check_refused(&mut agent, json!({ "type": "set_sandbox" }), "invalid_argument");
    check_refused(&mut agent, json!({ "type": "set_sandbox", "mode": "off" }), "invalid_argument");
    assert_eq!(agent.get("get_state")["sandbox"]["mode"], "workspace-write");
    // What was made stricter stays so.
    assert_eq!(ask(&mut agent, json!({ "type": "set_sandbox", "mode": "read-only" }))["success"], true);
    check_refused(&mut agent, json!({ "type": "set_sandbox", "mode": "workspace-write" }), "forbidden");
    drop((server, workspace));

    let (_server, _workspace, mut agent) = start(&["--client-may-widen"]);
    let response = ask(&mut agent, wider[0].clone());
    assert_eq!(response["data"]["mode"], "full-access", "{response}");
}

#[test]
fn network_without_a_mode_that_confines_is_refused() {
    let (_server, workspace) = workspace(&json!({}));
    let mut agent = Launch::rpc(&workspace).start();
    let invalid = "invalid_argument";
    check_refused(&mut agent, json!({ "type": "set_sandbox", "network": "none" }), invalid);
    check_refused(
        &mut agent,
        json!({ "type": "set_sandbox", "mode": "external", "network": "none" }),
        invalid,
    );
    assert_eq!(agent.get("get_state")["sandbox"]["network"], "full");
    let both = json!({ "type": "set_sandbox", "mode": "workspace-write", "network": "none" });
    assert_eq!(ask(&mut agent, both)["data"]["network"], "none");
}

#[test]
fn client_can_confine_tools_that_were_not() {
    let (server, workspace) = workspace(&json!({}));
    let mut agent = workspace.start();
    let outside = workspace.home().join("outside");
    let command = format!("echo x > {}; echo ended", outside.display());
    assert!(bash(&mut agent, &server, &command).contains("ended"));
    fs::remove_file(&outside).unwrap();
    assert_eq!(ask(&mut agent, json!({ "type": "set_sandbox", "mode": "workspace-write" }))["success"], true);
    assert!(bash(&mut agent, &server, &command).contains("ended"));
    assert!(!outside.exists());
    assert_eq!(agent.get("get_sandbox")["tools"], "confined");
}

#[test]
fn state_is_told_while_the_sandbox_is_made() {
    let (_server, _workspace, mut agent) = start(&[]);
    let lines =
        [json!({ "id": "sandbox", "type": "get_sandbox" }), json!({ "id": "state", "type": "get_state" })];
    agent.send_raw(lines.map(|line| format!("{line}\n")).concat().as_bytes());
    let records = agent.until(|record| record["id"] == "state");
    assert!(records.iter().all(|record| record["id"] != "sandbox"), "{records:?}");
    assert_eq!(agent.response("sandbox")["success"], true);
}

#[test]
fn path_that_was_put_back_is_reported_with_its_call() {
    let plant = "mkdir .vscode && echo '{}' > .vscode/tasks.json";
    for dialect in ["pi", "omp"] {
        let (server, workspace) = workspace(&json!({ "mode": "workspace-write" }));
        let mut agent = Launch::rpc(&workspace).dialect(dialect).start_greeted();
        server.reply(Reply::new().tool("bash", json!({ "command": plant })));
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let end = if dialect == "pi" { "agent_settled" } else { "agent_end" };
        let records = agent.until_type(end);
        let [record] = &of_type(&records, "protected_path_changed")[..] else { panic!("{records:?}") };
        let folder = workspace.work().canonicalize().unwrap().join(".vscode");
        assert_eq!((&record["path"], &record["change"]), (&json!(folder), &json!("created")));
        assert_eq!(record["toolCallId"], of_type(&records, "tool_execution_start")[0]["toolCallId"]);
        let quarantine = Path::new(record["quarantine"].as_str().unwrap());
        assert_eq!(fs::read_to_string(quarantine.join("tasks.json")).unwrap(), "{}\n");
        assert!(!folder.exists());

        let response = ask(&mut agent, json!({ "type": "bash", "command": plant }));
        assert_eq!(response["success"], true, "{response}");
        let reported = of_type(agent.transcript(), "protected_path_changed");
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert_eq!(reported[1].get("toolCallId"), None);
    }
}

#[test]
fn other_dialects_say_the_same() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages)
        .settings(json!({ "sandbox": { "mode": "read-only", "minimum": "landlock" } }));
    for dialect in ["omp", "opi", "operator", "operator-flat"] {
        let mut agent = Launch::rpc(&workspace).dialect(dialect).start_greeted();
        let response = ask(&mut agent, json!({ "type": "get_sandbox" }));
        assert_eq!(response["data"]["mode"], "read-only", "{dialect}: {response}");
        let response = ask(&mut agent, json!({ "type": "set_sandbox", "mode": "full-access" }));
        assert_eq!(response["success"], false, "{dialect}: {response}");
    }
}
