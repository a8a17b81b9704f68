//! When the tool `task` is on, and which tools subagents have.

use bowline_testkit::{Launch, Reply, Workspace};
use serde_json::{Value, json};

use crate::{calling, result, start, text, tools};

fn has_task(workspace: &Workspace, launch: impl FnOnce(Launch) -> Launch) -> bool {
    tools(workspace, launch).contains(&"task".to_owned())
}

#[test]
fn task_is_on_in_omp_and_elsewhere_by_flag_or_setting() {
    let (_server, workspace) = Workspace::with_server();
    assert!(!has_task(&workspace, |launch| launch));
    assert_eq!(tools(&workspace, |launch| launch.arguments(&["--tools", "read,task"])), ["read", "task"]);
    let omp = |launch: Launch| launch.dialect("omp");
    assert_eq!(tools(&workspace, omp), ["read", "bash", "edit", "write", "todo", "task"]);
    assert!(!has_task(&workspace, |launch| omp(launch).arguments(&["--tools", "read"])));
    assert!(!has_task(&workspace, |launch| omp(launch).arguments(&["--exclude-tools", "task"])));

    let workspace = workspace.settings(json!({ "task": { "enabled": true } }));
    assert!(has_task(&workspace, |launch| launch));
    assert!(!has_task(&workspace, |launch| launch.arguments(&["--tools", "read"])));
    let workspace = workspace.settings(json!({ "task": { "enabled": true }, "defaultTools": ["read"] }));
    assert_eq!(tools(&workspace, |launch| launch), ["read", "task"]);
    let workspace =
        workspace.settings(json!({ "task": { "enabled": false }, "defaultTools": ["read", "task"] }));
    assert_eq!(tools(&workspace, |launch| launch), ["read"]);
    let workspace = workspace.settings(json!({ "task": { "enabled": false } }));
    assert!(!has_task(&workspace, omp));
}

/// Returns the names of the tools in a request to the model.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn explore_searches_although_its_parent_does_not_unless_the_user_chose_the_tools() {
    for (arguments, expected) in [
        (&[][..], &["read", "grep", "find", "ls"][..]),
        (&["--exclude-tools", "ls"], &["read", "grep", "find"]),
        (&["--tools", "read,bash,task"], &["read"]),
    ] {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(json!({ "task": { "enabled": true } }));
        server.reply(calling(&json!([{ "agent": "explore", "task": "look" }])));
        let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(arguments).start();
        agent.send(json!({ "type": "prompt", "message": "go" }));
        agent.collect_until_settled();
        assert_eq!(offered(&server.requests()[1].body), expected);
    }
}

#[test]
fn own_agents_are_listed_and_used() {
    let (server, workspace, _) = start();
    let workspace = workspace.home_file(
        ".bowline/agents/reviewer.md",
        "---\nname: reviewer\ndescription: reviews changes\ntools: [read, grep]\nmodel: mock/m2\n---\nBe strict.\n",
    );
    server.reply(calling(&json!([{ "agent": "reviewer", "task": "Review it." }])));
    server.reply(Reply::text("It is fine."));
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    assert_eq!(text(result(&records)), "It is fine.");
    let requests = server.requests();
    let system = |index: usize| requests[index].body["system"].to_string();
    assert!(system(0).contains("- reviewer: reviews changes"));
    assert!(system(1).contains("You are a subagent") && system(1).contains("Be strict."));
    assert_eq!(offered(&requests[1].body), ["read", "grep"]);
    assert_eq!(requests[1].body["model"], "m2");
}

#[test]
fn agents_of_a_project_are_used_if_it_is_trusted() {
    for (folder, arguments, is_used) in [
        (".pi/agents", &[][..], false),
        (".pi/agents", &["--approve"], true),
        (".bowline/agents", &["--approve"], true),
        (".omp/agents", &["--approve"], true),
        (".omp/agents", &["--no-approve"], false),
    ] {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace
            .settings(json!({ "task": { "enabled": true } }))
            .file(&format!("{folder}/local.md"), "---\ndescription: knows this project\n---\nBe quick.\n");
        server.reply(calling(&json!([{ "agent": "local", "task": "Look." }])));
        let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(arguments).start();
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let records = agent.collect_until_settled();
        let requests = server.requests();
        let is_listed = requests[0].body["system"].to_string().contains("local: knows this project");
        let is_unknown = text(result(&records)).contains("There is no agent named local");
        assert_eq!((is_listed, !is_unknown), (is_used, is_used), "{folder} {arguments:?}");
        if is_used {
            assert!(requests[1].body["system"].to_string().contains("Be quick."));
            assert_eq!(result(&records)["result"]["details"]["results"][0]["agentSource"], "project");
        }
    }
}

#[test]
fn no_folder_is_looked_at_while_the_tool_is_off() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".bowline/agents/x.md", "---\ndescription: d\n---\n");
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.collect_until_settled();
    assert!(!server.requests()[0].body["system"].to_string().contains("agents for the tool task"));
}
