//! stdout carries the protocol and nothing else, whatever kind of file it is. The driver fails on any line that is not
//! a record.

use std::fs;

use bowline_testkit::{
    Agent, Api, Launch, ModelServer, Reply, Workspace, assert_well_formed, of_type, types,
};
use serde_json::{Value, json};

/// Ways in which a command may try to write to the agent's stdout.
const NOISE: &str = "
    echo to stdout; echo to stderr >&2
    echo to its own descriptor 1 > /proc/self/fd/1
    echo to the device > /dev/stdout; echo to the other device > /dev/stderr
    echo to descriptor 1 of the agent > /proc/$PPID/fd/1
    echo to descriptor 2 of the agent > /proc/$PPID/fd/2
    for number in 3 4 5 6 7 8 9 10 11 12; do eval \"echo to descriptor $number >&$number\"; done 2>/dev/null
    true";

/// Returns the text of the only tool result.
#[track_caller]
fn tool_text(records: &[Value]) -> &str {
    let ends = of_type(records, "tool_execution_end");
    assert_eq!(ends.len(), 1);
    ends[0]["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Has the model run a command and returns the records.
#[track_caller]
fn run_tool(agent: &mut Agent, server: &ModelServer, command: &str) -> Vec<Value> {
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    let records = agent.run("go");
    assert_well_formed(agent.transcript());
    records
}

#[test]
fn command_output_is_captured_or_goes_to_stderr() {
    let (server, workspace) = Workspace::with_server();
    // Otherwise only root gets as far as the agent's descriptors.
    let launch = Launch::rpc(&workspace).model("mock/m1").environment("BOWLINE_DEBUGGABLE", "1");
    let mut agent = launch.start();
    let records = run_tool(&mut agent, &server, NOISE);
    let text = tool_text(&records);
    for expected in ["to stdout", "to stderr", "its own descriptor 1", "to the device", "to the other device"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    agent.wait_for_stderr("to descriptor 1 of the agent");
    let user_bash = agent.carry_out(json!({ "type": "bash", "command": NOISE }));
    assert_eq!(user_bash["exitCode"], 0);
    // Anything that had reached stdout would precede this response.
    agent.get("get_state");
}

#[test]
fn commands_do_not_inherit_protocol_descriptors() {
    // Descriptors that this test inherited are inherited by the agent and its commands too.
    let inherited = channels_of(std::process::id());
    let (server, workspace) = Workspace::with_server();
    for launch in [Launch::rpc(&workspace), Launch::rpc(&workspace).over_sockets()] {
        // So that this test may look at the agent's descriptors.
        let mut agent = launch.model("mock/m1").environment("BOWLINE_DEBUGGABLE", "1").start();
        agent.get("get_state");
        let mut channels = channels_of(agent.pid());
        channels.retain(|channel| !inherited.contains(channel));
        assert!(channels.len() > 2, "{channels:?}");
        let records = run_tool(&mut agent, &server, "readlink /proc/self/fd/* /proc/$$/fd/*");
        for channel in &channels {
            assert!(!tool_text(&records).contains(channel), "{channel} in {}", tool_text(&records));
        }
    }
}

/// Returns the pipes and sockets that a process has open.
fn channels_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = files.map(|file| file.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("pipe:") || name.starts_with("socket:")).collect()
}

#[test]
fn commands_have_an_empty_stdin() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let records = run_tool(&mut agent, &server, "cat; read line; echo read $?");
    assert_eq!(tool_text(&records), "read 1\n");
    let user_bash = agent.carry_out(json!({ "type": "bash", "command": "cat; cat /dev/stdin; echo ended" }));
    assert_eq!(user_bash["output"], "ended\n");
}

#[test]
fn warnings_go_to_stderr() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--thinking", "weird"]).start();
    assert_eq!(agent.ask(json!({ "type": "get_state" }))["success"], true);
    assert_eq!(agent.transcript().len(), 1);
    agent.wait_for_stderr("weird");
}

#[test]
fn nothing_is_written_before_the_first_response() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send(json!({ "id": "s", "type": "get_state" }));
    assert_eq!(agent.next()["id"], "s");
}

#[test]
fn sockets_work_like_pipes() {
    let run = |is_over_sockets: bool| {
        let server = ModelServer::start();
        server.reply(Reply::text("look").tool("bash", json!({ "command": "echo seen" })));
        let workspace = Workspace::new(&server, Api::AnthropicMessages);
        let launch = Launch::rpc(&workspace).model("mock/m1");
        let mut agent = if is_over_sockets { launch.over_sockets() } else { launch }.start();
        let records = agent.run("go");
        agent.close_stdin();
        assert!(agent.rest().is_empty());
        assert_eq!(agent.wait(), 0);
        assert_well_formed(agent.transcript());
        types(&records)
            .into_iter()
            .filter(|name| *name != "tool_execution_update")
            .map(str::to_owned)
            .collect()
    };
    let over_pipes: Vec<String> = run(false);
    assert_eq!(run(true), over_pipes);
}

/// Returns the records of a file.
fn read_records(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    assert!(text.ends_with('\n') && !text.contains('\r'), "{text:?}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn files_work_as_stdin_and_stdout() {
    let (_server, workspace) = Workspace::with_server();
    let (input, output) = (workspace.home().join("commands.jsonl"), workspace.home().join("out.jsonl"));
    let mut commands: String =
        (0..1000).map(|number| format!("{}\n", json!({ "id": number, "type": "get_state" }))).collect();
    commands.push_str("this is no command\n");
    commands.push_str(&json!({ "id": "bash", "type": "bash", "command": "sleep 300" }).to_string());
    fs::write(&input, commands).unwrap();
    assert_eq!(Launch::rpc(&workspace).model("mock/m1").run_over_files(&input, &output), 0);
    let records = read_records(&output);
    assert_eq!(records.len(), 1002);
    for (number, record) in records[..1000].iter().enumerate() {
        assert_eq!((&record["id"], &record["success"]), (&json!(number), &json!(true)));
    }
    assert_eq!(records[1000]["command"], "parse");
    assert_eq!(
        records[1001]["data"]["cancelled"], true,
        "the last line is executed, and the end of stdin cancels it"
    );
}

#[test]
fn prompt_at_the_end_of_a_file_has_a_complete_run() {
    let server = ModelServer::start();
    server.default_reply(Reply::mute());
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let (input, output) = (workspace.home().join("commands.jsonl"), workspace.home().join("out.jsonl"));
    let text = "both \u{2028} separators \u{2029} are escaped";
    fs::write(&input, format!("{}\n", json!({ "type": "prompt", "message": text }))).unwrap();
    assert_eq!(Launch::rpc(&workspace).model("mock/m1").run_over_files(&input, &output), 0);
    let records = read_records(&output);
    assert_well_formed(&records);
    assert_eq!(
        records[records.len() - 1],
        json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })
    );
    assert_eq!(of_type(&records, "message_start")[0]["message"]["content"][0]["text"], text);
    let written = fs::read_to_string(&output).unwrap();
    assert!(!written.contains(['\u{2028}', '\u{2029}']));
}
