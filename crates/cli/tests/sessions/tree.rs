//! The tree of a session: its entries, branches, labels and forks, and the list of all sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bowline_testkit::{
    Agent, Gate, Launch, ModelServer, Reply, Usage, Workspace, assert_well_formed, keys, of_type,
    session_lines, types,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

/// Starts an agent and has one exchange for each text, answered with the text prefixed by `re: `.
fn start_with(server: &ModelServer, workspace: &Workspace, texts: &[&str]) -> Agent {
    let mut agent = workspace.start();
    for text in texts {
        server.reply(Reply::text(&format!("re: {text}")));
        agent.run(text);
    }
    agent
}

/// Returns the id of the entry that holds a message with this text.
#[track_caller]
fn entry_of(agent: &mut Agent, text: &str) -> String {
    let entries = agent.get("get_entries");
    let entries = entries["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["message"]["content"][0]["text"] == text);
    assert!(found.is_some(), "no {text} in {entries:#?}");
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

/// Returns the messages as `role: text`.
fn conversation(agent: &mut Agent) -> Vec<String> {
    let messages = agent.get("get_messages");
    let text = |message: &Value| {
        let text = message["summary"].as_str().or_else(|| message["content"][0]["text"].as_str());
        format!("{}: {}", message["role"].as_str().unwrap(), text.unwrap_or_default())
    };
    messages["messages"].as_array().unwrap().iter().map(text).collect()
}

fn file_of(agent: &mut Agent) -> PathBuf {
    agent.get("get_state")["sessionFile"].as_str().unwrap().into()
}

fn last_request(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body["messages"].to_string()
}

#[test]
fn every_message_end_has_its_entry_id() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--model", "mock/m2"]).start();
    server.reply(Reply::text("a").tool("bash", json!({ "command": "echo 1" })).tool("no_such", json!({})));
    server.reply(Reply::text("b"));
    agent.run("one");
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    agent.carry_out(json!({ "type": "prompt", "message": "two" }));
    gate.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "steer", "message": "later" }));
    agent.ask(json!({ "type": "abort" }));
    agent.collect_until_settled();
    server.reply(Reply::status(400).body("no"));
    agent.run("three");
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    agent.carry_out(json!({ "type": "set_session_name", "name": "named" }));
    let named: Vec<(Value, Value)> = agent
        .transcript()
        .iter()
        .filter(|record| record["type"] == "message_end")
        .map(|record| (record["entryId"].clone(), record["message"].clone()))
        .collect();
    let other: Vec<_> =
        agent.transcript().iter().filter(|record| record["type"] != "message_end").cloned().collect();
    let lines = session_lines(file_of(&mut agent));
    let written: Vec<(Value, Value)> = lines
        .iter()
        .filter(|line| line["type"] == "message")
        .map(|line| (line["id"].clone(), line["message"].clone()))
        .collect();
    assert_eq!(named, written);
    assert_eq!(named.len(), 10);
    let id_of = |kind: &str| &lines.iter().rev().find(|line| line["type"] == kind).unwrap()["id"];
    for (event, kind) in
        [("thinking_level_changed", "thinking_level_change"), ("session_info_changed", "session_info")]
    {
        let event = of_type(&other, event).pop().unwrap();
        assert_eq!(&event["entryId"], id_of(kind), "{event}");
    }
    assert_well_formed(agent.transcript());
}

#[test]
fn entries_match_the_file_and_can_start_at_any_entry() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let before = agent.get("get_entries");
    let kinds = |answer: &Value| {
        let entries = answer["entries"].as_array().unwrap().clone();
        types(&entries).into_iter().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&before), ["model_change", "thinking_level_change"]);
    server.reply(Reply::text("re: one"));
    agent.run("one");
    let all = agent.get("get_entries");
    assert_eq!(keys(&all), ["entries", "leafId"]);
    assert_eq!(all["entries"].as_array().unwrap()[..], session_lines(file_of(&mut agent))[1..]);
    assert_eq!(all["leafId"], all["entries"][3]["id"]);
    let since = agent.carry_out(json!({ "type": "get_entries", "since": before["leafId"] }));
    assert_eq!(since["entries"].as_array().unwrap()[..], all["entries"].as_array().unwrap()[2..]);
    let none = agent.carry_out(json!({ "type": "get_entries", "since": all["leafId"] }));
    assert_eq!(none, json!({ "entries": [], "leafId": all["leafId"] }));
    let error = agent.refuse(json!({ "type": "get_entries", "since": "nope" }));
    assert_eq!(error, "Entry not found: nope");
}

