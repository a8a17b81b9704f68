//! What is played for each dialect, so that every command and every record comes up.

use std::time::Duration;

use bowline_testkit::{Gate, Reply, Usage};
use serde_json::json;

use crate::play::Play;

const LIMIT: Duration = Duration::from_secs(10);

/// More than a window of 200,000 tokens can take, so that the next prompt is compacted for.
const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

/// An answer that thinks, says something and calls a tool.
fn with_a_tool() -> Reply {
    calling("echo compiling; echo done")
}

/// The same with a tool that takes so long that what it shows first is seen by itself. Nobody waits for its end.
fn with_a_slow_tool() -> Reply {
    calling("echo compiling; sleep 9; echo done")
}

fn calling(command: &str) -> Reply {
    let answer = Reply::new().thinking("The tests first.").then_text("I run the tests.");
    answer.tool("bash", json!({ "command": command }))
}

/// Plays what `pi` and `omp` have in common, up to an idle agent with a past of two questions.
fn play_family(play: &mut Play, end: &str) {
    play.ask_all(&[
        "get_state",
        "get_protocol_info",
        "get_available_models",
        "cycle_thinking_level",
        "cycle_model",
    ]);
    play.ask(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    play.ask(json!({ "type": "set_thinking_level", "level": "high" }));
    play.ask(json!({ "type": "set_steering_mode", "mode": "all" }));
    play.ask(json!({ "type": "set_follow_up_mode", "mode": "one-at-a-time" }));
    play.ask(json!({ "type": "set_auto_retry", "enabled": true }));
    play.ask(json!({ "type": "set_auto_compaction", "enabled": true }));

    let gate = Gate::new();
    play.server.reply(with_a_tool());
    play.server.reply(Reply::text("All tests pass.").gate(&gate));
    play.server.reply(Reply::text("I read main.c."));
    play.server.reply(Reply::text("Done."));
    play.ask(json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }));
    gate.wait_until_reached(LIMIT);
    play.ask(json!({ "type": "steer", "message": "Look at main.c too." }));
    play.ask(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    gate.open();
    play.wait_for(end);

    play.fail_once("It works again.");
    play.ask(json!({ "type": "prompt", "message": "And does the server answer again?" }));
    play.wait_for(end);
    play.ask_all(&["get_messages", "get_last_assistant_text", "get_session_stats", "abort_retry"]);
    play.ask(json!({ "type": "bash", "command": "echo hello" }));
    play.ask_all(&["abort_bash"]);
    play.ask(json!({ "type": "set_session_name", "name": "The tests" }));
    play.ask(json!({ "type": "export_html", "outputPath": "session.html" }));
    play.show_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }),
    );
    play.fail_to_start();
    let refused = play.tell(json!({ "type": "set_model", "provider": "mock", "modelId": "m9" }));
    assert_eq!(play.agent.response(&refused)["success"], false);
}

/// Stops an answer that goes on for ever. `text` is what the dialect calls what a prompt says.
fn play_abort(play: &mut Play, text: &str) {
    let gate = Gate::new();
    play.server.reply(Reply::new().gate(&gate));
    play.tell(json!({ "type": "prompt", text: "What is the meaning of this?" }));
    gate.wait_until_reached(LIMIT);
    play.ask(json!({ "type": "abort" }));
}

pub(crate) fn pi() -> Play {
    let mut play = Play::new("pi", "mock/m2");
    play.ask_all(&["get_commands", "get_available_thinking_levels"]);
    play_family(&mut play, "agent_settled");
    play.show_progress(None, json!({ "id": "7", "type": "bash", "command": "echo hello" }));
    play.ask(json!({ "type": "follow_up", "message": "Never mind." }));
    play.ask_all(&["clear_queue"]);
    play_abort(&mut play, "message");

    let messages = play.ask(json!({ "type": "get_fork_messages" }));
    let entry = messages["messages"][1]["entryId"].clone();
    play.ask_all(&["get_entries", "get_tree"]);
    play.ask(json!({ "type": "set_label", "entryId": entry, "label": "before the server" }));
    play.fail_once("The tests passed; the server failed once.");
    play.ask(json!({ "type": "compact", "customInstructions": "Names of files matter." }));
    play.ask(json!({ "type": "navigate_tree", "entryId": entry }));
    let file = play.ask(json!({ "type": "get_state" }))["sessionFile"].clone();
    play.ask_all(&["clone", "new_session"]);
    play.ask(json!({ "type": "switch_session", "sessionPath": file }));
    play.ask(json!({ "type": "fork", "entryId": entry }));
    play.ask(json!({ "type": "list_sessions", "limit": 1 }));
    play.ask(json!({ "type": "delete_session", "sessionPath": file }));
    play
}

pub(crate) fn omp() -> Play {
    let mut play = Play::new("omp", "mock/m2");
    play_family(&mut play, "agent_end");
    play.ask(json!({ "type": "set_interrupt_mode", "mode": "wait" }));
    play_abort(&mut play, "message");
    play.server.reply(Reply::text("This instead.").usage(NEARLY_FULL));
    play.ask(json!({ "type": "abort_and_prompt", "message": "Do this instead." }));
    play.wait_for("agent_end");
    // The window is nearly full now, so there is a summary first.
    play.server.reply(Reply::text("The tests passed."));
    play.server.reply(Reply::text("Yes."));
    play.tell(json!({ "type": "prompt", "message": "Is there room again?" }));
    play.wait_for("agent_end");
    play.server.reply(Reply::text("The tests passed, and there is room."));
    play.server.reply(Reply::text("Sure."));
    play.tell(json!({ "type": "prompt", "message": "One more." }));
    play.wait_for("agent_end");
    play.ask(json!({ "type": "compact" }));
    let messages = play.ask(json!({ "type": "get_branch_messages" }));
    let file = play.ask(json!({ "type": "get_state" }))["sessionFile"].clone();
    play.ask(json!({ "type": "branch", "entryId": messages["messages"][0]["entryId"] }));
    play.ask_all(&["new_session"]);
    play.ask(json!({ "type": "switch_session", "sessionPath": file }));
    play
}

