//! The process that pi's extensions share, played by a program of the test instead of Node.

use std::fs;
use std::path::PathBuf;

use bowline_testkit::{Agent, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, run, start, tool, wait_for_error};

/// A process that stands for the one that runs pi's extensions.
struct Runtime {
    workspace: Workspace,
    actor: Actor,
}

impl Runtime {
    /// Puts extensions into the user's folder, and a program in place of Node that registers what they offer.
    fn offering(workspace: Workspace, extensions: &[&str], registered: Value, on: Value) -> Self {
        let mut on = on;
        on["init"] = json!([{ "send": registered }]);
        Self::new(workspace, extensions, on)
    }

    /// Puts extensions into the user's folder, and a program in place of Node that does what a test says.
    fn new(workspace: Workspace, extensions: &[&str], on: Value) -> Self {
        let folder = workspace.home().join("runtime");
        // Long, because Python may start slowly, unless somebody is not to register at all.
        let start_limit = if on["init"].to_string().contains("\"registered\"") { 20_000 } else { 4000 };
        let actor = Actor::in_folder(&folder, "node", json!({ "on": on }));
        let program = folder.join("node");
        let script = format!("#!/bin/sh\nexec python3 '{}'\n", actor.path());
        fs::write(&program, script).unwrap();
        make_executable(&program);
        let mut workspace =
            workspace.settings(json!({ "nodePath": program, "extensionStartTimeoutMs": start_limit }));
        for name in extensions {
            workspace = workspace
                .home_file(&format!(".bowline/extensions/{name}"), "export default function (pi) {}\n");
        }
        Self { workspace, actor }
    }

    fn start(&self) -> Agent {
        start(&self.workspace)
    }
}

#[cfg(unix)]
fn make_executable(path: &PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &PathBuf) {}

/// Returns a record that registers what extensions offer, by their names.
fn registered(extensions: &[(&str, Value)]) -> Value {
    let extensions: Vec<_> = extensions
        .iter()
        .map(|(name, offer)| {
            let mut offer = offer.clone();
            offer["ext"] = json!(name);
            offer
        })
        .collect();
    json!({ "type": "registered", "protocol": 1, "extensions": extensions })
}

