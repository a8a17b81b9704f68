//! Where hooks come from: the settings of the user, of a trusted project, and of Claude Code.

use std::fs;

use bowline_testkit::{Launch, Reply, Workspace, eventually, of_type};
use serde_json::{Value, json};

use super::{errors, hook, written};

/// A hook at every prompt that leaves a mark.
fn marks(name: &str) -> Value {
    hook("UserPromptSubmit", &format!("echo x >> ran-{name}"))
}

/// Runs a prompt and returns which of the hooks in `names` ran.
#[track_caller]
fn ran<'a>(workspace: &Workspace, arguments: &[&str], names: &[&'a str]) -> Vec<&'a str> {
    for name in names {
        let _ = fs::remove_file(workspace.work().join(format!("ran-{name}")));
    }
    let mut agent = Launch::rpc(workspace).model("scripted/demo").arguments(arguments).start();
    agent.run("hello");
    names.iter().copied().filter(|name| !written(workspace, &format!("ran-{name}")).is_empty()).collect()
}

#[test]
fn hooks_of_a_project_run_only_if_it_is_trusted() {
    let workspace = Workspace::empty()
        .settings(marks("user"))
        .file(".bowline/settings.json", &marks("project").to_string());
    let names = ["user", "project"];
    assert_eq!(ran(&workspace, &[], &names), ["user"]);
    assert_eq!(ran(&workspace, &["--approve"], &names), names);
    assert_eq!(ran(&workspace, &["--no-approve"], &names), ["user"]);
}

