//! The recordings of pi and omp in which an extension uses the user interface, replayed line by line by an extension in
//! Python. What cannot be the same is left out: ids, times, and the records of other extensions.

use std::collections::HashMap;
use std::path::PathBuf;

use bowline_testkit::{Agent, Launch, Workspace, of_type};
use serde_json::{Value, json};

const PROGRAM: &str = include_str!("../../../../tests/conformance/extensions/ui_all.py");

const PI: (&str, &str) = (
    include_str!("../../../../tests/conformance/extensions/ui-all.jsonl"),
    include_str!("../../../../tests/conformance/extensions/ui-all.ext.log"),
);
const OMP: (&str, &str) = (
    include_str!("../../../../tests/conformance/extensions/omp-ui-all.jsonl"),
    include_str!("../../../../tests/conformance/extensions/omp-ui-all.ext.log"),
);
const TWO: &str = include_str!("../../../../tests/conformance/extensions/dlg-two.jsonl");
const NEW_SESSION: &str = include_str!("../../../../tests/conformance/extensions/dlg-newsession.jsonl");
const END_OF_INPUT: &str = include_str!("../../../../tests/conformance/extensions/dlg-eof.jsonl");

/// A workspace with the extension, and the file that it writes what it received to.
fn workspace() -> (Workspace, PathBuf) {
    let (_server, workspace) = Workspace::with_server();
    let folder = workspace.configuration().join("extensions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ui_all.py"), PROGRAM).unwrap();
    let log = workspace.home().join("received.log");
    (workspace, log)
}

fn start(workspace: &Workspace, log: &std::path::Path, dialect: &str) -> Agent {
    let launch = Launch::rpc(workspace).model("mock/m1").dialect(dialect);
    let launch = launch.environment("EXTLOG", &log.to_string_lossy());
    if dialect == "omp" { launch.start_greeted() } else { launch.start() }
}

/// Returns the lines of a recording that are replayed, and whether the agent wrote them.
fn lines(recording: &str) -> Vec<(bool, Value)> {
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["dir"] != "exit").map(|line| {
        let text: Value = serde_json::from_str(line["line"].as_str().unwrap()).unwrap();
        (line["dir"] == "out", text)
    });
    lines.filter(|(_, line)| is_replayed(line)).collect()
}

fn is_replayed(line: &Value) -> bool {
    match line["type"].as_str().unwrap_or_default() {
        // Of an extension that comes with omp.
        "extension_ui_request" => line["widgetKey"] != "autoresearch",
        "extension_ui_response" | "prompt" | "prompt_result" => true,
        "response" => line["command"] == "prompt",
        _ => false,
    }
}

/// Plays what the client sent, and compares what the agent writes line by line, as texts.
fn replay(agent: &mut Agent, recording: &str) {
    let mut ids: HashMap<String, Value> = HashMap::new();
    for (is_output, mut line) in lines(recording) {
        if !is_output {
            let id = line["id"].as_str().unwrap();
            if let Some(known) = ids.get(id) {
                line["id"] = known.clone();
            }
            agent.send(line);
            continue;
        }
        let written = agent.until(is_replayed).pop().unwrap();
        if line["type"] == "extension_ui_request" {
            let before = ids.insert(line["id"].as_str().unwrap().to_owned(), written["id"].clone());
            assert_eq!(before, None, "every request has an id of its own");
            line["id"] = written["id"].clone();
            if let Some(target) = line["targetId"].as_str().map(|target| ids[target].clone()) {
                line["targetId"] = target;
            }
        }
        assert_eq!(without_additions(written).to_string(), line.to_string());
    }
}

/// Removes what bowline adds to the responses of pi.
fn without_additions(mut record: Value) -> Value {
    if record["data"] == json!({ "disposition": "handled" }) {
        record.as_object_mut().unwrap().remove("data");
    }
    record
}

/// Checks what the extension received against what the recorded one did.
fn check_log(log: &std::path::Path, recorded: &str) {
    let received = std::fs::read_to_string(log).unwrap();
    let parse =
        |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let (received, recorded) = (parse(&received), parse(recorded));
    assert_eq!(received.len(), 16);
    for line in received {
        assert!(recorded.contains(&line), "{line}");
    }
}

#[test]
fn recorded_dialogs_of_pi_are_replayed_line_by_line() {
    let (workspace, log) = workspace();
    let mut agent = start(&workspace, &log, "pi");
    replay(&mut agent, PI.0);
    check_log(&log, PI.1);
    assert!(of_type(agent.transcript(), "extension_error").is_empty());
}

#[test]
fn recorded_dialogs_of_omp_are_replayed_line_by_line() {
    let (workspace, log) = workspace();
    let mut agent = start(&workspace, &log, "omp");
    // omp acknowledges the prompt beside the first dialog; here the acknowledgement always comes first.
    let mut lines: Vec<_> = OMP.0.lines().collect();
    let acknowledged = lines.iter().position(|line| line.contains(r#"\"command\": \"prompt\""#)).unwrap();
    let acknowledgement = lines.remove(acknowledged);
    let sent = lines.iter().position(|line| line.contains(r#"\"type\": \"prompt\""#)).unwrap();
    lines.insert(sent + 1, acknowledgement);
    replay(&mut agent, &lines.join("\n"));
    check_log(&log, OMP.1);
}

#[test]
fn recorded_dialogs_of_two_commands_are_answered_in_any_order() {
    let (workspace, log) = workspace();
    let mut agent = start(&workspace, &log, "pi");
    replay(&mut agent, TWO);
}

/// pi leaves the dialog open and answers the prompt when the client answers it; here it is closed with its default.
#[test]
fn dialog_is_closed_when_its_session_is_left() {
    let (workspace, log) = workspace();
    let mut agent = start(&workspace, &log, "pi");
    let mut ids = HashMap::new();
    for (is_output, mut line) in lines(NEW_SESSION) {
        match (line["type"].as_str().unwrap(), is_output) {
            ("extension_ui_request", true) => {
                let written = agent.until(is_replayed).pop().unwrap();
                ids.insert(line["id"].to_string(), written["id"].clone());
                agent.send(json!({ "id": "ns", "type": "new_session" }));
                assert_eq!(agent.response("ns")["data"], json!({ "cancelled": false }));
                assert_eq!(agent.response("p")["success"], true);
            }
            ("extension_ui_response", false) => {
                line["id"] = ids[&line["id"].to_string()].clone();
                agent.send(line);
                assert_eq!(agent.get("get_state")["messageCount"], 0);
            }
            (_, false) => agent.send(line),
            (_, true) => {}
        }
    }
    assert!(!std::fs::read_to_string(&log).unwrap_or_default().contains("late"));
}

#[test]
fn recorded_end_of_input_with_a_dialog_open_ends_the_process() {
    let (workspace, log) = workspace();
    let mut agent = start(&workspace, &log, "pi");
    replay(&mut agent, END_OF_INPUT);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
}