pub(crate) fn pi_classic() -> Play {
    let mut play = Play::new("pi-classic", "mock/m2");
    play.ask_all(&["get_protocol_info"]);
    play.server.reply(with_a_tool());
    play.server.reply(Reply::text("All tests pass."));
    let note = json!({ "type": "document", "fileName": "note.txt", "mimeType": "text/plain", "content": "SGVsbG8=" });
    play.send(
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?", "attachments": [note] }),
    );
    play.wait_for("agent_end");
    play.server.reply(Reply::text("I am thinking").hang_after(1));
    play.send(json!({ "type": "prompt", "message": "What is the meaning of this?" }));
    play.wait_for("message_update");
    play.send(json!({ "type": "prompt", "message": "And of this?" }));
    play.wait_for("error");
    play.send(json!({ "type": "abort" }));
    play.wait_for("agent_end");
    play
}

pub(crate) fn opi() -> Play {
    let mut play = Play::new("opi", "mock:m2");
    play.ask_all(&["session_info", "get_protocol_info"]);
    play.ask(json!({ "type": "set_model", "model": "mock:m2" }));
    play.ask(json!({ "type": "set_thinking_level", "level": "medium" }));
    let gate = Gate::new();
    play.server.reply(with_a_tool());
    play.server.reply(Reply::text("All tests pass.").gate(&gate));
    play.server.reply(Reply::text("I read main.c."));
    play.server.reply(Reply::text("Done."));
    play.ask(json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }));
    gate.wait_until_reached(LIMIT);
    play.ask(json!({ "type": "steer", "message": "Look at main.c too." }));
    play.ask(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    let refused = play.tell(json!({ "type": "compact" }));
    assert_eq!(play.agent.response(&refused)["success"], false);
    gate.open();
    play.wait_for("AgentEnd");
    play.fail_once("It works again.");
    play.ask(json!({ "type": "continue", "message": "And does the server answer again?" }));
    play.wait_for("AgentEnd");
    play.server.reply(Reply::text("The tests passed; the server failed once."));
    play.ask_all(&["compact"]);
    play_abort(&mut play, "message");
    play.wait_for("AgentEnd");
    play.show_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "message": "Do the tests of the parser pass?" }),
    );
    play.fail_to_start();
    play.ask_all(&["quit"]);
    play
}

pub(crate) fn operator(dialect: &'static str) -> Play {
    let mut play = Play::new(dialect, "mock/m2");
    play.ask_all(&["get_state", "get_protocol_info", "get_session_stats", "get_last_assistant_text"]);
    play.ask(json!({ "type": "set_model", "model_id": "m2", "provider": "mock" }));
    play.ask(json!({ "type": "set_thinking_level", "level": "high" }));
    play.ask(json!({ "type": "set_auto_compaction", "enabled": true }));
    play.server.reply(with_a_tool());
    play.server.reply(Reply::text("All tests pass."));
    play.ask(json!({ "type": "prompt", "text": "Do the tests of the parser pass?" }));
    if dialect == "operator-flat" {
        play.wait_for("settled");
    }
    play.ask(json!({ "type": "steer", "message": "Look at main.c too." }));
    play.ask(json!({ "type": "follow_up", "message": "Then say when you are done." }));
    play.fail_once("It works again.");
    play.server.reply(Reply::text("Done."));
    play.ask(json!({ "type": "prompt", "text": "And does the server answer again?" }));
    if dialect == "operator-flat" {
        play.wait_for("settled");
    }
    play.server.reply(Reply::status(401).body(r#"{"error":{"message":"The key was withdrawn."}}"#));
    let failed = play.tell(json!({ "type": "prompt", "text": "And now?" }));
    play.agent.response(&failed);
    play.wait_for("settled");
    play.ask(json!({ "type": "set_session_name", "name": "The tests" }));
    play.ask_all(&["get_messages"]);
    let refused = play.tell(json!({ "type": "switch_session", "session_file": "nowhere.jsonl" }));
    assert_eq!(play.agent.response(&refused)["success"], false);
    play.server.reply(Reply::text("The tests passed; the server failed once."));
    play.ask(json!({ "type": "compact", "custom_instructions": "Names of files matter." }));
    if dialect == "operator-flat" {
        play.wait_for("compaction_end");
    }
    play_abort(&mut play, "text");
    let file = play.ask(json!({ "type": "get_state" }))["session_file"].clone();
    let entry = {
        let records = play.agent.transcript().iter();
        let mut entries = records.filter_map(|record| {
            let event = if record["type"] == "event" { &record["event"] } else { record };
            (event["type"] == "input").then(|| event["entry_id"].clone())
        });
        entries.next().unwrap()
    };
    play.ask(json!({ "type": "fork", "entry_id": entry }));
    play.ask_all(&["new_session"]);
    play.ask(json!({ "type": "switch_session", "session_file": file }));
    play.show_progress(
        Some(with_a_slow_tool()),
        json!({ "type": "prompt", "text": "Do the tests of the parser pass?" }),
    );
    play.fail_to_start();
    play
}
