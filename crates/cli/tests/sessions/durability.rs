//! Everything is on disk before it is used, and stays there: kills, torn lines, second writers, full disks.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_testkit::{
    Gate, Launch, ModelServer, Reply, Usage, Workspace, announced, keys, of_type, session_lines,
    session_messages,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

/// Returns the file of the only session.
#[track_caller]
fn only_file(workspace: &Workspace) -> PathBuf {
    let files = workspace.session_files();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns the roles of messages, for comparing their order.
fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// Creates a session of one exchange and returns its file.
fn recorded_session(server: &ModelServer, workspace: &Workspace) -> PathBuf {
    server.reply(Reply::text("noted"));
    let mut agent = workspace.start();
    agent.run("the first prompt");
    agent.finish();
    only_file(workspace)
}

#[test]
fn prompt_is_on_disk_before_the_model_is_called() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::new().gate(&gate).then_text("late"));
    let mut agent = workspace.start();
    agent.send(json!({ "id": "1", "type": "prompt", "message": "remember me" }));
    gate.wait_until_reached(LIMIT);
    let messages = session_messages(only_file(&workspace));
    assert_eq!(messages[0]["content"], json!([{ "type": "text", "text": "remember me" }]));
    assert_eq!(roles(&messages), ["user"]);
    gate.open();
    agent.collect_until_settled();
}

#[test]
fn steering_message_is_on_disk_before_the_model_sees_it() {
    let (server, workspace) = Workspace::with_server();
    let (first, second) = (Gate::new(), Gate::new());
    server.reply(Reply::text("working").gate(&first));
    server.reply(Reply::new().gate(&second).then_text("turned"));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    first.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "steer", "message": "left" }));
    first.open();
    second.wait_until_reached(LIMIT);
    let messages = session_messages(only_file(&workspace));
    assert_eq!(roles(&messages), ["user", "assistant", "user"]);
    assert_eq!(messages[2]["content"][0]["text"], "left");
    second.open();
    agent.collect_until_settled();
}

#[test]
fn tool_result_is_on_disk_before_the_next_call() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::new().tool("bash", json!({ "command": "echo from the tool" })));
    server.reply(Reply::new().gate(&gate).then_text("done"));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    let messages = session_messages(only_file(&workspace));
    assert_eq!(roles(&messages), ["user", "assistant", "toolResult"]);
    assert_eq!(messages[2]["content"][0]["text"], "from the tool\n");
    gate.open();
    agent.collect_until_settled();
}

#[test]
fn session_file_starts_like_a_pi_file() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("hello"));
    let mut agent = workspace.start();
    let state = agent.get("get_state");
    assert!(workspace.session_files().is_empty(), "a session in which nothing was said has no file");
    agent.run("hi");
    agent.finish();
    let file = only_file(&workspace);
    assert_eq!(state["sessionFile"], json!(file));
    let folder = workspace.work().to_str().unwrap().trim_start_matches('/').replace('/', "-");
    assert_eq!(file.parent().unwrap(), workspace.configuration().join(format!("sessions/--{folder}--")));

    let lines = session_lines(&file);
    let [header, model, level, prompt, answer] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(keys(header), ["type", "version", "id", "timestamp", "cwd"]);
    assert_eq!(
        (&header["type"], &header["version"], &header["id"], &header["cwd"]),
        (&json!("session"), &json!(3), &state["sessionId"], &json!(workspace.work()))
    );
    let time = header["timestamp"].as_str().unwrap();
    let name = format!("{}_{}.jsonl", time.replace([':', '.'], "-"), state["sessionId"].as_str().unwrap());
    assert_eq!(file.file_name().unwrap().to_str().unwrap(), name);

    assert_eq!(keys(model), ["type", "id", "parentId", "timestamp", "provider", "modelId"]);
    assert_eq!(
        (&model["type"], &model["parentId"], &model["provider"], &model["modelId"]),
        (&json!("model_change"), &Value::Null, &json!("mock"), &json!("m1"))
    );
    assert_eq!(keys(level), ["type", "id", "parentId", "timestamp", "thinkingLevel"]);
    assert_eq!(
        (&level["type"], &level["parentId"], &level["thinkingLevel"]),
        (&json!("thinking_level_change"), &model["id"], &json!("off"))
    );
    for (entry, parent) in [(prompt, level), (answer, prompt)] {
        assert_eq!(keys(entry), ["type", "id", "parentId", "timestamp", "message"]);
        assert_eq!((&entry["type"], &entry["parentId"]), (&json!("message"), &parent["id"]));
        let id = entry["id"].as_str().unwrap();
        assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
    assert_eq!(keys(&prompt["message"]), ["role", "content", "timestamp"]);
    assert_eq!(
        keys(&answer["message"])[..8],
        ["role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"]
    );
}

