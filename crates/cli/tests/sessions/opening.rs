//! Which session is opened, how it is found again, and that pi would read the same file alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_testkit::{
    Gate, Launch, Reply, Usage, Workspace, announced, keys, of_type, session_lines, session_messages, types,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

/// Creates a session of one exchange and returns its state.
fn recorded_session(workspace: &Workspace, arguments: &[&str]) -> Value {
    let mut agent = Launch::rpc(workspace).arguments(arguments).start();
    agent.run("hello");
    let state = agent.get("get_state");
    agent.finish();
    state
}

/// Returns the text of each message, prefixed with its role.
fn texts(messages: &Value) -> Vec<String> {
    let messages = messages["messages"].as_array().unwrap().iter();
    messages
        .map(|message| {
            let text = ["summary", "command"].iter().find_map(|name| message[*name].as_str());
            let text = text
                .or_else(|| message["content"].as_str())
                .or_else(|| message["content"][0]["text"].as_str())
                .unwrap_or_default();
            format!("{}: {text}", message["role"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn session_is_found_by_path_id_and_id_prefix() {
    let (_server, workspace) = Workspace::with_server();
    let made = recorded_session(&workspace, &[]);
    let (path, id) = (made["sessionFile"].as_str().unwrap(), made["sessionId"].as_str().unwrap());
    let relative = format!("../{}", Path::new(path).strip_prefix(workspace.home()).unwrap().display());
    for wanted in [path, &relative, id, &id[..8], &id[..30]] {
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", wanted]).start();
        let state = agent.get("get_state");
        assert_eq!(
            (&state["sessionId"], &state["messageCount"]),
            (&made["sessionId"], &json!(2)),
            "{wanted}"
        );
        agent.finish();
    }
}

#[test]
fn missing_session_is_a_fatal_error_and_creates_nothing() {
    let workspace = Workspace::empty();
    for (arguments, expected) in [
        (["--session", "0190f3c8"], "No session matches '0190f3c8'"),
        (["--session-id", "../x"], "Invalid session id '../x'"),
        (["--session-id", "-x"], "Invalid session id '-x'"),
    ] {
        let error = Launch::rpc(&workspace).arguments(&arguments).start().fatal_error();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(workspace.session_files().is_empty());
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 0);
}

#[test]
fn session_id_flag_creates_a_session_and_then_resumes_it() {
    let (_server, workspace) = Workspace::with_server();
    let made = recorded_session(&workspace, &["--session-id", "build-17.a"]);
    assert_eq!(made["sessionId"], "build-17.a");
    assert!(made["sessionFile"].as_str().unwrap().ends_with("_build-17.a.jsonl"), "{made}");
    let mut agent = Launch::rpc(&workspace).arguments(&["--session-id", "build-17.a"]).start();
    let state = agent.get("get_state");
    assert_eq!((&state["sessionFile"], &state["messageCount"]), (&made["sessionFile"], &json!(2)));
    // Prefixes are not accepted here.
    let mut other = Launch::rpc(&workspace).arguments(&["--session-id", "build-17"]).start();
    assert_eq!(other.get("get_state")["messageCount"], 0);
}

#[test]
fn session_folder_can_be_configured() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "sessionDir": "~/from settings" }));
    let start_with = |variable: Option<&str>, arguments: &[&str]| {
        let mut launch = Launch::rpc(&workspace).arguments(arguments);
        if let Some(folder) = variable {
            launch = launch.environment("PI_CODING_AGENT_SESSION_DIR", folder);
        }
        launch.start()
    };
    let variable = workspace.home().join("from variable");
    let variable = variable.to_str();
    for (variable, arguments, folder) in [
        (None, &[][..], workspace.home().join("from settings")),
        (variable, &[], workspace.home().join("from variable")),
        (variable, &["--session-dir", "from flag"], workspace.work().join("from flag")),
    ] {
        let mut agent = start_with(variable, arguments);
        agent.run("hello");
        let made = agent.get("get_state");
        agent.finish();
        assert_eq!(Path::new(made["sessionFile"].as_str().unwrap()).parent(), Some(&*folder));
        let mut agent = start_with(variable, &[arguments, &["--continue"]].concat());
        assert_eq!(agent.get("get_state")["sessionId"], made["sessionId"]);
    }
    assert!(workspace.session_files().is_empty(), "nothing in the usual place");
}

#[test]
fn continue_flag_resumes_the_newest_session_of_the_folder_or_creates_one() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_state")["messageCount"], 0);
    agent.finish();
    assert!(workspace.session_files().is_empty());

    recorded_session(&workspace, &["--session-id", "older"]);
    recorded_session(&workspace, &["--session-id", "newer"]);
    let elsewhere = workspace.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut away = Launch::rpc(&workspace).directory(&elsewhere).start();
    away.run("hello");
    away.finish();
    // The last write counts, not the creation.
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", "older"]).start();
    agent.run("again");
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["-c"]).start();
    let state = agent.get("get_state");
    assert_eq!((&state["sessionId"], &state["messageCount"]), (&json!("older"), &json!(4)));
}

