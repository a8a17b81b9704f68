//! The hook `project_trust`: extensions of the user decide whether what a project brings along is used.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, hooks, run, start, start_with};

/// Returns a workspace whose project has a prompt template and an extension with the command `/near`.
fn project() -> Workspace {
    let (_, workspace) = Workspace::with_server();
    let mut registration = hooks(&["project_trust"]);
    registration["commands"] = json!([{ "name": "near" }]);
    let actor = Actor::new(&workspace, "near", registration, json!({}));
    let folder = workspace.work().join(".bowline/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    for ending in ["py", "json"] {
        let from = PathBuf::from(actor.path()).with_extension(ending);
        std::fs::rename(&from, folder.join(format!("near.{ending}"))).unwrap();
    }
    workspace.file(".bowline/prompts/template.md", "Of the project.")
}

/// Adds an extension of the user that answers the question in this way.
fn deciding(workspace: &Workspace, name: &str, actions: Value) -> Actor {
    Actor::new(workspace, name, hooks(&["project_trust"]), json!({ "hook:project_trust": actions }))
}

fn says(answer: &str) -> Value {
    json!([{ "result": { "trusted": answer } }])
}

/// Records a decision about the project in trust.json.
fn record(workspace: &Workspace, is_trusted: bool) {
    let trust = json!({ workspace.work().display().to_string(): is_trusted });
    std::fs::write(workspace.configuration().join("trust.json"), trust.to_string()).unwrap();
}