#[test]
fn prompt_survives_a_kill_during_the_answer() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("half an ans").gate(&gate));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "before the kill" }));
    gate.wait_until_reached(LIMIT);
    agent.kill();
    agent.wait();
    drop(agent);

    server.reply(Reply::text("back again"));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    let before = agent.get("get_messages");
    assert_eq!(before["messages"][0]["content"][0]["text"], "before the kill");
    agent.run("after the kill");
    let asked = server.requests()[1].body["messages"].to_string();
    assert!(asked.contains("before the kill") && asked.contains("after the kill"), "{asked}");
    assert!(!asked.contains("half an ans"), "{asked}");
    let messages = session_messages(only_file(&workspace));
    assert_eq!(roles(&messages), ["user", "user", "assistant"]);
}

#[test]
fn session_continues_after_a_kill_during_a_tool() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("I will wait.").tool("bash", json!({ "command": "sleep 60" })));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "wait" }));
    agent.until_type("tool_execution_start");
    agent.kill();
    agent.wait();
    drop(agent);

    server.reply(Reply::text("I was interrupted."));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    agent.run("what happened?");
    let body = &server.requests()[1].body;
    // Providers refuse a conversation in which a call has no result.
    let call = &body["messages"][1]["content"][1];
    let result = &body["messages"][2]["content"][0];
    assert_eq!(call["type"], "tool_use", "{body}");
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &call["id"]), "{body}");
    assert_eq!(result["is_error"], true, "{body}");
    assert_eq!(roles(&session_messages(only_file(&workspace))), ["user", "assistant", "user", "assistant"]);
}

#[test]
fn torn_last_line_is_moved_aside_and_the_session_continues() {
    let (server, workspace) = Workspace::with_server();
    let file = recorded_session(&server, &workspace);
    let whole = session_lines(&file);
    let torn = r#"{"type":"message","id":"0000abcd","parentId":"#;
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(torn.as_bytes()).unwrap();

    server.reply(Reply::text("went on"));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_state")["messageCount"], 2);
    agent.run("the second prompt");
    agent.finish();
    let lines = session_lines(&file);
    assert_eq!(lines[..whole.len()], whole);
    assert_eq!(session_messages(&file).len(), 4);
    let aside = fs::read_to_string(file.with_extension("jsonl.torn")).unwrap();
    assert_eq!(aside.trim_end(), torn);
}

#[test]
fn session_in_use_is_refused_to_a_second_process() {
    let (server, workspace) = Workspace::with_server();
    let file = recorded_session(&server, &workspace);
    let mut first = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(first.get("get_state")["messageCount"], 2);
    let error = Launch::rpc(&workspace)
        .model("mock/m1")
        .arguments(&["--session", file.to_str().unwrap()])
        .start()
        .fatal_error();
    assert!(error.contains("in use by another process") && error.contains(file.to_str().unwrap()), "{error}");
    server.reply(Reply::text("still here"));
    first.run("are you there?");
    assert_eq!(session_messages(&file).len(), 4);
}

#[test]
fn switching_to_a_session_in_use_is_refused() {
    let (server, workspace) = Workspace::with_server();
    let taken = recorded_session(&server, &workspace);
    let mut owner = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    owner.get("get_state");

    server.reply(Reply::text("one"));
    server.reply(Reply::text("two"));
    let mut agent = workspace.start();
    agent.run("mine");
    let before = agent.get("get_state");
    let error = agent.refuse(json!({ "type": "switch_session", "sessionPath": taken }));
    assert!(error.contains("in use by another process"), "{error}");
    assert_eq!(agent.get("get_state"), before);
    agent.run("still mine");
    let file = PathBuf::from(before["sessionFile"].as_str().unwrap());
    assert_eq!(session_messages(file).len(), 4);
    assert_eq!(session_messages(taken).len(), 2);
}

#[test]
fn prompt_is_refused_if_the_session_cannot_be_created() {
    let (server, workspace) = Workspace::with_server();
    // Permissions do not stop the superuser; a file instead of the folder stops everybody.
    let workspace = workspace.home_file(".bowline/sessions", "in the way");
    let mut agent = workspace.start();
    let error = agent.refuse(json!({ "type": "prompt", "message": "lost?" }));
    assert!(error.contains("the session cannot be written") && error.contains("sessions"), "{error}");
    let state = agent.get("get_state");
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(0)));
    assert!(server.requests().is_empty(), "the model was called although the prompt is not on disk");

    fs::remove_file(workspace.configuration().join("sessions")).unwrap();
    server.reply(Reply::text("found"));
    agent.run("again");
    assert_eq!(roles(&session_messages(only_file(&workspace))), ["user", "assistant"]);
}