#[test]
fn name_flag_sets_the_session_name() {
    let (_server, workspace) = Workspace::with_server();
    let made = recorded_session(&workspace, &["--name", "  Nightly build "]);
    assert_eq!(made["sessionName"], "Nightly build");
    let lines = session_lines(made["sessionFile"].as_str().unwrap());
    assert_eq!(
        types(&lines),
        ["session", "session_info", "model_change", "thinking_level_change", "message", "message"]
    );
    assert_eq!(lines[1]["name"], "Nightly build");
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_state")["sessionName"], "Nightly build");
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue", "-n", "Renamed"]).start();
    assert_eq!(agent.get("get_state")["sessionName"], "Renamed");
}

#[test]
fn no_session_writes_nothing() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).arguments(&["--no-session"]).start();
    agent.run("hello");
    let state = agent.get("get_state");
    assert!(!keys(&state).contains(&"sessionFile"), "{state}");
    assert_eq!(state["messageCount"], 2);
    assert!(!keys(&agent.get("get_session_stats")).contains(&"sessionFile"));
    agent.carry_out(json!({ "type": "set_session_name", "name": "unsaved" }));
    agent.carry_out(json!({ "type": "new_session" }));
    agent.run("again");
    agent.finish();
    assert!(!workspace.configuration().join("sessions").exists());
}

#[test]
fn new_session_is_empty_and_names_its_parent() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m2:high").start();
    agent.run("the old one");
    let old = agent.get("get_state");
    let bytes = fs::read(old["sessionFile"].as_str().unwrap()).unwrap();
    agent.carry_out(json!({ "type": "steer", "message": "left in the queue" }));
    let answer = agent.carry_out(json!({ "type": "new_session", "parentSession": "where/it came from" }));
    assert_eq!(answer, json!({ "cancelled": false }));
    let new = agent.get("get_state");
    assert_ne!(new["sessionId"], old["sessionId"]);
    assert_eq!((&new["messageCount"], &new["pendingMessageCount"]), (&json!(0), &json!(0)));
    assert_eq!((&new["model"], &new["thinkingLevel"]), (&old["model"], &json!("high")));
    agent.run("the new one");
    let request = server.requests().pop().unwrap().body["messages"].to_string();
    assert!(!request.contains("the old one") && !request.contains("left in the queue"), "{request}");
    let lines = session_lines(new["sessionFile"].as_str().unwrap());
    assert_eq!(lines[0]["parentSession"], "where/it came from");
    assert_eq!(fs::read(old["sessionFile"].as_str().unwrap()).unwrap(), bytes);
}

#[test]
fn new_session_ends_a_run_first() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    let old = agent.get("get_state");
    agent.send(json!({ "id": "new", "type": "new_session" }));
    let records = agent.until(|record| record["id"] == "new");
    let settled = records.iter().position(|record| record["type"] == "agent_settled").unwrap();
    assert_eq!(records[settled]["aborted"], true);
    assert_eq!(records.last().unwrap()["success"], true);
    assert_ne!(agent.get("get_state")["sessionId"], old["sessionId"]);
    let kept = session_messages(old["sessionFile"].as_str().unwrap());
    assert_eq!(kept[1]["stopReason"], "aborted");
}

