//! Ways out that somebody has found, each with the program in which it was closed.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use bowline_testkit::{Launch, Workspace, eventually, of_type};
use serde_json::json;

use super::keepers::{bash, output, start};

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
    let finished = git.current_dir(folder).args(settings).args(arguments).output().unwrap();
    assert!(finished.status.success(), "{arguments:?}: {finished:?}");
}

#[test]
fn temporary_files_are_not_kept_where_tools_could_replace_them() {
    let workspace = Workspace::empty().file(".tmp/x", "");
    let folder = workspace.work().join(".tmp");
    let mut agent = Launch::rpc(&workspace)
        .environment("TMPDIR", folder.to_str().unwrap())
        .arguments(&["--sandbox", "workspace-write"])
        .start();
    assert_eq!(output(&mut agent, "ls .tmp"), "x\n");
}

#[test]
fn credential_that_another_program_replaces_or_makes_stays_closed() {
    let workspace = Workspace::empty().home_file(".claude.json", "SECRET1").home_file(".npmrc", "SECRET1");
    let mut agent = start(&workspace);
    let read = "cat ~/.claude.json ~/.npmrc ~/.aws/credentials 2>/dev/null; true";
    assert_eq!(output(&mut agent, read), "");
    std::fs::write(workspace.home().join("new"), "SECRET2").unwrap();
    std::fs::rename(workspace.home().join("new"), workspace.home().join(".claude.json")).unwrap();
    assert_eq!(output(&mut agent, read), "");
    std::fs::create_dir(workspace.home().join(".aws")).unwrap();
    std::fs::write(workspace.home().join(".aws/credentials"), "SECRET3").unwrap();
    assert_eq!(output(&mut agent, read), "");
}

#[test]
fn git_configuration_that_the_user_changes_meanwhile_stays_read_only() {
    let workspace = Workspace::empty();
    git(&workspace.work(), &["init", "-q"]);
    let mut agent = start(&workspace);
    assert_eq!(output(&mut agent, "echo x"), "x\n");
    git(&workspace.work(), &["config", "user.name", "bob"]);
    let response = bash(&mut agent, "echo '[core] fsmonitor = evil' >> .git/config");
    assert_eq!(response["data"]["exitCode"], 1, "{response}");
    let config = std::fs::read_to_string(workspace.work().join(".git/config")).unwrap();
    assert!(config.contains("bob") && !config.contains("evil"), "{config}");
}

#[test]
fn git_is_not_led_elsewhere() {
    let workspace = Workspace::empty();
    let (work, other) = (workspace.work(), workspace.home().join("other"));
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&work, &["init", "-q"]);
    git(&work, &["submodule", "--quiet", "add", other.to_str().unwrap(), "third_party/lib"]);
    git(&work, &["commit", "-qm", "x"]);
    let side = workspace.home().join("side");
    git(&work, &["worktree", "add", "-q", side.to_str().unwrap()]);
    let before = |path: &str| std::fs::read_to_string(work.join(path)).unwrap_or_default();
    let kept = [
        "third_party/lib/.git",
        ".git/modules/third_party/lib/config",
        ".git/worktrees/side/commondir",
        ".git/config",
    ];
    let contents = kept.map(before);
    let mut agent = start(&workspace);
    for command in [
        "echo 'gitdir: /evil' > third_party/lib/.git",
        "mv third_party/lib third_party/x; mkdir third_party/lib; echo 'gitdir: /evil' > third_party/lib/.git",
        "echo '[core] fsmonitor = evil' >> .git/modules/third_party/lib/config",
        "echo evil > .git/modules/third_party/lib/hooks/pre-commit",
        "echo /evil > .git/worktrees/side/commondir",
        "mv .git/modules m; cp -r m .git/modules; echo evil >> .git/modules/third_party/lib/config",
        "mkdir new && cd new && echo 'gitdir: /evil' > .git",
    ] {
        bash(&mut agent, command);
    }
    // New repositories are looked for in the background.
    eventually("the new pointer is gone", || !work.join("new/.git").exists());
    drop(agent);
    assert_eq!(kept.map(before), contents);
    assert!(!work.join(".git/modules/third_party/lib/hooks/pre-commit").exists());
}

#[test]
fn repository_that_a_command_makes_runs_nothing() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    let make = "git init -q n && echo evil > n/.git/hooks/pre-commit && printf '[core]\\n\\tfsmonitor = evil\\n' >> n/.git/config";
    assert_eq!(bash(&mut agent, make)["data"]["exitCode"], 0);
    let n = workspace.work().join("n/.git");
    eventually("hook and configuration are gone", || {
        !n.join("hooks/pre-commit").exists() && !n.join("config").exists()
    });
    // Also what comes later, and an honest one stays.
    let later = "ln -s /bin h && rm -rf n/.git/hooks && mv h n/.git/hooks; git init -q honest";
    bash(&mut agent, later);
    eventually("the link is gone", || n.join("hooks").symlink_metadata().is_err());
    assert!(workspace.work().join("honest/.git/config").exists());
}

