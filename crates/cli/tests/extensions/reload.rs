//! Reloading by an extension, and sessions that go on in another folder: extensions end and start anew.

use std::path::{Path, PathBuf};

use bowline_testkit::{Agent, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, hooks, run, start, start_with};

const LIFE: [&str; 3] = ["session_start", "resources_discover", "session_shutdown"];

/// Returns the action that asks for a reload.
fn reload() -> Value {
    json!({ "send": { "type": "request", "id": "r", "method": "session.reload", "params": {} } })
}

/// Returns a registration with the command `/reload` and hooks that show how an extension lives.
fn registration() -> Value {
    let mut registration = hooks(&LIFE);
    registration["commands"] = json!([{ "name": "reload" }]);
    registration
}

/// Puts an extension into the user's folder whose command `/reload` never answers: its process is ended.
fn reloading(workspace: &Workspace) -> Actor {
    Actor::new(workspace, "a", registration(), json!({ "command:reload": [reload()] }))
}

/// Returns the hooks with their reasons that an extension has seen, in order.
fn life(actor: &Actor) -> Vec<String> {
    let events = actor.received().into_iter().map(|record| record["event"].clone());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = events.filter(|event| LIFE.iter().any(|hook| event["type"] == *hook));
    events.map(|event| format!("{} {}", text(&event["type"]), text(&event["reason"]))).collect()
}

/// Returns the reasons why an extension was started.
fn starts(actor: &Actor) -> Vec<String> {
    let records = actor.received().into_iter().filter(|record| record["type"] == "init");
    records.map(|record| record["session"]["reason"].as_str().unwrap().to_owned()).collect()
}

fn command_names(agent: &mut Agent) -> Vec<String> {
    let commands = agent.carry_out(json!({ "type": "get_commands" }));
    let names = commands["commands"].as_array().unwrap().iter();
    names.map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

/// Writes a session of another folder, which it creates, and returns its file and the folder.
fn session_elsewhere(workspace: &Workspace) -> (PathBuf, PathBuf) {
    let folder = workspace.work().parent().unwrap().join("elsewhere");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("session.jsonl");
    let header = json!({ "type": "session", "version": 3, "id": "elsewhere", "cwd": folder,
        "timestamp": "2026-01-01T00:00:00.000Z" });
    std::fs::write(&file, format!("{header}\n")).unwrap();
    (file, folder)
}

/// Moves an extension of the user into a project.
fn move_into(actor: &Actor, project: &Path, name: &str) -> PathBuf {
    let folder = project.join(".bowline/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    for ending in ["py", "json"] {
        let from = PathBuf::from(actor.path()).with_extension(ending);
        std::fs::rename(&from, folder.join(format!("{name}.{ending}"))).unwrap();
    }
    folder
}

#[test]
fn command_that_reloads_is_answered_once_and_everything_is_read_again() {
    let (server, workspace) = Workspace::with_server();
    let actor = reloading(&workspace);
    let workspace = workspace.file("AGENTS.md", "old rules");
    server.reply(Reply::text("one"));
    server.reply(Reply::text("two"));
    let mut agent = start(&workspace);
    run(&mut agent, "one?");
    let before = agent.transcript().len();
    // What a user changes before they reload.
    Actor::new(&workspace, "b", json!({ "commands": [{ "name": "added" }] }), json!({}));
    let workspace = workspace.file("AGENTS.md", "new rules");
    let settings = workspace.configuration().join("settings.json");
    std::fs::write(&settings, json!({ "skills": ["extra"] }).to_string()).unwrap();
    let skill = workspace.configuration().join("extra/hello/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(&skill, "---\nname: hello\ndescription: says hello\n---\nHello.\n").unwrap();
    agent.send(json!({ "type": "prompt", "message": "/reload", "id": "p" }));
    let response = agent.response("p");
    assert_eq!(response["data"]["disposition"], "handled", "{response}");
    assert_eq!(agent.transcript().len(), before + 1, "{:#?}", &agent.transcript()[before..]);
    assert_eq!(command_names(&mut agent), ["reload", "added", "skill:hello"]);
    run(&mut agent, "two?");
    let [first, second] = &server.requests()[..] else { panic!("two requests") };
    assert!(first.body["system"].to_string().contains("old rules"));
    assert!(second.body["system"].to_string().contains("new rules"));
    assert!(second.body["system"].to_string().contains("says hello"));
    assert!(second.body["messages"].to_string().contains("one?"), "the conversation goes on");
    let expected = [
        "session_start startup",
        "resources_discover startup",
        "session_shutdown reload",
        "session_start reload",
        "resources_discover reload",
    ];
    assert_eq!(life(&actor), expected);
    assert_eq!(starts(&actor), ["startup", "reload"]);
    assert_eq!(errors(agent.transcript()), [""; 0]);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn flags_stay_and_settings_that_cannot_be_read_are_reported() {
    let (_server, workspace) = Workspace::with_server();
    let mut registration = registration();
    registration["flags"] = json!([{ "name": "shout", "type": "boolean" }]);
    let actor = Actor::new(&workspace, "a", registration, json!({ "command:reload": [reload()] }));
    let mut agent = start_with(&workspace, &["--shout"]);
    command_names(&mut agent);
    std::fs::write(workspace.configuration().join("settings.json"), "{").unwrap();
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    let shouts = actor.received().into_iter().filter(|record| record["patch"]["flags"]["shout"] == true);
    assert_eq!(shouts.count(), 2);
    let errors = errors(agent.transcript());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("reload: ") && errors[0].contains("settings.json"), "{errors:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn sandbox_stays_as_the_client_has_made_it() {
    let (_server, workspace) = Workspace::with_server();
    let workspace =
        workspace.settings(json!({ "sandbox": { "mode": "workspace-write", "minimum": "landlock" } }));
    reloading(&workspace);
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "set_sandbox", "mode": "read-only" }));
    let loose = json!({ "sandbox": { "mode": "full-access" } }).to_string();
    std::fs::write(workspace.configuration().join("settings.json"), loose).unwrap();
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    command_names(&mut agent);
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state["sandbox"]["mode"], "read-only", "{state}");
}