#[test]
fn tree_has_branches_and_labels() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let two = entry_of(&mut agent, "two");
    agent.carry_out(json!({ "type": "navigate_tree", "entryId": two }));
    server.reply(Reply::text("re: other"));
    agent.run("other");
    let one = entry_of(&mut agent, "re: one");
    let label = agent.carry_out(json!({ "type": "set_label", "entryId": one, "label": " fork here " }));
    let tree = agent.get("get_tree");
    assert_eq!(tree["leafId"], label["entryId"], "a label is an entry too");
    let mut node = &tree["tree"][0];
    let mut path = vec![];
    while node["children"].as_array().unwrap().len() == 1 {
        path.push(node["entry"]["type"].as_str().unwrap());
        node = &node["children"][0];
    }
    assert_eq!(path, ["model_change", "thinking_level_change", "message"]);
    assert_eq!((&node["entry"]["id"], &node["label"]), (&json!(one), &json!("fork here")));
    assert!(node["labelTimestamp"].is_string(), "{node}");
    let texts: Vec<_> = node["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| child["entry"]["message"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["two", "other"]);
    assert_eq!(keys(&node["children"][0]), ["entry", "children"]);

    agent.carry_out(json!({ "type": "set_label", "entryId": one }));
    assert!(!agent.get("get_tree").to_string().contains("labelTimestamp"));
    let lines = session_lines(file_of(&mut agent));
    let [.., set, cleared] = &lines[..] else { unreachable!() };
    assert_eq!(
        (&set["type"], &set["targetId"], &set["label"]),
        (&json!("label"), &json!(one), &json!("fork here"))
    );
    assert!(!keys(cleared).contains(&"label"), "{cleared}");
    let error = agent.refuse(json!({ "type": "set_label", "entryId": "nope", "label": "x" }));
    assert_eq!(error, "Entry not found: nope");
    assert_eq!(
        conversation(&mut agent).last().unwrap(),
        "assistant: re: other",
        "labels change no conversation"
    );
}

#[test]
fn fork_has_the_entries_before_the_message() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two", "three"]);
    let old = agent.get("get_state");
    let old_file = file_of(&mut agent);
    let bytes = fs::read(&old_file).unwrap();
    let messages = agent.get("get_fork_messages");
    let texts: Vec<_> = messages["messages"].as_array().unwrap().iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!(keys(&messages["messages"][0]), ["entryId", "text"]);
    let two = messages["messages"][1]["entryId"].clone();
    let answer = agent.carry_out(json!({ "type": "fork", "entryId": two }));
    assert_eq!(answer, json!({ "text": "two", "cancelled": false }));
    let new = agent.get("get_state");
    assert_ne!(new["sessionId"], old["sessionId"]);
    assert_eq!(conversation(&mut agent), ["user: one", "assistant: re: one"]);
    server.reply(Reply::text("re: other"));
    agent.run("other");
    let sent = last_request(&server);
    assert!(sent.contains("one") && sent.contains("other") && !sent.contains("two"), "{sent}");

    let lines = session_lines(file_of(&mut agent));
    assert_eq!(lines[0]["parentSession"], json!(old_file));
    assert_eq!(lines[1..5], session_lines(&old_file)[1..5], "entries keep their ids");
    assert_eq!(fs::read(&old_file).unwrap(), bytes, "the old session is unchanged");
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": old_file }));
    assert_eq!(agent.get("get_state")["messageCount"], 6);
}