#[test]
fn hooks_of_claude_code_run_only_if_that_is_switched_on() {
    let names = ["user", "shared", "local"];
    let workspace = Workspace::empty()
        .home_file(".claude/settings.json", &marks("user").to_string())
        .file(".claude/settings.json", &marks("shared").to_string())
        .file(".claude/settings.local.json", &marks("local").to_string());
    assert_eq!(ran(&workspace, &["--approve"], &names), [""; 0]);
    let workspace = workspace.settings(json!({ "hooks": { "importClaude": true } }));
    assert_eq!(ran(&workspace, &[], &names), ["user"]);
    assert_eq!(ran(&workspace, &["--approve"], &names), names);
    let workspace = workspace.file(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    assert_eq!(ran(&workspace, &["--approve"], &names), [""; 0]);
    assert_eq!(ran(&workspace, &[], &names), ["user"], "a project that is not trusted turns nothing off");
}

#[test]
fn mistakes_are_reported_once_and_the_other_hooks_run() {
    let mut settings = marks("good");
    settings["hooks"]["PreToolUse"] = json!([{ "matcher": "(", "hooks": [] }]);
    settings["hooks"]["Stopp"] = json!([]);
    let workspace =
        Workspace::empty().settings(settings).file(".bowline/settings.json", r#"{"hooks": {"Stop": {}}}"#);
    let mut agent = Launch::rpc(&workspace).model("scripted/demo").arguments(&["--approve"]).start();
    agent.run("hello");
    agent.carry_out(json!({ "type": "new_session" }));
    agent.run("hello");
    let path = |path: std::path::PathBuf| path.canonicalize().unwrap().display().to_string();
    let (own, project) =
        (path(workspace.configuration()), path(workspace.work()) + "/.bowline/settings.json");
    let of_user: Vec<_> =
        errors(&agent).into_iter().filter(|error| !error["error"].to_string().contains("work")).collect();
    assert_eq!(of_user.len(), 2, "{of_user:?}");
    assert_eq!(of_user[0]["extensionPath"], "hook:PreToolUse");
    assert_eq!(of_user[0]["event"], "load");
    assert!(of_user[0]["error"].as_str().unwrap().contains("unclosed group"), "{of_user:?} {own}");
    assert_eq!(of_user[1]["extensionPath"], "hook:Stopp");
    let of_project = errors(&agent).into_iter().filter(|error| error["extensionPath"] == "hook:Stop");
    let of_project: Vec<_> = of_project.collect();
    assert!(!of_project.is_empty(), "{project}");
    assert_eq!(written(&workspace, "ran-good"), "x\nx\n");
}

#[test]
fn wrong_kind_of_setting_is_a_clear_error() {
    for (hooks, expected) in [
        (json!([]), "hooks must be an object"),
        (json!({ "importClaude": "yes" }), "hooks.importClaude must be true or false"),
    ] {
        let workspace = Workspace::empty().settings(json!({ "hooks": hooks }));
        let text = Launch::rpc(&workspace).start().fatal_error();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn unreadable_files_are_reported_and_cost_nothing_else() {
    let workspace = Workspace::empty()
        .settings({
            let mut settings = marks("user");
            settings["hooks"]["importClaude"] = true.into();
            settings
        })
        .home_file(".claude/settings.json", "{broken");
    fs::create_dir_all(workspace.work().join(".claude/settings.json")).unwrap();
    let mut agent = Launch::rpc(&workspace).model("scripted/demo").arguments(&["--approve"]).start();
    agent.run("hello");
    let texts: Vec<_> = errors(&agent).iter().map(|error| error["error"].to_string()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].contains("this is not JSON") && texts[1].contains("its hooks are not used"),
        "{texts:?}"
    );
    assert_eq!(written(&workspace, "ran-user"), "x\n");
}

#[test]
fn commands_get_the_environment_of_commands_and_no_keys() {
    let workspace = Workspace::empty().settings(hook("UserPromptSubmit", "env > environment"));
    let mut agent = Launch::rpc(&workspace)
        .model("scripted/demo")
        .environment("MY_API_TOKEN", "not for hooks")
        .environment("HARMLESS", "for hooks")
        .start();
    agent.run("hello");
    let environment = written(&workspace, "environment");
    assert!(environment.contains("HARMLESS=for hooks\n") && !environment.contains("not for hooks"));
    let directory = workspace.work().canonicalize().unwrap();
    for name in ["CLAUDE_PROJECT_DIR", "BOWLINE_PROJECT_DIR"] {
        let line = environment.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap();
        assert_eq!(fs::canonicalize(line).unwrap(), directory);
    }
}

#[test]
fn prefix_for_commands_of_the_model_does_not_apply() {
    let mut settings = hook("UserPromptSubmit", "echo ran > ran");
    settings["shellCommandPrefix"] = "echo prefix > prefix".into();
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::text("done"));
    agent.run("hello");
    assert!(workspace.work().join("ran").exists() && !workspace.work().join("prefix").exists());
}

#[test]
fn hooks_work_in_every_dialect() {
    for dialect in ["pi", "pi-classic", "omp"] {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(hook("PreToolUse", "touch judged; echo no >&2; exit 2"));
        let mut agent = workspace.start_in(dialect);
        server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        eventually("the model has the result", || server.requests().len() == 2);
        assert!(
            workspace.work().join("judged").exists() && !workspace.work().join("ran").exists(),
            "{dialect}"
        );
        assert!(of_type(agent.transcript(), "extension_error").is_empty());
    }
}

#[test]
fn nothing_is_started_before_an_event_has_a_hook() {
    let workspace = Workspace::empty().settings(hook("PreToolUse", "touch ran"));
    let mut agent = Launch::rpc(&workspace).model("scripted/demo").start();
    agent.get("get_state");
    assert_eq!(agent.children(), [] as [u32; 0]);
    agent.finish();
}

#[test]
fn hooks_follow_the_session_into_another_folder() {
    let project = |name: &str| hook("UserPromptSubmit", &format!("pwd >> ~/ran-{name}")).to_string();
    let workspace = Workspace::empty()
        .settings(hook("UserPromptSubmit", "pwd >> ~/ran-user"))
        .file(".bowline/settings.json", &project("first"))
        .home_file("other/.bowline/settings.json", &project("second"));
    let launch = || Launch::rpc(&workspace).model("scripted/demo").arguments(&["--approve"]);
    let mut agent = launch().start();
    agent.run("hello");
    let file = agent.get("get_state")["sessionFile"].take();
    agent.finish();
    let read =
        |name: &str| fs::read_to_string(workspace.home().join(format!("ran-{name}"))).unwrap_or_default();
    let (first, second) = (read("first"), read("second"));
    assert_eq!((first.as_str(), second.as_str()), (read("user").as_str(), ""));

    let mut agent = launch().directory(workspace.home().join("other")).start();
    agent.run("hello");
    let second = read("second");
    assert!(second.ends_with("/other\n") && read("first") == first, "{second}");
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    agent.run("hello");
    assert_eq!(read("first"), first.repeat(2), "the session's own folder");
    assert_eq!(read("second"), second, "not the folder that was left");
}

#[test]
fn user_is_told_of_hooks_that_wait_for_trust() {
    let workspace = Workspace::empty()
        .settings(json!({ "hooks": { "importClaude": true } }))
        .file(".claude/settings.json", &marks("project").to_string());
    let mut agent = Launch::rpc(&workspace).model("scripted/demo").start();
    agent.run("hello");
    agent.wait_for_stderr("not used, because this project is not trusted: .claude/settings.json.");
    assert_eq!(written(&workspace, "ran-project"), "");
}
