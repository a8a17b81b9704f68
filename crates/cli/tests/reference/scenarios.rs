//! A scenario per dialect, in which every command and every record occurs.

use std::time::Duration;

use bowline_testkit::{Gate, Reply, Usage};
use serde_json::json;

use crate::recorder::Recorder;

const LIMIT: Duration = Duration::from_secs(10);

/// Close enough to a context window of 200,000 tokens that the next prompt causes a compaction.
const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

/// A response with thinking, text and a tool call.
fn with_a_tool() -> Reply {
    calling("echo compiling; echo done")
}

/// The same with a tool so slow that its first output is reported separately. Nothing waits for its end.
fn with_a_slow_tool() -> Reply {
    calling("echo compiling; sleep 9; echo done")
}

fn calling(command: &str) -> Reply {
    let answer = Reply::new().thinking("The tests first.").then_text("I run the tests.");
    answer.tool("bash", json!({ "command": command }))
}

/// Runs what `pi` and `omp` share. Afterwards the agent is idle and has answered two prompts.
fn run_family(recorder: &mut Recorder, end: &str) {
    recorder.request_all(&[
        "get_state",
        "get_protocol_info",
        "get_available_models",
        "cycle_thinking_level",
        "cycle_model",
    ]);
    recorder.request(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    recorder.request(json!({ "type": "set_thinking_level", "level": "high" }));
    recorder.request(json!({ "type": "set_steering_mode", "mode": "all" }));
    recorder.request(json!({ "type": "set_follow_up_mode", "mode": "one-at-a-time" }));
    recorder.request(json!({ "type": "set_auto_retry", "enabled": true }));
    recorder.request(json!({ "type": "set_auto_compaction", "enabled": true }));

    let gate = Gate::new();
    recorder.server.reply(with_a_tool());
    recorder.server.reply(Reply::text("All tests pass.").gate(&gate));
    recorder.server.reply(Reply::text("I read main.c."));
    recorder.server.reply(Reply::text("Done."));
    recorder.request(json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }));
    gate.wait_until_reached(LIMIT);
    recorder.request(json!({ "type": "steer", "message": "Look at main.c too." }));
    recorder.request(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    gate.open();
    recorder.wait_for(end);

    recorder.fail_once("It works again.");
    recorder.request(json!({ "type": "prompt", "message": "And does the server answer again?" }));
    recorder.wait_for(end);
    recorder.request_all(&["get_messages", "get_last_assistant_text", "get_session_stats", "abort_retry"]);
    recorder.request(json!({ "type": "bash", "command": "echo hello" }));
    recorder.request_all(&["abort_bash"]);
    recorder.request(json!({ "type": "set_session_name", "name": "The tests" }));
    recorder.request(json!({ "type": "export_html", "outputPath": "session.html" }));
    recorder.record_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }),
    );
    recorder.record_failed_start();
    let refused = recorder.send(json!({ "type": "set_model", "provider": "mock", "modelId": "m9" }));
    assert_eq!(recorder.agent.response(&refused)["success"], false);
}

/// Asks what the tools may do, and changes it in a way that needs nothing of the machine.
fn run_sandbox(recorder: &mut Recorder) {
    recorder.request_all(&["get_sandbox"]);
    recorder.request(json!({ "type": "set_sandbox", "mode": "external" }));
}

/// Gives a task to a subagent and asks everything that there is to ask about it.
fn run_subagent(recorder: &mut Recorder, end: &str) {
    const TASK: &str = "Find out where the parser is.";
    let prompt = json!({ "type": "prompt", "message": "Where is the parser?" });
    let call = || {
        let tasks = json!([{ "name": "parser", "agent": "explore", "task": TASK }]);
        Reply::new().tool("task", json!({ "tasks": tasks }))
    };
    recorder.request(json!({ "type": "set_subagent_subscription", "level": "events" }));
    let gate = Gate::new();
    recorder.server.reply(call());
    recorder.server.reply_in(TASK, Reply::new().gate(&gate).then_text("It is in src/parser.c."));
    recorder.server.reply(Reply::text("The parser is in src/parser.c."));
    recorder.send(prompt.clone());
    recorder.wait_for("subagent_lifecycle");
    gate.wait_until_reached(LIMIT);
    recorder.request_all(&["get_subagents"]);
    gate.open();
    recorder.wait_for(end);
    recorder.request(json!({ "type": "get_subagent_messages", "subagentId": "parser" }));
    recorder.request(json!({ "type": "set_subagent_subscription", "level": "off" }));

    let gate = Gate::new();
    recorder.server.reply(call());
    recorder.server.reply_in(TASK, Reply::text("I look for it.").tool("find", json!({ "pattern": "*.c" })));
    recorder.server.reply_in(TASK, Reply::new().gate(&gate).then_text("It is in src/parser.c."));
    recorder.record_subagent_progress(prompt);
    gate.open();
}