/// Returns the status of each extension by its name.
fn statuses(agent: &mut Agent) -> Value {
    agent.send(json!({ "id": "state", "type": "get_state" }));
    let state = agent.response("state");
    let listed = state["data"]["extensions"].as_array().cloned().unwrap_or_default();
    listed
        .iter()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one["status"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn extensions_share_a_process_and_records_name_them() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "tool:one": [{ "result": { "content": "of one" } }],
        "tool:two": [{ "result": { "content": "of two" } }],
    });
    let offers = registered(&[("a", tool("one")), ("b", tool("two"))]);
    let runtime = Runtime::offering(workspace, &["a.ts", "b.ts"], offers, on);
    let mut agent = runtime.start();
    server.reply(Reply::text("").tool("one", json!({ "text": "x" })).tool("two", json!({ "text": "y" })));
    let records = run(&mut agent, "go");
    let results: Vec<_> = of_type(&records, "tool_execution_end")
        .iter()
        .map(|end| end["result"]["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(results.len(), 2);
    assert!(results.contains(&"of one".to_owned()) && results.contains(&"of two".to_owned()), "{results:?}");
    let received = runtime.actor.received();
    let ids: Vec<_> =
        received[0]["extensions"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, ["a", "b"]);
    let calls: Vec<_> = received.iter().filter(|record| record["type"] == "tool").collect();
    for call in calls {
        assert_eq!(call["ext"], if call["name"] == "one" { "a" } else { "b" });
    }
    assert_eq!(received.iter().filter(|record| record["type"] == "init").count(), 1);
}

#[test]
fn extension_that_cannot_be_loaded_costs_only_itself() {
    let (_server, workspace) = Workspace::with_server();
    let mut offers = registered(&[("b", tool("two"))]);
    offers["errors"] = json!([{ "ext": "a", "error": "Failed to load extension: no default function" }]);
    let runtime = Runtime::offering(workspace, &["a.ts", "b.ts"], offers, json!({}));
    let mut agent = runtime.start();
    wait_for_error(&mut agent, "no default function");
    let expected = runtime.workspace.configuration().join("extensions/a.ts");
    let error = of_type(agent.transcript(), "extension_error")[0].clone();
    assert_eq!(error["extensionPath"], expected.display().to_string());
    run(&mut agent, "go");
    assert_eq!(statuses(&mut agent), json!({ "a": "failed", "b": "running" }));
}

#[test]
fn extensions_of_the_same_name_are_told_apart() {
    let (_server, workspace) = Workspace::with_server();
    let offers = registered(&[("a", json!({})), ("a-2", json!({}))]);
    let runtime = Runtime::offering(workspace, &["a.js", "a.ts"], offers, json!({}));
    let mut agent = runtime.start();
    run(&mut agent, "go");
    let received = runtime.actor.received();
    let ids: Vec<_> =
        received[0]["extensions"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, ["a", "a-2"]);
}

#[test]
fn process_that_is_killed_in_a_tool_fails_the_call_and_is_started_again() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "tool:one": [{ "unless": "died", "exit": 9 }, { "result": { "content": "again" } }] });
    let offers = registered(&[("a", tool("one")), ("b", tool("two"))]);
    let runtime = Runtime::offering(workspace, &["a.ts", "b.ts"], offers, on);
    let mut agent = runtime.start();
    server.reply(Reply::text("").tool("one", json!({ "text": "x" })));
    let records = run(&mut agent, "go");
    let end = of_type(&records, "tool_execution_end")[0].clone();
    assert_eq!(end["isError"], true);
    assert_eq!(end["result"]["content"][0]["text"], "Extension \"a\" exited");
    wait_for_error(&mut agent, "process: exited with code 9");
    let of_process: Vec<_> =
        errors(agent.transcript()).into_iter().filter(|error| error.starts_with("process")).collect();
    assert_eq!(of_process.len(), 1, "the process is reported once, not once for each extension");
    while statuses(&mut agent) != json!({ "a": "running", "b": "running" }) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    server.reply(Reply::text("").tool("one", json!({ "text": "x" })));
    let records = run(&mut agent, "again");
    let end = of_type(&records, "tool_execution_end")[0].clone();
    assert_eq!(end["result"]["content"][0]["text"], "again");
    let starts: Vec<_> =
        runtime.actor.received().into_iter().filter(|record| record["type"] == "init").collect();
    assert_eq!(starts[1]["session"]["reason"], "restart");
}

#[test]
fn extensions_are_not_loaded_without_a_runtime_and_everything_else_works() {
    let (_server, workspace) = Workspace::with_server();
    let runtime = Runtime::offering(workspace, &["a.ts"], registered(&[]), json!({}));
    let workspace = runtime.workspace.settings(json!({ "nodePath": "/nowhere/node" }));
    let mut agent = start(&workspace);
    wait_for_error(&mut agent, "Could not start /nowhere/node");
    run(&mut agent, "go");
    assert_eq!(statuses(&mut agent), json!({ "a": "failed" }));
}