#[test]
fn switching_restores_messages_model_and_level() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("from the first"));
    server.reply(Reply::text("from the second"));
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "low" }));
    agent.run("first");
    let first = agent.get("get_state");
    let messages = agent.get("get_messages");
    agent.carry_out(json!({ "type": "new_session" }));
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    agent.run("second");
    let answer = agent.carry_out(json!({ "type": "switch_session", "sessionPath": first["sessionFile"] }));
    assert_eq!(answer, json!({ "cancelled": false }));
    let back = agent.get("get_state");
    for field in ["sessionId", "sessionFile", "model", "thinkingLevel", "messageCount", "cwd"] {
        assert_eq!(back[field], first[field], "{field}");
    }
    assert_eq!(agent.get("get_messages"), messages);
    // Switching to the open session changes nothing.
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": first["sessionFile"] }));
    assert_eq!(agent.get("get_state"), back);
}

#[test]
fn switching_to_an_invalid_session_is_refused_and_changes_nothing() {
    let (_server, workspace) = Workspace::with_server();
    let gone =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/no/such/place" });
    let newer = json!({ "type": "session", "version": 99, "id": "s", "timestamp": "", "cwd": "/" });
    let workspace = workspace
        .file("prose.txt", "no session\n")
        .file("object.jsonl", "{\"type\":\"message\"}\n")
        .file("gone.jsonl", &format!("{gone}\n"))
        .file("newer.jsonl", &format!("{newer}\n"));
    let mut agent = Launch::rpc(&workspace).start();
    agent.run("hello");
    let before = agent.get("get_state");
    for (path, expected) in [
        ("typo/missing.jsonl", "Session file not found"),
        ("prose.txt", "not a valid pi session"),
        ("object.jsonl", "not a valid pi session"),
        ("gone.jsonl", "/no/such/place"),
        ("newer.jsonl", "version 99"),
        (".", "is a folder, not a regular file"),
    ] {
        let content = fs::read(workspace.work().join(path)).ok();
        let error = agent.refuse(json!({ "type": "switch_session", "sessionPath": path }));
        assert!(error.contains(expected), "{path}: {error}");
        assert_eq!(agent.get("get_state"), before, "{path}");
        assert_eq!(fs::read(workspace.work().join(path)).ok(), content, "{path}");
    }
    assert!(!workspace.work().join("typo").exists());
    agent.run("still here");
    assert_eq!(agent.get("get_state")["messageCount"], 4);
}

#[test]
fn get_state_answers_while_a_large_session_is_opened() {
    let (_server, workspace) = Workspace::with_server();
    let header = json!({ "type": "session", "version": 3, "id": "large", "timestamp": "2026-11-16T00:55:48.502Z",
        "cwd": workspace.work() });
    let mut lines = format!("{header}\n");
    let text = "many words ".repeat(1000);
    for number in 1..=3000_u32 {
        let parent = (number > 1).then(|| format!("{:08x}", number - 1));
        let message = json!({ "type": "message", "id": format!("{number:08x}"), "parentId": parent,
            "timestamp": "2026-11-16T00:55:48.502Z", "message": user(&text)["message"] });
        lines.push_str(&format!("{message}\n"));
    }
    let workspace = workspace.file("large.jsonl", &lines);
    let mut agent = Launch::rpc(&workspace).start();
    let before = agent.get("get_state")["sessionId"].clone();
    agent.send(json!({ "id": "switch", "type": "switch_session", "sessionPath": "large.jsonl" }));
    agent.send(json!({ "id": "state", "type": "get_state" }));
    agent.send(json!({ "id": "messages", "type": "get_messages" }));

    // The state overtakes and is that of the current session; what is meant for the other session waits for it.
    let first = agent.next();
    assert_eq!((&first["id"], &first["data"]["sessionId"]), (&json!("state"), &before));
    assert_eq!(agent.response("switch")["success"], true);
    assert_eq!(agent.response("messages")["data"]["messages"].as_array().unwrap().len(), 3000);
    assert_eq!(agent.get("get_state")["sessionId"], "large");
}