/// Has runs change a file, and takes that back.
fn run_undo(recorder: &mut Recorder, end: &str) {
    recorder.request(json!({ "type": "set_client_capabilities", "changes": true }));
    for content in ["buy milk\n", "buy bread\n"] {
        wait_until_idle(recorder);
        let arguments = json!({ "path": "notes.txt", "content": content });
        recorder.server.reply(Reply::new().tool("write", arguments));
        recorder.server.reply(Reply::text("It is noted."));
        recorder.send(json!({ "type": "prompt", "message": "Note it." }));
        recorder.wait_for("run_changes");
        // The others have their last record before that.
        if end == "agent_settled" {
            recorder.wait_for(end);
        }
    }
    recorder.request(json!({ "type": "get_changes", "diff": true }));
    recorder.request(json!({ "type": "undo" }));
    recorder.request(json!({ "type": "redo" }));
}

/// Waits until a prompt begins a run: a run may be on its way to the end after the last record of it.
fn wait_until_idle(recorder: &mut Recorder) {
    let is_busy = |recorder: &mut Recorder| {
        recorder.agent.send(json!({ "id": "is-idle", "type": "get_state" }));
        recorder.agent.response("is-idle")["data"]["isStreaming"] == true
    };
    while is_busy(recorder) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has the client run a tool of its own and serve an address, and aborts both.
fn run_host(recorder: &mut Recorder, end: &str) {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = json!({ "name": "open_file", "description": "Opens a file in the editor.", "parameters": parameters });
    recorder.request(json!({ "type": "set_host_tools", "tools": [tool] }));
    let scheme = json!({ "scheme": "notes", "description": "the user's notes", "writable": true });
    recorder.request(json!({ "type": "set_host_uri_schemes", "schemes": [scheme] }));
    let open = || Reply::new().tool("open_file", json!({ "path": "main.c" }));
    let read = || Reply::new().tool("read", json!({ "path": "notes://todo" }));
    for answer in [open(), read(), Reply::text("It is open.")] {
        recorder.server.reply(answer);
    }
    recorder.send(json!({ "type": "prompt", "message": "Open main.c." }));
    let id = recorder.wait_for_id("host_tool_call");
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    recorder
        .send_verbatim(json!({ "type": "host_tool_update", "id": id, "partialResult": text("Opening…") }));
    recorder.send_verbatim(json!({ "type": "host_tool_result", "id": id, "result": text("It is open.") }));
    let id = recorder.wait_for_id("host_uri_request");
    recorder.send_verbatim(json!({ "type": "host_uri_result", "id": id, "content": "- buy milk" }));
    recorder.wait_for(end);
    for (call, name) in [(open(), "host_tool_call"), (read(), "host_uri_request")] {
        recorder.server.reply(call);
        recorder.send(json!({ "type": "prompt", "message": "Again." }));
        recorder.wait_for(name);
        recorder.request(json!({ "type": "abort" }));
    }
}

/// Has the user asked about calls, with records.
fn run_approval(recorder: &mut Recorder, end: &str) {
    recorder.request(json!({ "type": "set_client_capabilities", "approvals": "record" }));
    recorder.request(json!({ "type": "set_approvals", "ask": "untrusted" }));
    recorder.server.reply(Reply::new().tool("bash", json!({ "command": "git push" })));
    recorder.server.reply(Reply::text("Then I do not push it."));
    recorder.send(json!({ "type": "prompt", "message": "Push it." }));
    let id = recorder.wait_for_id("approval_request");
    let message = "Commit first.";
    recorder.request(
        json!({ "type": "approval_response", "approvalId": id, "decision": "deny", "message": message }),
    );
    recorder.wait_for(end);
}

/// Has a run spend a limit that the client sets.
fn run_limits(recorder: &mut Recorder, end: &str) {
    let limits = json!({ "type": "set_limits", "run": { "toolCalls": 1 }, "session": { "cost": 20 } });
    recorder.request(limits);
    for answer in [Reply::new().tool("bash", json!({ "command": "pwd" })), Reply::text("A folder.")] {
        recorder.server.reply(answer);
    }
    recorder.send(json!({ "type": "prompt", "message": "Where are we?" }));
    recorder.wait_for(end);
    recorder.request_all(&["get_limits"]);
    recorder.agent.send(json!({ "id": "no-limits", "type": "set_limits", "run": { "toolCalls": 0 } }));
    recorder.agent.response("no-limits");
}

/// Aborts an endless response. `text` is the field of a prompt that holds its text.
fn run_abort(recorder: &mut Recorder, text: &str) {
    let gate = Gate::new();
    recorder.server.reply(Reply::new().gate(&gate));
    recorder.send(json!({ "type": "prompt", text: "What is the meaning of this?" }));
    gate.wait_until_reached(LIMIT);
    recorder.request(json!({ "type": "abort" }));
}

/// Runs a prompt that asks for JSON, which is wrong at first.
fn run_output(recorder: &mut Recorder, end: &str) {
    recorder.server.reply(Reply::text("There are two tests."));
    recorder.server.reply(Reply::text("{\"tests\":2}"));
    let schema =
        json!({ "type": "object", "properties": { "tests": { "type": "integer" } }, "required": ["tests"] });
    let message = "How many tests are there?";
    recorder.request(json!({ "type": "prompt", "message": message, "outputSchema": schema }));
    recorder.wait_for(end);
}

pub(crate) fn pi() -> Recorder {
    let mut recorder = Recorder::new("pi", "mock/m2");
    recorder.request_all(&["get_commands", "get_available_thinking_levels"]);
    run_family(&mut recorder, "agent_settled");
    run_subagent(&mut recorder, "agent_settled");
    run_limits(&mut recorder, "agent_settled");
    run_output(&mut recorder, "agent_settled");
    recorder.record_progress(None, json!({ "id": "7", "type": "bash", "command": "echo hello" }));
    recorder.request(json!({ "type": "follow_up", "message": "Never mind." }));
    recorder.request_all(&["clear_queue"]);
    run_abort(&mut recorder, "message");

    let messages = recorder.request(json!({ "type": "get_fork_messages" }));
    let entry = messages["messages"][1]["entryId"].clone();
    recorder.request_all(&["get_entries", "get_tree"]);
    recorder.request(json!({ "type": "set_label", "entryId": entry, "label": "before the server" }));
    recorder.fail_once("The tests passed; the server failed once.");
    recorder.request(json!({ "type": "compact", "customInstructions": "Names of files matter." }));
    recorder.request(json!({ "type": "navigate_tree", "entryId": entry }));
    let file = recorder.request(json!({ "type": "get_state" }))["sessionFile"].clone();
    recorder.request_all(&["clone", "new_session"]);
    recorder.request(json!({ "type": "switch_session", "sessionPath": file }));
    // Times of files tell which session is the newest, and are no finer than the kernel's clock ticks.
    std::thread::sleep(Duration::from_millis(50));
    recorder.request(json!({ "type": "fork", "entryId": entry }));
    recorder.request(json!({ "type": "list_sessions", "limit": 1 }));
    recorder.request(json!({ "type": "delete_session", "sessionPath": file }));
    run_undo(&mut recorder, "agent_settled");
    run_host(&mut recorder, "agent_settled");
    log_in(&mut recorder);
    run_sandbox(&mut recorder);
    recorder.record_rules_and_todos("agent_settled");
    recorder.record_extension();
    recorder.record_component();
    run_approval(&mut recorder, "agent_settled");
    recorder
}

pub(crate) fn omp() -> Recorder {
    let mut recorder = Recorder::new("omp", "mock/m2");
    run_family(&mut recorder, "agent_end");
    recorder.record_rules_and_todos("agent_end");
    run_subagent(&mut recorder, "agent_end");
    run_limits(&mut recorder, "agent_end");
    recorder.request(json!({ "type": "set_interrupt_mode", "mode": "wait" }));
    recorder.request(json!({ "type": "negotiate_protocol", "protocolVersion": 1 }));
    recorder.request(json!({ "type": "get_messages_page", "limit": 2 }));
    recorder.request_all(&["get_available_commands"]);
    for command in ["/model m2", "/rename Parser"] {
        recorder.request(json!({ "type": "prompt", "message": command }));
    }
    run_abort(&mut recorder, "message");
    recorder.server.reply(Reply::text("This instead.").usage(NEARLY_FULL));
    recorder.request(json!({ "type": "abort_and_prompt", "message": "Do this instead." }));
    recorder.wait_for("agent_end");
    // The context window is nearly full now, so the prompt is compacted for first.
    recorder.server.reply(Reply::text("The tests passed."));
    recorder.server.reply(Reply::text("Yes."));
    recorder.send(json!({ "type": "prompt", "message": "Is there room again?" }));
    recorder.wait_for("agent_end");
    recorder.server.reply(Reply::text("The tests passed, and there is room."));
    recorder.server.reply(Reply::text("Sure."));
    recorder.send(json!({ "type": "prompt", "message": "One more." }));
    recorder.wait_for("agent_end");
    recorder.request(json!({ "type": "compact" }));
    let messages = recorder.request(json!({ "type": "get_branch_messages" }));
    let file = recorder.request(json!({ "type": "get_state" }))["sessionFile"].clone();
    recorder.request(json!({ "type": "branch", "entryId": messages["messages"][0]["entryId"] }));
    recorder.request_all(&["new_session"]);
    recorder.request(json!({ "type": "switch_session", "sessionPath": file }));
    // Takes up the last of the answers above, which no summary needed.
    recorder.request_all(&["new_session"]);
    recorder.send(json!({ "type": "prompt", "message": "Thanks." }));
    recorder.wait_for("agent_end");
    run_undo(&mut recorder, "agent_end");
    run_host(&mut recorder, "agent_end");
    let tasks = json!([{ "content": "Write the parser", "status": "completed" }, { "content": "Test it", "status": "pending" }]);
    recorder.request(json!({ "type": "set_todos", "phases": [{ "name": "Parser", "tasks": tasks }] }));
    log_in(&mut recorder);
    run_sandbox(&mut recorder);
    recorder.record_extension();
    recorder.record_component();
    run_approval(&mut recorder, "agent_end");
    recorder
}

/// Enters a key of a provider.
fn log_in(recorder: &mut Recorder) {
    recorder.request_all(&["get_login_providers"]);
    let login = recorder.send(json!({ "type": "login", "providerId": "groq" }));
    // The first request is to open a page.
    recorder.wait_for("extension_ui_request");
    let id = recorder.wait_for_id("extension_ui_request");
    recorder.send_verbatim(json!({ "type": "extension_ui_response", "id": id, "value": "gsk-…" }));
    assert_eq!(recorder.agent.response(&login)["success"], true);
}

pub(crate) fn pi_classic() -> Recorder {
    let mut recorder = Recorder::new("pi-classic", "mock/m2");
    recorder.request_all(&["get_protocol_info"]);
    recorder.server.reply(with_a_tool());
    recorder.server.reply(Reply::text("All tests pass."));
    let note = json!({ "type": "document", "fileName": "note.txt", "mimeType": "text/plain", "content": "SGVsbG8=" });
    recorder.send_verbatim(
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?", "attachments": [note] }),
    );
    recorder.wait_for("agent_end");
    recorder.server.reply(Reply::text("I am thinking").hang_after(1));
    recorder.send_verbatim(json!({ "type": "prompt", "message": "What is the meaning of this?" }));
    recorder.wait_for("message_update");
    recorder.send_verbatim(json!({ "type": "prompt", "message": "And of this?" }));
    recorder.wait_for("error");
    recorder.send_verbatim(json!({ "type": "abort" }));
    recorder.wait_for("agent_end");
    recorder.record_dialogs_about_calls("agent_end");
    recorder
}

pub(crate) fn opi() -> Recorder {
    let mut recorder = Recorder::new("opi", "mock:m2");
    recorder.request_all(&["session_info", "get_protocol_info"]);
    recorder.request(json!({ "type": "set_model", "model": "mock:m2" }));
    recorder.request(json!({ "type": "set_thinking_level", "level": "medium" }));
    let gate = Gate::new();
    recorder.server.reply(with_a_tool());
    recorder.server.reply(Reply::text("All tests pass.").gate(&gate));
    recorder.server.reply(Reply::text("I read main.c."));
    recorder.server.reply(Reply::text("Done."));
    recorder.request(json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }));
    gate.wait_until_reached(LIMIT);
    recorder.request(json!({ "type": "steer", "message": "Look at main.c too." }));
    recorder.request(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    let refused = recorder.send(json!({ "type": "compact" }));
    assert_eq!(recorder.agent.response(&refused)["success"], false);
    gate.open();
    recorder.wait_for("AgentEnd");
    recorder.fail_once("It works again.");
    recorder.request(json!({ "type": "continue", "message": "And does the server answer again?" }));
    recorder.wait_for("AgentEnd");
    recorder.server.reply(Reply::text("The tests passed; the server failed once."));
    recorder.request_all(&["compact"]);
    run_abort(&mut recorder, "message");
    recorder.wait_for("AgentEnd");
    recorder.record_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }),
    );
    recorder.record_failed_start();
    let gate = Gate::new();
    recorder.server.reply(Reply::text("Where is it?").gate(&gate));
    recorder.request(json!({ "type": "prompt", "message": "Is the session still there?" }));
    gate.wait_until_reached(LIMIT);
    recorder.delete_session_file();
    gate.open();
    recorder.wait_for("AgentEnd");
    run_sandbox(&mut recorder);
    recorder.request_all(&["quit"]);
    recorder
}