#[test]
fn deleting_the_session_file_during_a_run_ends_it_once_with_an_error() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("one moment").gate(&gate).tool("bash", json!({ "command": "echo hi" })));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    fs::remove_file(only_file(&workspace)).unwrap();
    gate.open();
    let records = agent.collect_until_settled();
    let settled = records.last().unwrap();
    assert!(settled["error"].as_str().unwrap().contains("was deleted"), "{settled}");
    let last = announced(&records).pop().unwrap();
    assert_eq!((&last["role"], &last["stopReason"]), (&json!("assistant"), &json!("error")));
    assert_eq!(server.requests().len(), 1, "the model is not called with what is not on disk");

    // The response follows every record of the run, so there was exactly one end.
    agent.carry_out(json!({ "type": "new_session" }));
    server.reply(Reply::text("fresh"));
    let records = agent.run("a new start");
    assert_eq!(records.iter().filter(|record| record["type"] == "agent_settled").count(), 1);
    assert_eq!(roles(&session_messages(only_file(&workspace))), ["user", "assistant"]);
}

#[test]
fn full_disk_refuses_a_prompt_and_leaves_the_file_intact() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("small"));
    let mut agent = Launch::rpc_on_full_disk(&workspace, 8).model("mock/m1").start();
    agent.run("small");
    let file = only_file(&workspace);
    let before = fs::read(&file).unwrap();
    let error = agent.refuse(json!({ "type": "prompt", "message": "x".repeat(16 * 1024) }));
    assert!(error.contains("the session cannot be written"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
    server.reply(Reply::text("fits"));
    agent.run("short");
    assert_eq!(roles(&session_messages(&file)), ["user", "assistant", "user", "assistant"]);
}

#[test]
fn disk_filling_up_during_a_run_ends_it_once_with_an_error() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().deltas(16, 1024).tool("bash", json!({ "command": "echo hi" })));
    let mut agent = Launch::rpc_on_full_disk(&workspace, 8).model("mock/m1").start();
    let records = agent.run("talk");
    let settled = records.last().unwrap();
    assert!(settled["error"].as_str().unwrap().contains("the session cannot be written"), "{settled}");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(agent.get("get_state")["isStreaming"], false);
    assert_eq!(roles(&session_messages(only_file(&workspace))), ["user"]);
}

#[test]
fn full_disk_refuses_a_summary_and_leaves_the_conversation_intact() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "compaction": { "keepRecentTokens": 20 } }));
    let mut agent = Launch::rpc_on_full_disk(&workspace, 8).model("mock/m1").start();
    agent.run(&"one ".repeat(30));
    agent.run(&"two ".repeat(30));
    let (before, messages) = (fs::read(only_file(&workspace)).unwrap(), agent.get("get_messages"));
    server.reply(Reply::new().deltas(16, 1024));
    agent.send(json!({ "id": "c", "type": "compact" }));
    let records = agent.until(|record| record["id"] == "c");
    let [_, end, response] = &records[..] else { panic!("{records:?}") };
    let error = end["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("Compaction failed: the session cannot be written"), "{error}");
    assert_eq!((&response["success"], &response["code"]), (&json!(false), &json!("storage_failed")));
    assert_eq!(fs::read(only_file(&workspace)).unwrap(), before);
    assert_eq!(agent.get("get_messages"), messages);

    // At the threshold the run already has its answer, and ends without an error.
    let nearly_full = Usage { input: 190_000, output: 1, cache_read: 0, cache_write: 0 };
    server.reply(Reply::text("three").usage(nearly_full));
    server.reply(Reply::new().deltas(16, 1024));
    let records = agent.run("three");
    let end = of_type(&records, "compaction_end")[0]["errorMessage"].as_str().unwrap();
    assert!(end.starts_with("Auto-compaction failed: the session cannot be written"), "{end}");
    assert_eq!(records.last().unwrap(), &json!({ "type": "agent_settled", "aborted": false }));
    assert_eq!(session_messages(only_file(&workspace)).len(), 6);
}

#[test]
fn session_can_be_synced_against_power_loss() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "durability": "fsync" }));
    let mut agent = workspace.start();
    agent.run("safe");
    let messages = agent.get("get_messages");
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_messages"), messages);
    agent.run("and on");
    assert_eq!(session_messages(only_file(&workspace)).len(), 4);
    let workspace = workspace.settings(json!({ "durability": "hope" }));
    let error = workspace.start().fatal_error();
    assert!(error.contains("flush") && error.contains("fsync"), "{error}");
}

#[test]
fn session_files_are_readable_by_the_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let (server, workspace) = Workspace::with_server();
    let file = recorded_session(&server, &workspace);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}