#[test]
fn fork_before_the_first_message_is_empty_and_has_a_parent() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one"]);
    let old_file = file_of(&mut agent);
    let one = entry_of(&mut agent, "one");
    agent.carry_out(json!({ "type": "fork", "entryId": one }));
    assert!(conversation(&mut agent).is_empty());
    assert_eq!(workspace.session_files(), [old_file.as_path()], "the session is still empty");
    agent.run("anew");
    let lines = session_lines(file_of(&mut agent));
    assert_eq!(lines[0]["parentSession"], json!(old_file));
    assert_eq!(types(&lines), ["session", "model_change", "thinking_level_change", "message", "message"]);
}

#[test]
fn fork_needs_a_user_message_in_a_saved_session() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let saved_first = "This session has not been saved yet. Wait for the first assistant response before cloning or forking it.";
    assert_eq!(agent.refuse(json!({ "type": "clone" })), saved_first);
    assert_eq!(agent.get("get_fork_messages"), json!({ "messages": [] }));
    server.reply(Reply::text("re: one"));
    agent.run("one");
    let state = agent.get("get_state");
    let answer = entry_of(&mut agent, "re: one");
    let first = agent.get("get_entries")["entries"][0]["id"].clone();
    for entry in [json!(answer), first, json!("nope")] {
        let error = agent.refuse(json!({ "type": "fork", "entryId": entry }));
        assert_eq!(error, "Invalid entry ID for forking", "{entry}");
    }
    assert_eq!(agent.get("get_state"), state);
}

#[test]
fn fork_at_an_unknown_entry_does_not_end_a_run() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate).then_text(" and whole"));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    for command in ["fork", "navigate_tree"] {
        agent.refuse(json!({ "type": command, "entryId": "nope" }));
    }
    gate.open();
    assert_eq!(agent.collect_until_settled().last().unwrap()["aborted"], false);
}

#[test]
fn clone_has_the_same_conversation_in_another_session() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let two = entry_of(&mut agent, "two");
    agent.carry_out(json!({ "type": "navigate_tree", "entryId": two }));
    server.reply(Reply::text("re: other"));
    agent.run("other");
    let one = entry_of(&mut agent, "one");
    agent.carry_out(json!({ "type": "set_label", "entryId": one, "label": "first" }));
    let (old, before) = (file_of(&mut agent), conversation(&mut agent));
    assert_eq!(agent.get("clone"), json!({ "cancelled": false }));
    assert_eq!(conversation(&mut agent), before);
    let new = file_of(&mut agent);
    assert_ne!(new, old);
    let lines = session_lines(&new);
    assert_eq!(lines[0]["parentSession"], json!(old));
    assert_eq!(lines.last().unwrap()["label"], "first");
    assert!(!fs::read_to_string(&new).unwrap().contains("two"), "other branches are not included");
    agent.run("more");
    assert_eq!(session_lines(&new).len(), lines.len() + 2);
}

#[test]
fn forks_and_clones_end_a_run_first() {
    for command in ["fork", "clone"] {
        let (server, workspace) = Workspace::with_server();
        let mut agent = start_with(&server, &workspace, &["one"]);
        let one = entry_of(&mut agent, "one");
        let gate = Gate::new();
        server.reply(Reply::text("half").gate(&gate));
        agent.carry_out(json!({ "type": "prompt", "message": "two" }));
        gate.wait_until_reached(LIMIT);
        agent.send(json!({ "id": "f", "type": command, "entryId": one }));
        let records = agent.until(|record| record["id"] == "f");
        assert_eq!(
            records[records.len() - 2],
            json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })
        );
        assert_eq!(records.last().unwrap()["success"], true);
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn navigation_to_a_user_message_goes_before_it_and_returns_its_text() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let (two, before) = (entry_of(&mut agent, "two"), entry_of(&mut agent, "re: one"));
    let state = agent.get("get_state");
    let answer = agent.carry_out(json!({ "type": "navigate_tree", "entryId": two }));
    assert_eq!(
        answer,
        json!({ "leafId": before, "text": "two", "summaryEntryId": null, "cancelled": false })
    );
    assert_eq!(conversation(&mut agent), ["user: one", "assistant: re: one"]);
    server.reply(Reply::text("re: better"));
    agent.run("better");
    assert!(!last_request(&server).contains("two"));
    assert_eq!(agent.get("get_state")["sessionId"], state["sessionId"], "it is the same session");
    let lines = session_lines(file_of(&mut agent));
    assert_eq!(lines[lines.len() - 2]["parentId"], json!(before));
    let before = conversation(&mut agent);
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(conversation(&mut agent), before);
    assert_eq!(agent.get("get_session_stats")["userMessages"], 3, "all branches count");
}