#[test]
fn tools_run_in_the_folder_of_the_session() {
    let (server, workspace) = Workspace::with_server();
    let elsewhere = workspace.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let file = workspace.home().join("away.jsonl");
    let header = json!({ "type": "session", "version": 3, "id": "away", "timestamp": "2026-11-16T00:55:48.502Z",
        "cwd": elsewhere });
    fs::write(&file, format!("{header}\n")).unwrap();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch here" })));
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    assert_eq!(agent.get("get_state")["cwd"], json!(elsewhere));
    agent.run("go");
    assert!(elsewhere.join("here").exists());
    let system = server.requests()[0].body["system"][0]["text"].to_string();
    assert!(system.contains(elsewhere.to_str().unwrap()), "{system}");
}

#[test]
fn session_name_is_one_trimmed_line_and_is_saved() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).start();
    for (given, expected) in
        [("  padded ", "padded"), ("two\r\nlines\nhere", "two lines here"), ("\n\nlast\n", "last")]
    {
        agent.send(json!({ "id": "n", "type": "set_session_name", "name": given }));
        let records = agent.until(|record| record["id"] == "n");
        let entry = records[0]["entryId"].clone();
        let changed = json!({ "type": "session_info_changed", "name": expected, "entryId": entry });
        assert_eq!(records[0], changed);
        assert_eq!(records[1]["success"], true);
        assert_eq!(agent.get("get_state")["sessionName"], expected);
    }
    for empty in ["", "  ", "\r\n"] {
        let error = agent.refuse(json!({ "type": "set_session_name", "name": empty }));
        assert_eq!(error, "Session name cannot be empty");
    }
    let id = agent.get("get_state")["sessionId"].clone();
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", id.as_str().unwrap()]).start();
    assert_eq!(agent.get("get_state")["sessionName"], "last");
}

#[test]
fn statistics_sum_tokens_and_cost() {
    let (server, workspace) = Workspace::with_server();
    server.reply(
        Reply::new()
            .tool("bash", json!({ "command": "echo 1" }))
            .tool("bash", json!({ "command": "exit 3" }))
            .usage(Usage { input: 1_000, output: 100, cache_read: 0, cache_write: 2_000 }),
    );
    server.reply(Reply::text("done").usage(Usage {
        input: 500,
        output: 50,
        cache_read: 10_000,
        cache_write: 0,
    }));
    let mut agent = Launch::rpc(&workspace).start();
    agent.run("count");
    let stats = agent.get("get_session_stats");
    let state = agent.get("get_state");
    assert_eq!(
        keys(&stats),
        [
            "sessionFile",
            "sessionId",
            "userMessages",
            "assistantMessages",
            "toolCalls",
            "toolResults",
            "totalMessages",
            "tokens",
            "cost",
            "contextUsage",
            "byModel"
        ]
    );
    assert_eq!((&stats["sessionFile"], &stats["sessionId"]), (&state["sessionFile"], &state["sessionId"]));
    let counts = ["userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages"];
    assert_eq!(counts.map(|name| stats[name].as_u64().unwrap()), [1, 2, 2, 2, 5]);
    assert_eq!(
        stats["tokens"],
        json!({ "input": 1_500, "output": 150, "cacheRead": 10_000, "cacheWrite": 2_000, "total": 13_650 })
    );
    // Dollars per million tokens: 1 in, 2 out, 0.1 from the cache, 1.25 into it.
    let cost = (1_500.0 * 1.0 + 150.0 * 2.0 + 10_000.0 * 0.1 + 2_000.0 * 1.25) / 1e6;
    assert!((stats["cost"].as_f64().unwrap() - cost).abs() < 1e-12, "{stats}");
    let context = &stats["contextUsage"];
    assert_eq!((&context["tokens"], &context["contextWindow"]), (&json!(10_550), &json!(200_000)));
    assert!((context["percent"].as_f64().unwrap() - 5.275).abs() < 1e-9, "{context}");
    agent.finish();

    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_session_stats"), stats, "the same after opening the session again");
}

