//! Where servers are described, and what they get.

use bowline_testkit::{Launch, Reply, SECRET, Workspace};
use serde_json::{Value, json};

use crate::{add, result_text, script_call, server, tools, with, with_server};

fn file(servers: &Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

/// Returns the names of the servers whose tools the model sees.
fn servers_of(workspace: &Workspace, model: &bowline_testkit::ModelServer, flags: &[&str]) -> Vec<String> {
    model.reply(Reply::text("done"));
    let mut agent = Launch::rpc(workspace).model("mock/m1").arguments(flags).start();
    agent.run("go");
    agent.finish();
    let names = tools(model.requests().last().unwrap());
    let of = |name: &String| Some(name.strip_prefix("mcp__")?.strip_suffix("__echo")?.to_owned());
    names.iter().filter_map(of).collect()
}

#[test]
fn servers_of_the_user_are_in_two_files_and_those_of_a_project_need_trust() {
    let (model, workspace) = Workspace::with_server();
    let workspace = add(workspace, &json!({ "own": server(&[]) }))
        .settings(json!({ "mcpServers": { "set": server(&[]), "off": with(server(&[]), "enabled", json!(false)) } }))
        .file(".bowline/mcp.json", &file(&json!({ "project": server(&[]) })))
        .file(".pi/mcp.json", &file(&json!({ "other": server(&[]) })));
    assert_eq!(servers_of(&workspace, &model, &[]), ["set", "own"]);
    assert_eq!(servers_of(&workspace, &model, &["--approve"]), ["set", "own", "other", "project"]);
    assert_eq!(servers_of(&workspace, &model, &["--approve", "--no-mcp"]), [""; 0]);
}

#[test]
fn project_alone_can_have_servers() {
    let (model, workspace) = Workspace::with_server();
    let workspace = workspace.file(".pi/mcp.json", &file(&json!({ "project": server(&[]) })));
    assert_eq!(servers_of(&workspace, &model, &[]), [""; 0]);
    assert_eq!(servers_of(&workspace, &model, &["--approve"]), ["project"]);
}

#[test]
fn server_gets_its_own_variables_and_no_keys() {
    let (model, workspace) = Workspace::with_server();
    let entry = with(server(&[]), "env", json!({ "MINE": "$GIVEN", "PRINTED": "!echo printed" }));
    let workspace = add(workspace, &json!({ "s": entry }));
    for (name, expected) in [
        ("MINE", "g1ven-value"),
        ("PRINTED", "printed"),
        ("ANTHROPIC_API_KEY", "(not set)"),
        ("MY_TOKEN", "(not set)"),
    ] {
        script_call(&model, "mcp__s__environment", json!({ "name": name }));
        let launch = Launch::rpc(&workspace).model("mock/m1").environment("GIVEN", "g1ven-value");
        let launch = launch.environment("ANTHROPIC_API_KEY", SECRET).environment("MY_TOKEN", "t");
        assert_eq!(result_text(&launch.start().run("go")), expected, "{name}");
    }
}

#[test]
fn broken_file_is_reported_and_nothing_else_is_lost() {
    let (model, workspace) = with_server(&[]);
    let workspace = workspace.home_file(".bowline/mcp.json", "{ not json");
    let workspace = workspace.settings(json!({ "mcpServers": { "s": server(&[]) } }));
    script_call(&model, "mcp__s__echo", json!({ "text": "hi" }));
    let mut agent = workspace.start();
    assert_eq!(result_text(&agent.run("go")), "hi");
    agent.wait_for_stderr("mcp.json: this is not JSON");
}