#[test]
fn reload_in_a_hook_of_a_run_happens_after_it() {
    let (_server, workspace) = Workspace::with_server();
    let mut registration = registration();
    registration["hooks"].as_array_mut().unwrap().push(json!({ "event": "turn_start" }));
    let on = json!({ "hook:turn_start": [
        { "unless": "asked", "send": { "type": "request", "id": "r", "method": "session.reload", "params": {} } },
    ], "response:r": [{ "send": { "type": "result", "id": "$id of hook:turn_start" } }] });
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    assert_eq!(records.last().unwrap()["aborted"], false);
    command_names(&mut agent);
    assert_eq!(starts(&actor), ["startup", "reload"]);
}

#[test]
fn abort_and_state_are_answered_at_once_during_a_reload_that_hangs() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "command:reload": [reload()], "hook:session_shutdown": [{ "sleep": 60 }] });
    let actor = Actor::new(&workspace, "a", registration(), on);
    let mut agent = start(&workspace);
    command_names(&mut agent);
    agent.send(json!({ "type": "prompt", "message": "/reload", "id": "p" }));
    actor.wait_for(|record| record["event"]["type"] == "session_shutdown");
    agent.send(json!({ "type": "prompt", "message": "too early", "id": "q" }));
    let started = std::time::Instant::now();
    agent.carry_out(json!({ "type": "get_state" }));
    agent.send(json!({ "type": "abort", "id": "x" }));
    agent.response("x");
    assert!(started.elapsed().as_millis() < 500, "{:?}", started.elapsed());
    assert_eq!(agent.response("p")["data"]["disposition"], "handled");
    assert_eq!(agent.response("q")["success"], false);
    run(&mut agent, "now");
    assert_eq!(starts(&actor), ["startup", "reload"]);
    agent.close_stdin();
    agent.wait();
    agent.assert_no_survivors();
}

