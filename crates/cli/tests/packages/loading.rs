//! What a session uses of packages.

use bowline_testkit::{Launch, Workspace, eventually};
use serde_json::{Value, json};

use crate::{packed, run, shared, with_tool};

/// Returns the commands of templates and skills.
#[track_caller]
fn commands(workspace: &Workspace, arguments: &[&str]) -> Vec<Value> {
    let mut agent = Launch::rpc(workspace).arguments(arguments).start();
    agent.get("get_commands")["commands"].as_array().unwrap().clone()
}

fn names(commands: &[Value]) -> Vec<&str> {
    commands.iter().map(|command| command["name"].as_str().unwrap()).collect()
}

/// Returns what the state says of the extensions, once there is one.
#[track_caller]
fn extensions(workspace: &Workspace, arguments: &[&str]) -> Vec<Value> {
    let mut agent = Launch::rpc(workspace).arguments(arguments).start();
    let mut found = Vec::new();
    eventually("an extension is listed", || {
        found = agent.get("get_state")["extensions"].as_array().cloned().unwrap_or_default();
        !found.is_empty()
    });
    found
}

#[test]
fn skills_templates_and_extensions_of_a_package_are_used() {
    let workspace = with_tool();
    let source = packed(&workspace);
    run(&workspace, &["install", &source]).succeeded();
    let root = shared(&workspace).join("npm/node_modules/my-tool");
    let info = |path: &str| {
        json!({
            "path": root.join(path), "source": source, "scope": "user", "origin": "package", "baseDir": root,
        })
    };
    let found = commands(&workspace, &[]);
    assert_eq!(names(&found), ["build", "skill:hammer"]);
    assert_eq!(found[0]["sourceInfo"], info("prompts/build.md"));
    assert_eq!(found[1]["sourceInfo"], info("skills/hammer/SKILL.md"));
    let found = extensions(&workspace, &[]);
    assert_eq!((found.len(), &found[0]["name"]), (1, &json!("my-tool")), "{found:?}");
    assert_eq!(found[0]["path"], json!(root.join("tool.ts")));
    assert_eq!(found[0]["sourceInfo"], info("tool.ts"));
}

#[test]
fn entry_selects_what_is_used() {
    let entry = json!({ "packages": [{ "source": "../../tool", "skills": [], "extensions": ["!tool.ts"] }] });
    let workspace = with_tool().home_file(".pi/agent/settings.json", &entry.to_string());
    assert_eq!(names(&commands(&workspace, &[])), ["build"]);
    let state = Launch::rpc(&workspace).start().get("get_state");
    assert!(state.get("extensions").is_none(), "{state}");
}

#[test]
fn packages_of_a_project_are_used_only_if_it_is_trusted() {
    let workspace = with_tool().file(".pi/settings.json", r#"{"packages": ["../../tool"]}"#);
    assert_eq!(names(&commands(&workspace, &[])), [""; 0]);
    let found = commands(&workspace, &["--approve"]);
    assert_eq!(names(&found), ["build", "skill:hammer"]);
    assert_eq!(found[0]["sourceInfo"]["scope"], "project");
}

#[test]
fn package_that_is_not_installed_is_reported_and_nothing_is_installed() {
    let workspace = with_tool().home_file(".pi/agent/settings.json", r#"{"packages": ["npm:gone"]}"#);
    let found = extensions(&workspace, &[]);
    assert_eq!(found[0]["status"], "failed");
    assert_eq!(found[0]["reason"], "it is not installed; to install it, run: bowline install npm:gone");
    assert!(!shared(&workspace).join("npm").exists());
}

#[test]
fn folder_of_pi_can_be_turned_off() {
    let workspace = with_tool()
        .home_file(".pi/agent/settings.json", r#"{"packages": ["../../tool"]}"#)
        .home_file(".pi/agent/extensions/own.ts", "export default () => {};\n");
    assert_eq!(names(&commands(&workspace, &[])), ["build", "skill:hammer"]);
    let found = extensions(&workspace, &[]);
    let names_of = |found: &[Value]| found.iter().map(|found| found["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names_of(&found), ["own", "my-tool"], "packages come last");
    let workspace = workspace.settings(json!({ "piFolder": false }));
    assert_eq!(names(&commands(&workspace, &[])), [""; 0]);
    assert!(Launch::rpc(&workspace).start().get("get_state").get("extensions").is_none());
}

#[test]
fn named_package_is_used_once_it_is_installed() {
    let workspace = with_tool();
    let source = packed(&workspace);
    let missing = extensions(&workspace, &["-e", "npm:my-tool"]);
    assert_eq!(
        missing[0]["reason"],
        "it is not installed; to install it, run: bowline install --temporary npm:my-tool"
    );
    run(&workspace, &["install", "--temporary", &source]).succeeded();
    assert!(!shared(&workspace).join("settings.json").exists());
    let found = extensions(&workspace, &["-e", "npm:my-tool"]);
    assert_eq!(found[0]["sourceInfo"]["source"], "cli");
    assert_eq!(names(&commands(&workspace, &["-e", "npm:my-tool"])), ["build", "skill:hammer"]);
    let folder = workspace.home().join("tool").display().to_string();
    assert_eq!(names(&commands(&workspace, &["-e", &folder])), ["build", "skill:hammer"]);
    assert_eq!(names(&commands(&workspace, &[])), [""; 0]);
}
