//! Whether a project is trusted: flags, `trust.json`, the setting, `bowline trust`.

use std::fs;

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::{Value, json};

fn project() -> Workspace {
    Workspace::empty()
        .file(".bowline/prompts/p.md", "x")
        .file(".agents/skills/s/SKILL.md", &crate::skill("d", "x"))
}

/// Returns whether what the project brings along is used.
#[track_caller]
fn is_trusted(workspace: &Workspace, arguments: &[&str]) -> bool {
    let mut agent = Launch::rpc(workspace).arguments(arguments).start();
    let commands = agent.get("get_commands")["commands"].take();
    let count = commands.as_array().unwrap().len();
    assert!(count == 0 || count == 2, "{commands}");
    count == 2
}

#[track_caller]
fn trust(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["trust"]).arguments(arguments).run()
}

#[test]
fn nothing_is_used_without_a_decision_and_stderr_says_how_to_decide() {
    let workspace = project();
    let mut agent = Launch::rpc(&workspace).start();
    for _ in 0..3 {
        assert_eq!(agent.get("get_commands")["commands"], json!([]));
    }
    agent.wait_for_stderr("bowline trust");
    let stderr = agent.stderr();
    assert_eq!(stderr.matches("not trusted").count(), 1, "{stderr}");
    assert!(stderr.contains(".bowline/prompts, .agents/skills. Pass --approve"), "{stderr}");
}

#[test]
fn project_without_resources_needs_no_note() {
    let workspace = Workspace::empty().file("AGENTS.md", "x");
    let mut agent = Launch::rpc(&workspace).start();
    agent.get("get_commands");
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert_eq!(agent.stderr(), "");
}

#[test]
fn flags_decide_before_the_file_and_the_file_before_the_setting() {
    let workspace = project();
    assert!(!is_trusted(&workspace, &[]));
    for flag in ["--approve", "-a", "--trust"] {
        assert!(is_trusted(&workspace, &[flag]), "{flag}");
    }
    let workspace = workspace.settings(json!({ "defaultProjectTrust": "always" }));
    assert!(is_trusted(&workspace, &[]));
    for flag in ["--no-approve", "-na", "--no-trust"] {
        assert!(!is_trusted(&workspace, &[flag]), "{flag}");
    }
    trust(&workspace, &["--no-approve"]).succeeded();
    assert!(!is_trusted(&workspace, &[]));
    let workspace = workspace.settings(json!({ "defaultProjectTrust": "never" }));
    trust(&workspace, &[workspace.home().to_str().unwrap()]).succeeded();
    assert!(!is_trusted(&workspace, &[]), "the decision for the nearer folder counts");
    trust(&workspace, &["--remove"]).succeeded();
    assert!(is_trusted(&workspace, &[]));
}

#[test]
fn settings_of_the_project_do_not_make_it_trusted() {
    let workspace = project().file(".bowline/settings.json", r#"{"defaultProjectTrust": "always"}"#);
    assert!(!is_trusted(&workspace, &[]));
}

#[test]
fn decisions_are_listed_and_kept_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = project();
    let work = workspace.work().canonicalize().unwrap();
    let said = trust(&workspace, &[]).succeeded();
    assert!(said.starts_with(&format!("{} is trusted from the next start on.\n", work.display())), "{said}");
    assert!(said.contains(&format!("  {}\n", work.join(".bowline/prompts").display())), "{said}");
    let file = workspace.configuration().join("trust.json");
    let decisions: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(decisions, json!({ work.to_str().unwrap(): true }));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = trust(&workspace, &["--list", "--json"]).succeeded();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), json!({ "path": work, "trusted": true }));
    assert!(trust(&workspace, &["--list"]).succeeded().contains("trusted"));
    trust(&workspace, &["--remove", workspace.work().to_str().unwrap()]).succeeded();
    assert_ne!(trust(&workspace, &["--remove"]).code, 0);
}

#[test]
fn mistakes_change_nothing() {
    let workspace = Workspace::empty();
    for arguments in [
        &["nowhere"][..],
        &["a", "b"],
        &["--list", "."],
        &["--list", "--remove"],
        &["--remove", "--no-approve"],
        &["--json"],
        &["--model", "x"],
    ] {
        let finished = trust(&workspace, arguments);
        assert!(finished.code != 0 && finished.stdout.is_empty(), "{arguments:?}: {}", finished.stdout);
        assert!(!finished.stderr.is_empty());
    }
    assert!(!workspace.configuration().join("trust.json").exists());
    let workspace = project().home_file(".bowline/trust.json", "[1]");
    assert!(trust(&workspace, &[]).stderr.contains("trust.json is not valid: it must be an object"));
    let mut agent = Launch::rpc(&workspace).start();
    assert_eq!(agent.get("get_commands")["commands"], json!([]));
    agent.wait_for_stderr("no project is trusted: ");
}