#[test]
fn link_that_is_protected_protects_what_it_leads_to() {
    let workspace = Workspace::empty().file("shared/settings.json", "{}");
    symlink("shared", workspace.work().join(".claude")).unwrap();
    let mut agent = start(&workspace);
    let response = bash(&mut agent, "echo evil > shared/settings.json");
    assert_eq!(response["data"]["exitCode"], 1, "{response}");
}

#[test]
fn process_in_the_background_leaves_nothing_protected_behind() {
    for _ in 0..3 {
        let workspace = Workspace::empty();
        let mut agent = start(&workspace);
        bash(
            &mut agent,
            "(while :; do mkdir -p .vscode; echo e > .vscode/tasks.json; done) >/dev/null 2>&1 & sleep 0.1",
        );
        agent.close_stdin();
        agent.rest();
        assert_eq!(agent.wait(), 0);
        assert!(!workspace.work().join(".vscode").exists());
    }
}

#[test]
fn process_in_the_background_is_noticed_between_calls() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    bash(&mut agent, "(sleep 0.3; echo e > .mcp.json) >/dev/null 2>&1 &");
    let path = workspace.work().join(".mcp.json");
    std::thread::sleep(std::time::Duration::from_millis(500));
    eventually("it was moved away", || !path.exists());
    assert_eq!(output(&mut agent, "echo x"), "x\n");
    assert_eq!(of_type(agent.transcript(), "protected_path_changed").len(), 1);
}

#[test]
fn no_file_gets_the_rights_of_its_owner() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    let program = "import os\n\
                   def tried(f):\n    try: f()\n    except OSError: pass\n\
                   tried(lambda: os.chmod('a', 0o4755))\n\
                   tried(lambda: os.close(os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755)))\n\
                   tried(lambda: os.mknod('c', 0o104755))\n\
                   os.close(os.open('d', os.O_CREAT | os.O_WRONLY, 0o755))";
    bash(&mut agent, &format!("touch a; umask 0; python3 -c \"{program}\""));
    for name in ["a", "b", "c", "d"] {
        let mode = std::fs::metadata(workspace.work().join(name)).map(|found| found.permissions().mode());
        assert_eq!(mode.unwrap_or_default() & 0o4000, 0, "{name}");
    }
    assert!(workspace.work().join("d").exists());
}

#[test]
fn names_that_are_no_text_and_many_repositories_do_not_stop_the_sandbox() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    bash(&mut agent, "mkdir -p $'\\xff'/.git; for i in $(seq 300); do mkdir -p r$i/.git; done");
    drop(agent);
    let mut agent = start(&workspace);
    assert_eq!(output(&mut agent, "echo x"), "x\n");
    let report = agent.ask(json!({ "type": "get_sandbox" }));
    assert!(report["data"]["notEnforced"].to_string().contains("file.protected.many"), "{report}");
}

#[test]
fn own_folder_deep_in_the_workspace_is_refused() {
    let workspace = Workspace::empty();
    let own = workspace.work().join("cfg/bowline");
    std::fs::create_dir_all(&own).unwrap();
    let finished = Launch::rpc(&workspace)
        .environment("BOWLINE_HOME", own.to_str().unwrap())
        .arguments(&["--sandbox", "workspace-write"])
        .run();
    assert_ne!(finished.code, 0);
    assert!(finished.stderr.contains("own folder is deep inside"), "{}", finished.stderr);
}

#[test]
fn two_sessions_have_overlays_of_their_own() {
    let workspace = Workspace::empty().settings(json!({ "sandbox": { "home": "overlay" } }));
    let (mut one, mut two) = (start(&workspace), start(&workspace));
    assert_eq!(output(&mut one, "echo one > ~/mark && cat ~/mark"), "one\n");
    assert_eq!(output(&mut two, "cat ~/mark 2>/dev/null; echo two > ~/mark && cat ~/mark"), "two\n");
    assert_eq!(output(&mut one, "cat ~/mark"), "one\n");
}

#[test]
fn workspace_that_was_made_again_is_the_one_that_tools_see() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    assert_eq!(output(&mut agent, "touch old; ls"), "old\n");
    std::fs::remove_dir_all(workspace.work()).unwrap();
    assert_eq!(bash(&mut agent, "ls")["success"], false);
    std::fs::create_dir(workspace.work()).unwrap();
    std::fs::write(workspace.work().join("new"), "").unwrap();
    assert_eq!(output(&mut agent, "ls"), "new\n");
}