#[test]
fn navigation_to_an_answer_continues_after_it() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let target = entry_of(&mut agent, "re: one");
    let leaf = entry_of(&mut agent, "re: two");
    let answer = agent.carry_out(json!({ "type": "navigate_tree", "entryId": target }));
    assert_eq!((&answer["leafId"], &answer["text"]), (&json!(target), &Value::Null));
    assert_eq!(conversation(&mut agent).len(), 2);
    // To the other branch and back.
    agent.carry_out(json!({ "type": "navigate_tree", "entryId": leaf }));
    assert_eq!(conversation(&mut agent).len(), 4);
    let error = agent.refuse(json!({ "type": "navigate_tree", "entryId": "nope" }));
    assert_eq!(error, "Entry not found: nope");
    assert_eq!(server.requests().len(), 2, "no model is called without a summary");
}

#[test]
fn abandoned_branch_can_be_summarised() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let (two, leaf) = (entry_of(&mut agent, "two"), entry_of(&mut agent, "re: two"));
    server.reply(Reply::text("TRIED IT").usage(Usage {
        input: 900,
        output: 9,
        cache_read: 0,
        cache_write: 0,
    }));
    let before = agent.get("get_session_stats");
    let answer = agent.carry_out(json!({
        "type": "navigate_tree", "entryId": two, "summarize": true, "customInstructions": "be BLUE"
    }));
    let sent = last_request(&server);
    assert!(sent.contains("[Assistant]: re: two") && sent.contains("be BLUE"), "{sent}");
    assert!(!sent.contains("re: one"), "{sent}");
    let lines = session_lines(file_of(&mut agent));
    let entry = lines.last().unwrap();
    assert_eq!(
        (&entry["type"], &entry["id"], &entry["fromId"], &entry["parentId"]),
        (
            &json!("branch_summary"),
            &answer["summaryEntryId"],
            &json!(leaf),
            &json!(entry_of(&mut agent, "re: one"))
        )
    );
    assert_eq!((&answer["leafId"], &answer["text"]), (&entry["id"], &json!("two")));
    let expected = ["user: one", "assistant: re: one", "branchSummary: TRIED IT"];
    assert_eq!(conversation(&mut agent), expected);
    let after = agent.get("get_session_stats");
    let input = |statistics: &Value| statistics["tokens"]["input"].as_u64().unwrap();
    assert_eq!(input(&after) - input(&before), 900);
    agent.run("again");
    assert!(last_request(&server).contains("TRIED IT"));
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(conversation(&mut agent)[..3], expected);
}