#[test]
fn messages_are_unchanged_after_resuming() {
    let (server, workspace) = Workspace::with_server();
    server.reply(
        Reply::new()
            .thinking("hm … \u{2028}")
            .then_text("let me see \u{1F980}")
            .tool("bash", json!({ "command": "printf 'a\\tb'" })),
    );
    server.reply(Reply::text("there"));
    let image = json!({ "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" });
    let mut agent = Launch::rpc(&workspace).model("mock/m2:low").start();
    agent.carry_out(json!({ "type": "prompt", "message": "look", "images": [image] }));
    let records = agent.collect_until_settled();
    agent.carry_out(json!({ "type": "bash", "command": "echo from the user" }));
    let before = agent.get("get_messages");
    let reported = announced(&records);
    assert_eq!(before["messages"].as_array().unwrap()[..reported.len()], reported);
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_messages"), before);
    let state = agent.get("get_state");
    assert_eq!((&state["model"]["id"], &state["thinkingLevel"]), (&json!("m2"), &json!("low")));
}

/// Returns the duration of an answer, if it has one.
fn timing(answer: &Value) -> Vec<(&str, u64)> {
    let fields = ["duration", "ttft", "completedAt"].into_iter();
    fields.filter_map(|name| Some((name, answer.get(name)?.as_u64().unwrap()))).collect()
}

#[test]
fn duration_is_in_every_complete_answer_and_in_the_file() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("one ").gate(&gate).then_text("two"));
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    std::thread::sleep(Duration::from_millis(60));
    gate.open();
    let mut records = agent.collect_until_settled();
    let begun = &of_type(&records, "message_start")[1]["message"];
    assert_eq!((&begun["stopReason"], timing(begun)), (&json!("pending"), Vec::new()));
    let answer = of_type(&records, "message_end")[1]["message"].clone();
    let [("duration", duration), ("ttft", first), ("completedAt", at)] = timing(&answer)[..] else {
        panic!("{answer}")
    };
    assert!(duration >= 60 && first < duration, "{answer}");
    assert!(at >= answer["timestamp"].as_u64().unwrap() + 60, "{answer}");
    assert_eq!(of_type(&records, "turn_end")[0]["message"], answer);
    assert_eq!(of_type(&records, "agent_end")[0]["messages"][1], answer);

    // An answer that fails before it starts has no time to its first delta.
    server.reply(Reply::status(400));
    records = agent.run("fail");
    let failed = of_type(&records, "message_end")[1]["message"].clone();
    assert_eq!(failed["stopReason"], "error");
    let reported: Vec<_> = timing(&failed).into_iter().map(|(name, _)| name).collect();
    assert_eq!(reported, ["duration", "completedAt"]);

    let messages = agent.get("get_messages");
    assert_eq!((&messages["messages"][1], &messages["messages"][3]), (&answer, &failed));
    let file = agent.get("get_state")["sessionFile"].take();
    let written = session_messages(file.as_str().unwrap());
    assert_eq!((&written[1], &written[3]), (&answer, &failed));
    agent.carry_out(json!({ "type": "clone" }));
    assert_eq!(agent.get("get_messages"), messages);
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.as_str().unwrap()]).start();
    assert_eq!(agent.get("get_messages"), messages);
}

