//! Selecting the dialect, by flag or program name, and its effect on `--version`.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use bowline_testkit::{Agent, Launch, Workspace, bowline};
use serde_json::json;

/// Creates a link to the binary, as an installation for a client does.
fn link(workspace: &Workspace, name: &str) -> PathBuf {
    let path = workspace.home().join(name);
    symlink(bowline(), &path).unwrap();
    path
}

fn output(program: &PathBuf, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn link_prints_the_version_of_the_emulated_agent() {
    let workspace = Workspace::empty();
    let own = env!("CARGO_PKG_VERSION");
    for (name, version) in [("pi", "1.4.0"), ("omp", "18.2.3"), ("opi", "0.5.0")] {
        let program = link(&workspace, name);
        assert_eq!(output(&program, &["--version"]), format!("{version}\n"));
        let both = format!("bowline {own}\n{name} {version}\n");
        assert_eq!(output(&program, &["--version", "--verbose"]), both);
        assert_eq!(output(&program, &["--verbose", "--version"]), both);
    }
    let program = bowline();
    assert_eq!(output(&program, &["--version"]), format!("{own}\n"));
    assert_eq!(output(&program, &["--version", "--verbose"]), format!("bowline {own}\npi 1.4.0\n"));
    assert_eq!(
        output(&program, &["--version", "--verbose", "--dialect", "opi"]),
        format!("bowline {own}\nopi 0.5.0\n")
    );
    let other = link(&workspace, "my-agent");
    assert_eq!(output(&other, &["--version"]), format!("{own}\n"), "other names have bowline's version");
}

#[test]
fn program_name_or_flag_selects_the_dialect() {
    let workspace = Workspace::empty();
    let start = |name: &str, arguments: &[&str]| -> Agent {
        Launch::bowline(&workspace).program_name(name).arguments(arguments).start()
    };
    let table: [(&str, &[&str], &str); 6] = [
        ("pi", &["--mode", "rpc"], "pi"),
        ("/usr/local/bin/opi", &["--rpc"], "opi"),
        ("opi", &["--mode", "rpc"], "opi"),
        ("bowline", &["--rpc"], "opi"),
        ("bowline", &["--rpc", "--dialect", "pi"], "pi"),
        ("opi", &["--dialect=operator", "--mode", "rpc"], "operator"),
    ];
    for (name, arguments, dialect) in table {
        let mut agent = start(name, arguments);
        if dialect == "opi" {
            assert_eq!(agent.next()["type"], "rpc_ready", "{name} {arguments:?}");
            continue;
        }
        let state = agent.carry_out(json!({ "type": "get_state" }));
        let is_flat = state.get("sessionId").is_some();
        assert_eq!(is_flat, dialect == "pi", "{name} {arguments:?}: {state}");
    }
}

#[test]
fn unknown_dialect_is_refused_with_the_known_names() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("klingon").start();
    let text = agent.fatal_error();
    assert!(text.contains("klingon") && text.contains("pi, ") && text.contains("operator-flat"), "{text}");
}

#[test]
fn help_lists_dialects_with_their_clients() {
    let help = output(&bowline(), &["--help"]);
    for dialect in ["pi", "opi", "operator", "operator-flat"] {
        let line = help.lines().find(|line| line.starts_with(&format!("  {dialect} ")));
        assert!(
            line.is_some_and(|line| line.contains("client") || line.contains("Client")),
            "{dialect}: {line:?}"
        );
    }
    assert!(help.contains("pi, omp or opi"), "a link's name chooses too");
}

#[test]
fn opi_flags_work_as_in_opi() {
    let workspace = Workspace::empty();
    let arguments = ["--rpc", "-m", "scripted:demo", "-v", "-c", "opi.toml"];
    let mut agent = Launch::bowline(&workspace).arguments(&arguments).start();
    assert_eq!(agent.next()["type"], "rpc_ready");
    assert_eq!(agent.get("session_info")["model"], "scripted:demo");
    let launch = Launch::bowline(&workspace).arguments(&["--rpc"]);
    let sessions = workspace.home().join("elsewhere");
    let mut agent = launch
        .environment("OPI_MODEL", "scripted:demo")
        .environment("OPI_SESSIONS_DIR", sessions.to_str().unwrap())
        .start();
    agent.next();
    assert_eq!(agent.get("session_info")["model"], "scripted:demo");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("AgentEnd");
    assert_eq!(std::fs::read_dir(sessions).unwrap().count(), 1);
}