#[test]
fn empty_branch_summary_calls_no_model() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one"]);
    let leaf = entry_of(&mut agent, "re: one");
    let answer = agent.carry_out(json!({ "type": "navigate_tree", "entryId": leaf, "summarize": true }));
    assert_eq!(answer["summaryEntryId"], Value::Null);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn branch_summary_can_be_aborted_and_can_fail() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "retry": { "enabled": false } }));
    let mut agent = start_with(&server, &workspace, &["one", "two"]);
    let two = entry_of(&mut agent, "two");
    let entries = agent.get("get_entries");
    let navigate = json!({ "id": "n", "type": "navigate_tree", "entryId": two, "summarize": true });
    server.reply(Reply::mute());
    agent.send(navigate.clone());
    server.wait_for_requests(3, LIMIT);
    assert_eq!(agent.get("get_state")["isCompacting"], true);
    let refused = agent.ask(json!({ "type": "prompt", "message": "now" }));
    assert_eq!(refused["code"], "compacting");
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!(
        (&records[0]["error"], &records[0]["code"]),
        (&json!("Navigation cancelled"), &json!("cancelled"))
    );
    assert_eq!(agent.get("get_entries"), entries);
    server.wait_for_hang_ups(1, LIMIT);

    server.reply(Reply::status(500).body("down"));
    agent.send(navigate);
    let error = agent.response("n");
    assert!(error["error"].as_str().unwrap().starts_with("Summarization failed: 500"), "{error}");
    assert_eq!(agent.get("get_entries"), entries, "the conversation is unchanged");
}

#[test]
fn navigation_ends_a_run_first() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start_with(&server, &workspace, &["one"]);
    let one = entry_of(&mut agent, "re: one");
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    server.reply(Reply::text("LEFT BEHIND"));
    agent.carry_out(json!({ "type": "prompt", "message": "two" }));
    gate.wait_until_reached(LIMIT);
    agent.send(json!({ "id": "n", "type": "navigate_tree", "entryId": one, "summarize": true }));
    let records = agent.until(|record| record["id"] == "n");
    assert_eq!(
        records[records.len() - 2],
        json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })
    );
    assert!(last_request(&server).contains("[User]: two"));
    assert_eq!(conversation(&mut agent), ["user: one", "assistant: re: one", "branchSummary: LEFT BEHIND"]);
    assert_well_formed(agent.transcript());
}

/// Creates a session of one exchange in a folder, last modified `age` seconds ago.
fn recorded(workspace: &Workspace, folder: &Path, id: &str, text: &str, age: u64) -> PathBuf {
    let mut agent =
        Launch::rpc(workspace).model("mock/m1").arguments(&["--session-id", id]).directory(folder).start();
    agent.run(text);
    let file = file_of(&mut agent);
    agent.finish();
    let opened = fs::File::options().append(true).open(&file).unwrap();
    opened.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    file
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["sessions"].as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect()
}