/// Writes a session file into the workspace, as another program would, and returns its path.
fn write_session(workspace: &Workspace, lines: &[Value]) -> PathBuf {
    let path = workspace.home().join("by-hand.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).unwrap();
    path
}

/// Returns an entry as pi writes it, a child of the entry with the number before its own.
fn entry(number: u32, kind: &str, fields: Value) -> Value {
    let parent = (number > 1).then(|| format!("0000000{:x}", number - 1));
    let mut entry = json!({ "type": kind, "id": format!("0000000{number:x}"), "parentId": parent,
        "timestamp": "2026-11-16T00:55:48.502Z" });
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    entry
}

fn user(text: &str) -> Value {
    json!({ "message": { "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 } })
}

fn assistant(text: &str, stop_reason: &str) -> Value {
    json!({ "message": { "role": "assistant", "content": [{ "type": "text", "text": text }],
        "api": "anthropic-messages", "provider": "mock", "model": "m2",
        "usage": { "input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 6,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 }, "cacheWrite1h": 0 },
        "stopReason": stop_reason, "timestamp": 2, "responseId": "r", "rawStopReason": "x", "diagnostics": [] } })
}

#[test]
fn pi_0_87_session_opens_with_the_messages_pi_shows() {
    let (server, workspace) = Workspace::with_server();
    let header = json!({ "type": "session", "version": 3, "id": "from-pi", "timestamp": "2026-11-16T00:55:48.502Z",
        "cwd": workspace.work() });
    let system = json!({ "message": { "role": "system", "content": "", "sections": { "preamble": "You are pi." },
        "timestamp": 1, "toolsAdded": [] } });
    let file = write_session(
        &workspace,
        &[
            header,
            entry(1, "model_change", json!({ "provider": "mock", "modelId": "m2" })),
            entry(2, "thinking_level_change", json!({ "thinkingLevel": "high" })),
            entry(3, "message", system),
            entry(4, "message", user("summarised away")),
            entry(5, "message", user("kept")),
            entry(6, "message", assistant("failed", "error")),
            entry(7, "context_edit", json!({ "targetId": "00000006", "replacement": null })),
            entry(
                8,
                "compaction",
                json!({ "summary": "what was", "firstKeptEntryId": "00000005", "tokensBefore": 9, "fromHook": false,
                    "details": { "readFiles": [], "modifiedFiles": [] }, "systemMessage": { "role": "system" } }),
            ),
            entry(9, "custom", json!({ "customType": "memory", "data": { "x": 1 } })),
            entry(
                10,
                "custom_message",
                json!({ "customType": "note", "content": "look here", "display": true }),
            ),
            entry(11, "from_a_later_version", json!({ "whatever": [1, 2, 3] })),
            entry(12, "message", assistant("an answer", "stop")),
            entry(13, "session_info", json!({ "name": "Of pi" })),
        ],
    );
    let original = fs::read_to_string(&file).unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    let expected = ["compactionSummary: what was", "user: kept", "custom: look here", "assistant: an answer"];
    assert_eq!(texts(&agent.get("get_messages")), expected);
    let state = agent.get("get_state");
    assert_eq!(
        (&state["sessionName"], &state["model"]["id"], &state["thinkingLevel"]),
        (&json!("Of pi"), &json!("m2"), &json!("high"))
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), original, "reading changes nothing");
    agent.run("go on");
    let sent = server.requests()[0].body["messages"].to_string();
    for (text, is_sent) in [
        ("what was", true),
        ("kept", true),
        ("look here", true),
        ("an answer", true),
        ("go on", true),
        ("summarised away", false),
        ("failed", false),
    ] {
        assert_eq!(sent.contains(text), is_sent, "{text}: {sent}");
    }
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.starts_with(&original), "entries of other programs are unchanged");
    assert_eq!(session_lines(&file)[14]["parentId"], "0000000d");
}

#[test]
fn unknown_measurements_of_other_programs_are_tolerated() {
    let (server, workspace) = Workspace::with_server();
    let mut answer = assistant("hello", "stop");
    answer["message"]["duration"] = json!(1249.6);
    answer["message"]["ttft"] = json!({ "ms": 7 });
    answer["message"]["tokensPerSecond"] = json!(31.5);
    let lines = [
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": workspace.work() }),
        entry(1, "message", user("hi")),
        entry(2, "message", answer.clone()),
    ];
    let file = write_session(&workspace, &lines);
    let before = fs::read_to_string(&file).unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    let messages = agent.get("get_messages");
    assert_eq!(texts(&messages), ["user: hi", "assistant: hello"]);
    assert_eq!(timing(&messages["messages"][1]), [("duration", 1250)]);
    server.reply(Reply::text("more"));
    agent.run("go on");
    agent.carry_out(json!({ "type": "clone" }));
    let clone = agent.get("get_state")["sessionFile"].take();
    agent.finish();
    assert!(fs::read_to_string(&file).unwrap().starts_with(&before), "the old content is unchanged");
    assert_eq!(session_messages(clone.as_str().unwrap())[1], answer["message"]);
}

#[test]
fn sessions_of_older_versions_open_and_continue() {
    let old_user = json!({ "type": "message", "timestamp": "T", "message": { "role": "user", "content": "plain text",
        "timestamp": 1 } });
    let hook = json!({ "message": { "role": "hookMessage", "customType": "hook", "content": "from a hook",
        "display": true, "timestamp": 1 } });
    let cases = [
        (1, vec![old_user.clone(), old_user], ["user: plain text", "user: plain text"]),
        (
            2,
            vec![entry(1, "message", user("two")), entry(2, "message", hook)],
            ["user: two", "custom: from a hook"],
        ),
    ];
    for (version, entries, expected) in cases {
        let (_server, workspace) = Workspace::with_server();
        let mut header = json!({ "type": "session", "version": version, "id": "old", "timestamp": "T",
            "cwd": workspace.work() });
        if version == 1 {
            header.as_object_mut().unwrap().shift_remove("version");
        }
        let file = write_session(&workspace, &[&[header], &entries[..]].concat());
        let original = fs::read(&file).unwrap();
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
        assert_eq!(texts(&agent.get("get_messages")), expected, "version {version}");
        assert_eq!(fs::read(&file).unwrap(), original, "reading does not upgrade the file");
        agent.run("more");
        agent.finish();
        let lines = session_lines(&file);
        assert_eq!(lines[0]["version"], 3);
        assert!(lines[1..].iter().all(|line| line["id"].is_string()), "{lines:?}");
        assert_eq!(fs::read(file.with_extension(format!("jsonl.v{version}.bak"))).unwrap(), original);
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
        assert_eq!(texts(&agent.get("get_messages"))[..2], expected);
    }
}

#[test]
fn unreadable_lines_are_skipped_with_a_warning() {
    let (_server, workspace) = Workspace::with_server();
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": workspace.work() });
    let file = write_session(&workspace, &[header, entry(1, "message", user("before"))]);
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("this is no entry\n");
    text.push_str(&format!("{}\n", entry(2, "message", user("after"))));
    fs::write(&file, text).unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    assert_eq!(texts(&agent.get("get_messages")), ["user: before", "user: after"]);
    agent.wait_for_stderr("1 line cannot be read");
    assert_eq!(agent.get("get_state")["sessionDamage"]["unreadableLines"], 1);
}

#[test]
fn lost_line_costs_one_message_and_the_client_is_told() {
    let (_server, workspace) = Workspace::with_server();
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": workspace.work() });
    let mut lines = vec![header];
    lines.extend((1..20).map(|id| entry(id, "message", user(&format!("m{id}")))));
    let file = write_session(&workspace, &lines);
    let text = fs::read_to_string(&file).unwrap();
    let damaged: Vec<_> =
        text.lines().map(|line| if line.contains("m15") { "\u{0}\u{0}" } else { line }).collect();
    fs::write(&file, damaged.join("\n") + "\n").unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    let read = texts(&agent.get("get_messages"));
    assert_eq!((read.len(), read[0].as_str(), read[17].as_str()), (18, "user: m1", "user: m19"));
    assert_eq!(
        agent.get("get_state")["sessionDamage"],
        json!({ "unreadableLines": 1, "relinkedEntries": 1, "unreadableMessages": 0 })
    );
    agent.wait_for_stderr("1 line cannot be read; 1 entry follows a missing one");
    agent.finish();
    let fsck = |arguments: &[&str]| {
        Launch::bowline(&workspace).arguments(&["sessions", "fsck"]).arguments(arguments).run()
    };
    let path = file.to_str().unwrap();
    let found = fsck(&[path]);
    assert_eq!(found.code, 1, "{}", found.stdout);
    assert!(
        found.stdout.contains("line 16 is not JSON") && found.stdout.contains("--repair"),
        "{}",
        found.stdout
    );
    assert_eq!(fsck(&["--repair", path]).code, 0);
    assert_eq!(fsck(&[path]).code, 0);
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", path]).start();
    assert_eq!(texts(&agent.get("get_messages")), read);
    assert!(agent.get("get_state").get("sessionDamage").is_none());
}

#[test]
fn lost_parent_without_an_unreadable_line_is_damage_too() {
    let (_server, workspace) = Workspace::with_server();
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": workspace.work() });
    let lines = [header, entry(1, "message", user("a")), entry(3, "message", user("c"))];
    let file = write_session(&workspace, &lines);
    let path = file.to_str().unwrap();
    let fsck = |arguments: &[&str]| {
        Launch::bowline(&workspace).arguments(&["sessions", "fsck"]).arguments(arguments).run()
    };
    assert_eq!(fsck(&[path]).code, 1);
    assert_eq!(fsck(&["--repair", path]).code, 0);
    let kept = session_lines(&file);
    assert_eq!(kept[2]["parentId"], kept[1]["id"]);
    assert_eq!(session_lines(file.with_extension("jsonl.bak")), lines, "the original is kept");
}

#[test]
fn session_file_that_does_not_exist_becomes_a_new_session() {
    let (_server, workspace) = Workspace::with_server();
    for name in ["./new.jsonl", "sub/folder/other"] {
        let file = workspace.work().join(name);
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", name]).start();
        let state = agent.get("get_state");
        assert_eq!(
            (Path::new(state["sessionFile"].as_str().unwrap()), &state["messageCount"]),
            (&*file, &json!(0))
        );
        assert!(!file.exists(), "an empty session has no file");
        agent.run("hello");
        agent.finish();
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", name]).start();
        let resumed = agent.get("get_state");
        assert_eq!((&resumed["sessionId"], &resumed["messageCount"]), (&state["sessionId"], &json!(2)));
    }
}

#[test]
fn user_initiated_bash_is_saved_and_sent_to_the_model_unless_excluded() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).start();
    let data = agent.carry_out(json!({ "type": "bash", "command": "echo open; exit 2" }));
    assert_eq!(data, json!({ "output": "open\n", "exitCode": 2, "cancelled": false, "truncated": false }));
    agent.carry_out(json!({ "type": "bash", "command": "echo hidden", "excludeFromContext": true }));
    assert_eq!(
        texts(&agent.get("get_messages")),
        ["bashExecution: echo open; exit 2", "bashExecution: echo hidden"]
    );
    let file = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
    let kept = session_messages(&file);
    assert_eq!(
        keys(&kept[0]),
        ["role", "command", "output", "exitCode", "cancelled", "truncated", "timestamp"]
    );
    assert_eq!((&kept[0]["output"], &kept[0]["exitCode"]), (&json!("open\n"), &json!(2)));
    assert_eq!(kept[1]["excludeFromContext"], true);
    agent.run("what did I run?");
    let sent = server.requests()[0].body["messages"].to_string();
    assert!(sent.contains("Ran `echo open; exit 2`") && sent.contains("code 2"), "{sent}");
    assert!(!sent.contains("hidden"), "{sent}");
}

#[test]
fn user_initiated_bash_is_saved_at_the_end_of_the_turn() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    let wait = "until [ -e go ]; do sleep 0.01; done";
    server.reply(Reply::text("thinking").gate(&gate).tool("bash", json!({ "command": wait })));
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "bash", "command": "echo beside the answer" }));
    let file = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
    assert_eq!(session_messages(&file).len(), 1, "the answer does not follow what the model has not seen");
    gate.open();
    agent.until_type("tool_execution_start");
    agent.carry_out(json!({ "type": "bash", "command": "echo from the user" }));
    assert_eq!(session_messages(&file).len(), 2, "a call and its result are not parted");
    std::fs::write(workspace.work().join("go"), "").unwrap();
    agent.collect_until_settled();
    let roles: Vec<_> = session_messages(&file).iter().map(|message| message["role"].clone()).collect();
    let [user, answer, result, shell] = ["user", "assistant", "toolResult", "bashExecution"];
    assert_eq!(roles, [user, answer, result, shell, shell, answer]);
    let sent = server.requests()[1].body["messages"].to_string();
    assert!(sent.contains("beside the answer") && sent.contains("from the user"), "{sent}");
}
