//! What tools may read and write: the home folder, credentials, protected paths, linked worktrees.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use bowline_testkit::{Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

use super::keepers::{bash, output, start};

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn sandbox(settings: &Value) -> Workspace {
    Workspace::empty().settings(json!({ "sandbox": settings })).home_file(".ssh/config", "mine")
}

#[test]
fn credentials_are_read_only_if_the_settings_say_so() {
    for (readable, expected) in [(json!([]), ""), (json!(["~/.ssh"]), "mine")] {
        let workspace = sandbox(&json!({ "readable": readable }));
        let mut agent = start(&workspace);
        let text = output(&mut agent, "cat ~/.ssh/config 2>/dev/null; true");
        assert_eq!(text, expected);
    }
}

#[test]
fn overlay_of_the_home_folder_takes_what_is_written_and_keeps_it_for_the_project() {
    let workspace = sandbox(&json!({ "home": "overlay" }));
    let mut agent = start(&workspace);
    assert_eq!(
        output(&mut agent, "mkdir -p ~/.cache/x && echo one > ~/.cache/x/y && cat ~/.cache/x/y"),
        "one\n"
    );
    assert_eq!(bash(&mut agent, "cat ~/.ssh/config")["data"]["exitCode"], 1);
    drop(agent);
    assert!(!workspace.home().join(".cache").exists());
    let mut agent = start(&workspace);
    assert_eq!(output(&mut agent, "cat ~/.cache/x/y"), "one\n");
}

#[test]
fn without_an_overlay_the_home_folder_is_read_only() {
    let workspace = sandbox(&json!({}));
    let mut agent = start(&workspace);
    let response = bash(&mut agent, "echo x > ~/new");
    assert!(response["data"]["output"].as_str().unwrap().contains("Read-only file system"), "{response}");
    assert!(!workspace.home().join("new").exists());
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    let finished = git.output().unwrap();
    assert!(finished.status.success(), "{arguments:?}: {finished:?}");
}

#[test]
fn commits_work_in_a_linked_worktree_but_hooks_of_its_repository_stay() {
    let workspace = sandbox(&json!({}));
    let repository = workspace.home().join("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let work = workspace.work();
    std::fs::remove_dir(&work).unwrap();
    git(&repository, &["worktree", "add", "-q", work.to_str().unwrap(), "-b", "side"]);
    let mut agent = start(&workspace);
    let commit = "echo x > file && git add file && git -c user.name=a -c user.email=a@b commit -qm second && git log --oneline | wc -l";
    assert_eq!(output(&mut agent, commit).trim(), "2");
    let hook = "echo evil > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"; \
                git config core.fsmonitor evil; true";
    bash(&mut agent, hook);
    drop(agent);
    assert!(!repository.join(".git/hooks/pre-commit").exists());
    assert!(!std::fs::read_to_string(repository.join(".git/config")).unwrap().contains("evil"));
}

#[test]
fn protected_folder_on_another_file_system_is_moved_whole() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { panic!("no second file system") };
    let workspace = sandbox(&json!({}));
    let mut agent = Launch::rpc(&workspace)
        .directory(elsewhere.path())
        .arguments(&["--sandbox", "workspace-write"])
        .start();
    let fill = "mkdir .idea && head -c 20000000 /dev/zero > .idea/large && echo ok";
    assert_eq!(output(&mut agent, fill), "ok\n");
    let change = of_type(agent.transcript(), "protected_path_changed")[0].clone();
    let quarantine = Path::new(change["quarantine"].as_str().unwrap()).to_owned();
    assert!(!elsewhere.path().join(".idea").exists());
    assert_eq!(std::fs::metadata(quarantine.join("large")).unwrap().len(), 20_000_000);
}

#[test]
fn folder_without_rights_hides_nothing_that_is_protected() {
    let workspace = sandbox(&json!({}));
    let mut agent = start(&workspace);
    bash(&mut agent, "mkdir .vscode && echo x > .vscode/tasks.json && chmod 500 .");
    let work = workspace.work();
    std::fs::set_permissions(&work, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(names_in(&work), [""; 0]);
}

#[test]
fn refused_result_ends_with_one_line_about_the_sandbox() {
    let (server, workspace) = Workspace::with_server();
    let mut agent =
        Launch::rpc(&workspace).model("mock/m1").arguments(&["--sandbox", "workspace-write"]).start();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch /usr/x; touch /usr/y; false" })));
    server.reply(Reply::text("done"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    let result = of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"].clone();
    let result = result.as_str().unwrap();
    assert_eq!(result.matches("[Sandbox ").count(), 1, "{result}");
    assert!(result.trim_end().lines().last().unwrap().starts_with("[Sandbox workspace-write: "), "{result}");
}