#[test]
fn sessions_are_listed_searched_and_paged() {
    let (_server, workspace) = Workspace::with_server();
    let elsewhere = workspace.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let first = recorded(&workspace, &workspace.work(), "first", "about apples", 30);
    recorded(&workspace, &workspace.work(), "second", "about pears", 20);
    recorded(&workspace, &elsewhere, "third", "about Apples too", 10);
    let mut agent = workspace.start();
    let list = |agent: &mut Agent, mut query: Value| {
        query["type"] = json!("list_sessions");
        agent.carry_out(query)
    };
    let page = list(&mut agent, json!({}));
    assert_eq!((ids(&page), &page["nextCursor"]), (vec!["second", "first"], &Value::Null));
    let session = &page["sessions"][1];
    let fields = ["id", "path", "cwd", "firstMessage", "messageCount", "created", "modified"];
    assert_eq!(keys(session), fields);
    assert_eq!(
        (&session["path"], &session["cwd"], &session["firstMessage"], &session["messageCount"]),
        (&json!(first), &json!(workspace.work()), &json!("about apples"), &json!(2))
    );
    assert_eq!(ids(&list(&mut agent, json!({ "scope": "project" }))), ["second", "first"]);
    assert_eq!(ids(&list(&mut agent, json!({ "scope": "all" }))), ["third", "second", "first"]);
    assert_eq!(ids(&list(&mut agent, json!({ "scope": "all", "search": "APPLES" }))), ["third", "first"]);
    let mut found = Vec::new();
    let mut cursor = Value::Null;
    for _ in 0..3 {
        let page = list(&mut agent, json!({ "scope": "all", "limit": 1, "cursor": cursor }));
        found.extend(ids(&page).into_iter().map(ToOwned::to_owned));
        cursor = page["nextCursor"].clone();
    }
    assert_eq!((found, cursor), (vec!["third".into(), "second".into(), "first".into()], Value::Null));

    agent.carry_out(json!({ "type": "set_session_name", "name": "Mine" }));
    let page = list(&mut agent, json!({ "search": "mine" }));
    assert_eq!((ids(&page).len(), &page["sessions"][0]["name"]), (1, &json!("Mine")));
    for (wrong, expected) in [
        (json!({ "limit": 0 }), "\"limit\" must be an integer"),
        (json!({ "scope": "everything" }), "\"scope\" must be one of"),
        (json!({ "cursor": "nonsense" }), "nonsense"),
    ] {
        let mut query = wrong;
        query["type"] = json!("list_sessions");
        let error = agent.refuse(query);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn only_closed_sessions_of_the_store_are_deleted() {
    let (_server, workspace) = Workspace::with_server();
    let other = recorded(&workspace, &workspace.work(), "other", "x", 10);
    let outside = workspace.work().join("outside.jsonl");
    fs::copy(&other, &outside).unwrap();
    let mut agent = workspace.start();
    agent.run("mine");
    let mine = file_of(&mut agent);
    let delete = |path: &Path| json!({ "type": "delete_session", "sessionPath": path });
    let error = agent.refuse(delete(&mine));
    assert!(error.contains("switch to another one first"), "{error}");
    let error = agent.refuse(delete(Path::new("outside.jsonl")));
    assert!(error.contains("outside.jsonl"), "{error}");
    let error = agent.refuse(delete(Path::new("missing.jsonl")));
    assert!(error.contains("Session file not found"), "{error}");
    let mut owner = Launch::rpc(&workspace).model("mock/m1").arguments(&["--session", "other"]).start();
    owner.get("get_state");
    let error = agent.refuse(delete(&other));
    assert!(error.contains("in use by another process"), "{error}");
    owner.finish();
    assert!(mine.exists() && outside.exists() && other.exists());
    agent.carry_out(delete(&other));
    assert!(!other.exists());
    agent.run("still here");
    assert_eq!(session_lines(&mine).len(), 7);
}

#[test]
fn in_memory_session_can_branch_and_is_not_listed() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--no-session"]).start();
    for text in ["one", "two"] {
        server.reply(Reply::text(&format!("re: {text}")));
        agent.run(text);
    }
    let id = agent.get("get_state")["sessionId"].clone();
    let two = entry_of(&mut agent, "two");
    agent.carry_out(json!({ "type": "navigate_tree", "entryId": two }));
    agent.get("clone");
    assert_ne!(agent.get("get_state")["sessionId"], id);
    assert_eq!(conversation(&mut agent), ["user: one", "assistant: re: one"]);
    let one = entry_of(&mut agent, "one");
    agent.carry_out(json!({ "type": "fork", "entryId": one }));
    assert!(conversation(&mut agent).is_empty());
    let error = agent.refuse(json!({ "type": "list_sessions" }));
    assert!(error.contains("--no-session"), "{error}");
    assert!(!workspace.configuration().join("sessions").exists());
}

/// Writes a session of a chain of messages and returns its file.
fn long_session(workspace: &Workspace, messages: usize, text: &str) -> PathBuf {
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "T", "cwd": workspace.work() });
    let mut lines = format!("{header}\n");
    for number in 0..messages {
        let parent = number.checked_sub(1).map(|parent| format!("{parent:08}"));
        let message = json!({ "role": "user", "content": text, "timestamp": 1 });
        let entry = json!({ "type": "message", "id": format!("{number:08}"), "parentId": parent,
            "timestamp": "2026-11-16T00:55:48.502Z", "message": message });
        lines.push_str(&format!("{entry}\n"));
    }
    let file = workspace.home().join("long.jsonl");
    fs::write(&file, lines).unwrap();
    file
}