fn command_names(agent: &mut Agent) -> Vec<String> {
    let commands = agent.carry_out(json!({ "type": "get_commands" }));
    let names = commands["commands"].as_array().unwrap().iter();
    names.map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

fn was_asked(actor: &Actor) -> bool {
    !actor.events("project_trust").is_empty()
}

const ALL: [&str; 2] = ["near", "template"];
const NOTHING: [&str; 0] = [];

#[test]
fn first_yes_or_no_decides_before_the_file_and_the_setting() {
    let workspace = project();
    record(&workspace, false);
    let undecided = deciding(&workspace, "a", says("undecided"));
    let decided = deciding(&workspace, "b", says("yes"));
    let late = deciding(&workspace, "c", says("no"));
    let mut agent = start(&workspace);
    assert_eq!(command_names(&mut agent), ALL);
    assert_eq!(
        undecided.events("project_trust"),
        [json!({ "type": "project_trust", "cwd": workspace.work() })]
    );
    assert!(was_asked(&decided) && !was_asked(&late));
    let told = |actor: &Actor| actor.wait_for(|record| record["patch"]["trusted"] == true);
    assert_eq!(decided.received()[0]["trusted"], false, "it was not decided yet");
    told(&decided);
    told(&late);
    assert_eq!(errors(agent.transcript()), NOTHING);
    agent.close_stdin();
    agent.wait();
    record(&workspace, true);
    deciding(&workspace, "b", says("no"));
    assert_eq!(command_names(&mut start(&workspace)), NOTHING);
    deciding(&workspace, "b", says("undecided"));
    deciding(&workspace, "c", says("undecided"));
    assert_eq!(command_names(&mut start(&workspace)), ALL, "the file decides");
    record(&workspace, false);
    assert_eq!(command_names(&mut start(&workspace)), NOTHING);
}

#[test]
fn command_line_decides_first_and_projects_without_resources_cost_no_question() {
    let workspace = project();
    let actor = deciding(&workspace, "a", says("no"));
    assert_eq!(command_names(&mut start_with(&workspace, &["--approve"])), ALL);
    deciding(&workspace, "a", says("yes"));
    assert_eq!(command_names(&mut start_with(&workspace, &["--no-approve"])), NOTHING);
    std::fs::remove_dir_all(workspace.work().join(".bowline")).unwrap();
    assert_eq!(command_names(&mut start(&workspace)), NOTHING);
    assert!(!was_asked(&actor));
}

#[test]
fn extension_of_the_project_is_not_asked() {
    let workspace = project();
    record(&workspace, true);
    let mut agent = start(&workspace);
    assert_eq!(command_names(&mut agent), ALL);
    let log = std::fs::read_to_string(workspace.work().join(".bowline/extensions/near.log")).unwrap();
    assert!(!log.contains("\"project_trust\""), "{log}");
}

#[test]
fn decision_is_recorded_if_wanted_and_holds_for_the_process() {
    let workspace = project();
    let yes = json!([{ "result": { "trusted": "yes", "remember": true } }]);
    let mut registration = hooks(&["project_trust"]);
    registration["commands"] = json!([{ "name": "reload" }]);
    let reload =
        json!({ "send": { "type": "request", "id": "r", "method": "session.reload", "params": {} } });
    let on = json!({ "hook:project_trust": yes, "command:reload": [reload] });
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    assert_eq!(command_names(&mut agent), ["near", "reload", "template"], "in the order of precedence");
    let file = workspace.configuration().join("trust.json");
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(recorded, json!({ workspace.work().display().to_string(): true }));
    record(&workspace, false);
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    assert_eq!(command_names(&mut agent), ["near", "reload", "template"]);
    assert_eq!(actor.events("project_trust").len(), 1, "nobody is asked twice");
    let inits: Vec<_> = actor.received().into_iter().filter(|record| record["type"] == "init").collect();
    assert_eq!(inits[1]["trusted"], true);
}

#[test]
fn extension_that_fails_is_reported_and_the_next_one_is_asked() {
    for (actions, problem) in [
        (json!([{ "error": "boom" }]), "project_trust: boom"),
        (json!([{ "result": { "trusted": 1 } }]), "project_trust: invalid result of project_trust"),
        (json!([{ "exit": 3 }]), "project_trust: Extension \"a\" exited"),
    ] {
        let workspace = project();
        deciding(&workspace, "a", actions);
        deciding(&workspace, "b", says("yes"));
        let mut agent = start(&workspace);
        assert_eq!(command_names(&mut agent), ALL);
        let errors = errors(agent.transcript());
        assert!(errors.iter().any(|error| error.starts_with(problem)), "{errors:?}");
    }
}

#[test]
fn extension_that_does_not_answer_is_waited_for_a_bounded_time_and_nothing_else_waits() {
    let workspace = project().settings(json!({ "extensionHookTimeoutMs": 700 }));
    record(&workspace, true);
    let actor = deciding(&workspace, "a", json!([{ "sleep": 30 }]));
    let began = Instant::now();
    let mut agent = start(&workspace);
    agent.send(json!({ "type": "get_commands", "id": "c" }));
    actor.wait_for(|record| record["event"]["type"] == "project_trust");
    let asked = Instant::now();
    agent.carry_out(json!({ "type": "get_state" }));
    agent.carry_out(json!({ "type": "abort" }));
    assert!(asked.elapsed() < Duration::from_millis(300), "{:?}", asked.elapsed());
    let commands = agent.response("c")["data"]["commands"].as_array().unwrap().len();
    assert_eq!(commands, 2, "the file decides");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(errors(agent.transcript()), ["project_trust: Extension hook timed out after 0.7 s"]);
    agent.close_stdin();
    agent.wait();
    agent.assert_no_survivors();
}

#[test]
fn dialogs_have_their_default_at_once() {
    let workspace = project();
    let ask = json!({ "send": { "type": "request", "id": "d", "method": "ui.confirm",
        "params": { "title": "Trust it?", "message": "?" } } });
    let on = json!({
        "hook:project_trust": [ask],
        "response:d": [{ "send": { "type": "result", "id": "$id of hook:project_trust", "result": { "trusted": "yes" } } }],
    });
    let actor = Actor::new(&workspace, "a", hooks(&["project_trust"]), on);
    let mut agent = start(&workspace);
    assert_eq!(command_names(&mut agent), ALL);
    let response = actor.wait_for(|record| record["type"] == "response");
    assert_eq!(response["result"], false);
    assert!(of_type(agent.transcript(), "extension_ui_request").is_empty());
}

#[test]
fn state_with_the_system_prompt_decides_nothing_while_extensions_are_asked() {
    let workspace = project().file(".bowline/APPEND_SYSTEM.md", "Said by the project.");
    let plan = json!({
        "start": [{ "sleep": 0.3 }],
        "registration": hooks(&["project_trust"]),
        "on": { "hook:project_trust": says("yes") },
    });
    Actor::with_plan(&workspace, "a", plan);
    let mut agent = Launch::rpc(&workspace).arguments(&["--dialect", "omp"]).model("mock/m1").start();
    let prompt =
        |agent: &mut Agent| agent.carry_out(json!({ "type": "get_state" }))["systemPrompt"].to_string();
    assert!(!prompt(&mut agent).contains("Said by the project."));
    agent.carry_out(json!({ "type": "get_available_commands" }));
    assert!(prompt(&mut agent).contains("Said by the project."));
}

#[test]
fn command_hooks_and_mcp_servers_of_the_project_wait_for_the_decision() {
    let (server, workspace) = Workspace::with_server();
    let command = json!({ "type": "command", "command": "echo context of the hook" });
    let settings = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [command] }] } });
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/server.py");
    let servers = json!({ "mcpServers": { "s": { "command": "python3", "args": [script] } } });
    let workspace = workspace
        .file(".bowline/settings.json", &settings.to_string())
        .file(".bowline/mcp.json", &servers.to_string());
    deciding(&workspace, "a", says("yes"));
    let mut agent = start(&workspace);
    run(&mut agent, "go");
    let request = server.requests()[0].body.to_string();
    assert!(request.contains("context of the hook") && request.contains("mcp__s__echo"), "{request}");
}

#[test]
fn project_of_another_folder_is_a_question_of_its_own() {
    let workspace = project();
    let folder = workspace.work().parent().unwrap().join("elsewhere");
    std::fs::create_dir_all(folder.join(".bowline/prompts")).unwrap();
    std::fs::write(folder.join(".bowline/prompts/far.md"), "Far.").unwrap();
    let file = folder.join("session.jsonl");
    let header = json!({ "type": "session", "version": 3, "id": "elsewhere", "cwd": folder,
        "timestamp": "2026-01-01T00:00:00.000Z" });
    std::fs::write(&file, format!("{header}\n")).unwrap();
    let actor = deciding(&workspace, "a", says("yes"));
    let mut agent = start(&workspace);
    assert_eq!(command_names(&mut agent), ALL);
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    // It must not be decided by whoever looks first.
    agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(command_names(&mut agent), ["far"]);
    let folders: Vec<_> = actor.events("project_trust").iter().map(|event| event["cwd"].clone()).collect();
    assert_eq!(folders, [json!(workspace.work()), json!(folder)]);
}