#[test]
fn component_is_shown_to_clients_that_declare_it_and_gets_their_keys() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({
        "command:show": [
            { "send": { "type": "request", "ext": "a", "id": "c", "method": "ui.custom", "params": { "key": "game", "lines": ["one"] } } },
        ],
        "response:c": [{ "send": { "type": "result", "ext": "a", "id": "$id of command:show", "result": null } }],
        "input": [{ "send": { "type": "notify", "ext": "a", "method": "ui.setWidget", "params": { "key": "game", "lines": ["two"] } } }],
    });
    let offers = registered(&[("a", json!({ "commands": [{ "name": "show" }] }))]);
    let runtime = Runtime::offering(workspace, &["a.ts"], offers, on);
    let mut agent = runtime.start();
    let widgets = |records: &[Value]| -> Vec<Value> {
        let requests = of_type(records, "extension_ui_request").into_iter();
        requests
            .map(|request| json!([request["widgetKey"], request["widgetLines"], request["takesKeys"]]))
            .collect()
    };

    // Who declares nothing is shown nothing.
    agent.send(json!({ "id": "1", "type": "prompt", "message": "/show" }));
    agent.response("1");
    assert!(widgets(agent.transcript()).is_empty());

    agent.send(json!({ "type": "set_client_capabilities", "render": true, "columns": 100, "rows": 30 }));
    agent.send(json!({ "id": "2", "type": "prompt", "message": "/show" }));
    agent.until(|record| record["widgetKey"] == "a:game");
    agent.send(json!({ "id": "3", "type": "widget_input", "widgetKey": "other", "data": "x" }));
    assert_eq!(agent.response("3")["error"], "No component is shown under the key \"other\"");
    agent.send(json!({ "id": "4", "type": "widget_input", "widgetKey": "a:game", "data": "\u{1b}[A" }));
    assert_eq!(agent.response("4")["success"], true);
    agent.until(|record| record["widgetLines"] == json!(["two"]));
    agent.send(json!({ "type": "widget_input", "widgetKey": "a:game", "close": true }));
    agent.response("2");
    assert_eq!(
        widgets(agent.transcript()),
        [json!(["a:game", ["one"], true]), json!(["a:game", ["two"], true]), json!(["a:game", null, null]),]
    );
    let keys = runtime.actor.wait_for(|record| record["type"] == "input");
    assert_eq!((&keys["data"], &keys["ext"], &keys["id"]), (&json!("\u{1b}[A"), &json!("a"), &json!("c")));
    runtime.actor.wait_for(|record| record["patch"]["render"] == json!({ "columns": 100, "rows": 30 }));
}

#[test]
fn process_that_is_killed_in_a_hook_blocks_the_tool_and_bowline_goes_on() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:tool_call": [{ "unless": "died", "exit": 9 }, { "result": null }] });
    let offers = registered(&[("a", json!({ "hooks": [{ "event": "tool_call" }] }))]);
    let runtime = Runtime::offering(workspace, &["a.ts"], offers, on);
    let mut agent = runtime.start();
    server.reply(Reply::text("").tool("bash", json!({ "command": "true" })));
    let records = run(&mut agent, "go");
    let end = of_type(&records, "tool_execution_end")[0].clone();
    assert_eq!(end["isError"], true);
    assert_eq!(end["result"]["content"][0]["text"], "Extension \"a\" exited");
    while statuses(&mut agent) != json!({ "a": "running" }) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    server.reply(Reply::text("").tool("bash", json!({ "command": "true" })));
    let records = run(&mut agent, "again");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["isError"], false);
}

#[test]
fn process_that_is_killed_in_a_dialog_ends_the_command() {
    let (_server, workspace) = Workspace::with_server();
    let ask = json!({ "type": "request", "ext": "a", "id": "q", "method": "ui.confirm", "params": { "title": "?" } });
    let on = json!({ "command:ask": [{ "send": ask }], "event:ui_prompt_start": [{ "exit": 9 }] });
    let offer =
        json!({ "commands": [{ "name": "ask" }], "hooks": [{ "event": "ui_prompt_start", "await": false }] });
    let runtime = Runtime::offering(workspace, &["a.ts"], registered(&[("a", offer)]), on);
    let mut agent = runtime.start();
    agent.send(json!({ "id": "1", "type": "prompt", "message": "/ask" }));
    assert_eq!(agent.response("1")["success"], true);
    wait_for_error(&mut agent, "command: Extension \"a\" exited");
    run(&mut agent, "go");
}

#[test]
fn extension_that_blocks_its_process_delays_no_answer() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "tool:one": [{ "sleep": 10 }] });
    let runtime = Runtime::offering(workspace, &["a.ts"], registered(&[("a", tool("one"))]), on);
    let mut agent = runtime.start();
    server.reply(Reply::text("").tool("one", json!({ "text": "x" })));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    let start = std::time::Instant::now();
    agent.send(json!({ "id": "1", "type": "get_state" }));
    agent.response("1");
    agent.send(json!({ "id": "2", "type": "abort" }));
    agent.response("2");
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn extension_that_kills_the_process_while_it_is_loaded_is_left_out() {
    let (_server, workspace) = Workspace::with_server();
    let loading = json!({ "send": { "type": "loading", "ext": "a" } });
    let offers = registered(&[("b", tool("two"))]);
    let on = json!({ "init": [loading, { "unless": "died", "exit": 3 }, { "send": offers }] });
    let runtime = Runtime::new(workspace, &["a.ts", "b.ts"], on);
    let mut agent = runtime.start();
    wait_for_error(&mut agent, "load: exited with code 3");
    let error = of_type(agent.transcript(), "extension_error")[0].clone();
    let path = runtime.workspace.configuration().join("extensions/a.ts");
    assert_eq!(error["extensionPath"], path.display().to_string());
    run(&mut agent, "go");
    assert_eq!(statuses(&mut agent), json!({ "a": "failed", "b": "running" }));
    let starts = runtime.actor.received().into_iter().filter(|record| record["type"] == "init");
    let members: Vec<_> = starts.map(|init| init["extensions"].as_array().unwrap().len()).collect();
    assert_eq!(members, [2, 1]);
}