#[test]
fn tree_of_a_long_session_can_be_read_in_both_formats() {
    let (_server, workspace) = Workspace::with_server();
    let file = long_session(&workspace, 300, "hello");
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    let expected: Vec<String> = (0..300).map(|number| format!("{number:08}")).collect();

    // The driver decodes with serde_json, which refuses more than 127 levels.
    let nested = agent.get("get_tree");
    assert_eq!(nested["isSplit"], true);
    let mut found = Vec::new();
    for root in nested["tree"].as_array().unwrap() {
        let mut node = Some(root);
        assert_eq!(root["entry"]["parentId"].as_str(), found.last().map(String::as_str));
        while let Some(next) = node {
            found.push(next["entry"]["id"].as_str().unwrap().to_owned());
            node = next["children"].get(0);
        }
    }
    assert_eq!(found, expected);

    let flat = agent.carry_out(json!({ "type": "get_tree", "format": "flat" }));
    assert_eq!((&flat["tree"], &flat["leafId"]), (&json!([]), &json!(expected.last())));
    let nodes = flat["nodes"].as_array().unwrap();
    let ids: Vec<_> = nodes.iter().map(|node| node["entry"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, expected);
    assert!(nodes.iter().enumerate().all(|(depth, node)| node["depth"] == depth));
}

#[test]
fn state_and_abort_do_not_wait_for_a_large_session_to_be_read() {
    let (_server, workspace) = Workspace::with_server();
    let file = long_session(&workspace, 2_000, &"x".repeat(2_000));
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    for reading in ["get_tree", "get_entries", "get_fork_messages", "get_session_stats"] {
        let commands = [
            json!({ "id": "read", "type": reading }),
            json!({ "id": "name", "type": "set_session_name", "name": reading }),
            json!({ "id": "state", "type": "get_state" }),
            json!({ "id": "abort", "type": "abort" }),
        ];
        agent.send_raw(commands.map(|command| format!("{command}\n")).concat().as_bytes());
        let records = agent.until(|record| record["id"] == "name");
        let order: Vec<_> = records.iter().filter_map(|record| record["id"].as_str()).collect();
        assert_eq!(order, ["state", "abort", "read", "name"], "{reading}");
        assert!(records.iter().all(|record| record["success"] != false), "{reading}");
    }
    let counted = agent.get("get_session_stats");
    assert_eq!(counted["userMessages"], 2_000);
}

#[test]
fn reading_a_large_session_does_not_keep_a_run_from_being_written() {
    let (server, workspace) = Workspace::with_server();
    let file = long_session(&workspace, 2_000, &"x".repeat(2_000));
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text("two"));
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": false }));
    agent.carry_out(json!({ "type": "prompt", "message": "hello" }));
    gate.wait_until_reached(LIMIT);
    agent.send(json!({ "id": "1", "type": "get_entries" }));
    agent.send(json!({ "id": "2", "type": "get_session_stats" }));
    gate.open();
    agent.collect_until_settled();
    let statistics = agent.get("get_session_stats");
    assert_eq!((&statistics["userMessages"], &statistics["assistantMessages"]), (&json!(2_001), &json!(1)));
    agent.finish();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2_003);
}

#[test]
fn state_is_answered_while_a_locked_session_is_waited_for() {
    let (_server, workspace) = Workspace::with_server();
    let mut holder = Launch::rpc(&workspace).start();
    holder.run("hello");
    let file = holder.get("get_state")["sessionFile"].clone();
    let mut agent = Launch::rpc(&workspace).start();
    let commands = [
        json!({ "id": "switch", "type": "switch_session", "sessionPath": file }),
        json!({ "id": "state", "type": "get_state" }),
    ];
    agent.send_raw(commands.map(|command| format!("{command}\n")).concat().as_bytes());
    let records = agent.until(|record| record["id"] == "switch");
    let order: Vec<_> = records.iter().filter_map(|record| record["id"].as_str()).collect();
    assert_eq!(order, ["state", "switch"]);
    let refusal = &records.last().unwrap()["error"];
    assert!(refusal.as_str().unwrap().contains("in use by another process"), "{refusal}");
    holder.finish();
}
