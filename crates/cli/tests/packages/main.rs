//! Packages of pi: installing them from this machine, without a network, and what of them is used.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

mod commands;
mod loading;
mod repositories;

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::{Value, json};

/// An address that the repository of the workspace stands for.
const ADDRESS: &str = "https://example.com/me/tools";

/// Returns the folder that is shared with pi.
fn shared(workspace: &Workspace) -> PathBuf {
    workspace.home().join(".pi/agent")
}

/// Runs bowline where npm reaches no registry and git finds the repository of the workspace at [`ADDRESS`].
fn run(workspace: &Workspace, arguments: &[&str]) -> Finished {
    launch(workspace).arguments(arguments).run()
}

fn launch(workspace: &Workspace) -> Launch {
    let repository = workspace.home().join("repository");
    Launch::bowline(workspace)
        .environment("npm_config_registry", "http://127.0.0.1:9")
        .environment("npm_config_fetch_retries", "0")
        .environment("npm_config_audit", "false")
        .environment("npm_config_update_notifier", "false")
        .environment("GIT_CONFIG_COUNT", "1")
        .environment("GIT_CONFIG_KEY_0", &format!("url.file://{}.insteadOf", repository.display()))
        .environment("GIT_CONFIG_VALUE_0", ADDRESS)
}

/// Returns a workspace with the folder `tool` in the home directory: a package with an extension, a skill and a prompt
/// template.
fn with_tool() -> Workspace {
    let manifest = json!({
        "name": "my-tool",
        "version": "1.0.0",
        "pi": { "extensions": ["tool.ts"], "skills": ["skills"], "prompts": ["prompts"] },
    });
    Workspace::empty()
        .home_file("tool/package.json", &manifest.to_string())
        .home_file("tool/tool.ts", "export default function (pi) {}\n")
        .home_file("tool/skills/hammer/SKILL.md", "---\ndescription: Hits nails\n---\nHit it.\n")
        .home_file("tool/prompts/build.md", "Build $1.\n")
}

/// Packs the package as npm does, and returns what names it.
fn packed(workspace: &Workspace) -> String {
    let folder = workspace.home().join("tool");
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent"]).current_dir(&folder).env("HOME", workspace.home());
    assert!(npm.output().unwrap().status.success());
    format!("npm:my-tool@file:{}/my-tool-1.0.0.tgz", folder.display())
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=me", "-c", "user.email=me@example.com"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[track_caller]
fn settings(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("settings.json")).unwrap()).unwrap()
}

/// Returns the records of `bowline list --json`.
#[track_caller]
fn listed(workspace: &Workspace, arguments: &[&str]) -> Vec<Value> {
    run(workspace, &[&["list", "--json"], arguments].concat()).records()
}