pub(crate) fn operator(dialect: &'static str) -> Recorder {
    let mut recorder = Recorder::new(dialect, "mock/m2");
    recorder.request_all(&["get_state", "get_protocol_info", "get_session_stats", "get_last_assistant_text"]);
    recorder.request(json!({ "type": "set_model", "model_id": "m2", "provider": "mock" }));
    recorder.request(json!({ "type": "set_thinking_level", "level": "high" }));
    recorder.request(json!({ "type": "set_auto_compaction", "enabled": true }));
    recorder.server.reply(with_a_tool());
    recorder.server.reply(Reply::text("All tests pass."));
    recorder.request(json!({ "type": "prompt", "text": "Do the tests of the parser pass?" }));
    if dialect == "operator-flat" {
        recorder.wait_for("settled");
    }
    recorder.request(json!({ "type": "steer", "message": "Look at main.c too." }));
    recorder.request(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    recorder.fail_once("It works again.");
    recorder.server.reply(Reply::text("Done."));
    recorder.request(json!({ "type": "prompt", "text": "And does the server answer again?" }));
    if dialect == "operator-flat" {
        recorder.wait_for("settled");
    }
    recorder.server.reply(Reply::status(401).body(r#"{"error":{"message":"The key was withdrawn."}}"#));
    let failed = recorder.send(json!({ "type": "prompt", "text": "And now?" }));
    recorder.agent.response(&failed);
    recorder.wait_for("settled");
    recorder.request(json!({ "type": "set_session_name", "name": "The tests" }));
    recorder.request_all(&["get_messages"]);
    let refused = recorder.send(json!({ "type": "switch_session", "session_file": "nowhere.jsonl" }));
    assert_eq!(recorder.agent.response(&refused)["success"], false);
    recorder.server.reply(Reply::text("The tests passed; the server failed once."));
    recorder.request(json!({ "type": "compact", "custom_instructions": "Names of files matter." }));
    if dialect == "operator-flat" {
        recorder.wait_for("compaction_end");
    }
    run_abort(&mut recorder, "text");
    let file = recorder.request(json!({ "type": "get_state" }))["session_file"].clone();
    let entry = {
        let records = recorder.agent.transcript().iter();
        let mut entries = records.filter_map(|record| {
            let event = if record["type"] == "event" { &record["event"] } else { record };
            (event["type"] == "input").then(|| event["entry_id"].clone())
        });
        entries.next().unwrap()
    };
    recorder.request(json!({ "type": "fork", "entry_id": entry }));
    recorder.request_all(&["new_session"]);
    recorder.request(json!({ "type": "switch_session", "session_file": file }));
    run_sandbox(&mut recorder);
    recorder.record_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "text": "Do the tests of the parser pass?" }),
    );
    recorder.record_failed_start();
    if dialect == "operator-flat" {
        recorder.record_extension();
    }
    recorder
}