#[test]
fn extensions_follow_the_session_into_another_folder() {
    let (server, workspace) = Workspace::with_server();
    let user = Actor::new(&workspace, "user", hooks(&LIFE), json!({}));
    let near = Actor::new(&workspace, "near", json!({ "commands": [{ "name": "near" }] }), json!({}));
    move_into(&near, &workspace.work(), "near");
    let far = Actor::new(&workspace, "far", json!({ "commands": [{ "name": "far" }] }), json!({}));
    let (file, folder) = session_elsewhere(&workspace);
    move_into(&far, &folder, "far");
    server.reply(Reply::text("one"));
    let mut agent = start_with(&workspace, &["--approve"]);
    assert_eq!(command_names(&mut agent), ["near"]);
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(starts(&user), ["startup"], "in the same folder it stays");
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    assert_eq!(command_names(&mut agent), ["far"]);
    run(&mut agent, "hi");
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(command_names(&mut agent), ["near"]);
    let inits: Vec<_> = user.received().into_iter().filter(|record| record["type"] == "init").collect();
    let folders: Vec<_> = inits.iter().map(|init| init["session"]["cwd"].as_str().unwrap()).collect();
    let (work, folder) = (workspace.work().display().to_string(), folder.display().to_string());
    assert_eq!(folders, [&work, &folder, &work]);
    assert_eq!(starts(&user), ["startup", "resume", "new"]);
    let expected = [
        "session_start startup",
        "resources_discover startup",
        "session_shutdown new",
        "session_start new",
        "resources_discover startup",
        "session_shutdown resume",
        "session_start resume",
        "resources_discover startup",
        "session_shutdown new",
        "session_start new",
        "resources_discover startup",
    ];
    assert_eq!(life(&user), expected);
    assert!(of_type(agent.transcript(), "extension_error").is_empty());
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn project_of_another_folder_needs_trust() {
    let (_server, workspace) = Workspace::with_server();
    let far = Actor::new(&workspace, "far", json!({ "commands": [{ "name": "far" }] }), json!({}));
    let (file, folder) = session_elsewhere(&workspace);
    move_into(&far, &folder, "far");
    let trust = json!({ workspace.work().display().to_string(): true });
    std::fs::write(workspace.configuration().join("trust.json"), trust.to_string()).unwrap();
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    assert_eq!(command_names(&mut agent), [""; 0]);
}

/// Returns the description of an MCP server.
fn mcp_server() -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/server.py");
    json!({ "mcpServers": { "s": { "command": "python3", "args": [script] } } })
}

fn offers_echo(server: &ModelServer) -> bool {
    let requests = server.requests();
    requests.last().unwrap().body["tools"].to_string().contains("mcp__s__echo")
}

#[test]
fn command_hooks_and_mcp_servers_are_read_again() {
    let (server, workspace) = Workspace::with_server();
    reloading(&workspace);
    let mut agent = start(&workspace);
    run(&mut agent, "before");
    assert!(!offers_echo(&server));
    let mut settings = mcp_server();
    let command = json!({ "type": "command", "command": "echo context of the hook" });
    settings["hooks"] = json!({ "UserPromptSubmit": [{ "hooks": [command] }] });
    let file = workspace.configuration().join("settings.json");
    std::fs::write(&file, settings.to_string()).unwrap();
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    run(&mut agent, "with them");
    assert!(offers_echo(&server));
    assert!(server.requests().last().unwrap().body.to_string().contains("context of the hook"));
    assert_eq!(agent.children().len(), 2);
    std::fs::write(&file, "{}").unwrap();
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    assert_eq!(agent.children().len(), 1, "the server has ended");
    run(&mut agent, "without them");
    assert!(!offers_echo(&server));
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn mcp_servers_of_a_project_end_with_it_and_start_again() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file(".bowline/mcp.json", &mcp_server().to_string());
    let (file, _) = session_elsewhere(&workspace);
    let mut agent = start_with(&workspace, &["--approve"]);
    run(&mut agent, "here");
    assert!(offers_echo(&server));
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    run(&mut agent, "elsewhere");
    assert!(!offers_echo(&server));
    assert!(agent.children().is_empty(), "{:?}", agent.children());
    agent.carry_out(json!({ "type": "new_session" }));
    run(&mut agent, "here again");
    assert!(offers_echo(&server));
}

#[test]
fn guard_that_does_not_come_back_still_blocks() {
    let (server, workspace) = Workspace::with_server();
    let mut registration = hooks(&["tool_call"]);
    registration["commands"] = json!([{ "name": "reload" }]);
    Actor::new(&workspace, "guard", registration, json!({ "command:reload": [reload()] }));
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    Actor::with_plan(&workspace, "guard", json!({ "start": [{ "exit": 1 }] }));
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    server.reply(Reply::text("").tool("bash", json!({ "command": "touch slipped" })));
    let records = run(&mut agent, "go");
    let end = of_type(&records, "tool_execution_end").pop().unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "Extension \"guard\" exited");
    assert!(!workspace.work().join("slipped").exists());
}