#[test]
fn extension_that_has_loaded_takes_part_before_the_others_have() {
    let (server, workspace) = Workspace::with_server();
    let mut guard = json!({ "type": "register", "ext": "b", "hooks": [{ "event": "tool_call" }] });
    guard["tools"] = json!([]);
    let block = json!({ "result": { "block": true, "reason": "guarded" } });
    let loading = json!({ "type": "loading", "ext": "a" });
    let on = json!({ "init": [{ "send": guard }, { "send": loading }], "hook:tool_call": [block] });
    let runtime = Runtime::new(workspace, &["a.ts", "b.ts"], on);
    let mut agent = runtime.start();
    server.reply(Reply::text("").tool("bash", json!({ "command": "true" })));
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"], "guarded");
    assert_eq!(statuses(&mut agent), json!({ "a": "starting", "b": "running" }));
}

#[test]
fn component_is_gone_when_its_process_dies() {
    let (_server, workspace) = Workspace::with_server();
    let params = json!({ "key": "game", "lines": ["one"] });
    let show = json!({ "type": "request", "ext": "a", "id": "c", "method": "ui.custom", "params": params });
    let on = json!({ "command:show": [{ "send": show }], "input": [{ "exit": 9 }] });
    let offers = registered(&[("a", json!({ "commands": [{ "name": "show" }] }))]);
    let runtime = Runtime::offering(workspace, &["a.ts"], offers, on);
    let mut agent = runtime.start();
    agent.carry_out(json!({ "type": "set_client_capabilities", "render": true }));
    agent.send(json!({ "id": "1", "type": "prompt", "message": "/show" }));
    agent.until(|record| record["widgetKey"] == "a:game");
    agent.send(json!({ "type": "widget_input", "widgetKey": "a:game", "data": "x" }));
    agent.until(|record| record["widgetKey"] == "a:game" && record["widgetLines"].is_null());
}

#[test]
fn component_of_another_extension_cannot_be_overwritten() {
    let (_server, workspace) = Workspace::with_server();
    let show = |ext: &str| {
        let params = json!({ "key": "game", "lines": [ext] });
        json!({ "type": "request", "ext": ext, "id": format!("c-{ext}"), "method": "ui.custom", "params": params })
    };
    let widget = |key: &str| {
        let params = json!({ "key": key, "lines": ["mine"] });
        json!({ "type": "notify", "ext": "b", "method": "ui.setWidget", "params": params })
    };
    let on = json!({
        "command:show": [{ "send": show("a") }, { "send": show("b") }, { "send": widget("a:game") }, { "send": widget("plain") }],
    });
    let offers = registered(&[("a", json!({ "commands": [{ "name": "show" }] })), ("b", json!({}))]);
    let runtime = Runtime::offering(workspace, &["a.ts", "b.ts"], offers, on);
    let mut agent = runtime.start();
    agent.carry_out(json!({ "type": "set_client_capabilities", "render": true }));
    agent.send(json!({ "id": "1", "type": "prompt", "message": "/show" }));
    agent.until(|record| record["widgetKey"] == "plain");
    let shown: Vec<_> = of_type(agent.transcript(), "extension_ui_request")
        .into_iter()
        .map(|request| json!([request["widgetKey"], request["widgetLines"]]))
        .collect();
    assert_eq!(shown, [json!(["a:game", ["a"]]), json!(["b:game", ["b"]]), json!(["plain", ["mine"]])]);
    wait_for_error(&mut agent, "is the key of a component");
}
