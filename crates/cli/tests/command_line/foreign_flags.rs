//! Flags of the emulated agents that bowline does not serve.

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

/// Starts a dialect with more arguments and nothing on stdin.
fn start(dialect: &str, arguments: &[&str]) -> bowline_testkit::Finished {
    let workspace = Workspace::empty();
    Launch::bowline(&workspace)
        .arguments(&["--mode", "rpc", "--dialect", dialect, "--no-session"])
        .arguments(arguments)
        .run()
}

#[test]
fn ignored_flags_of_emulated_agents_are_named_in_a_warning() {
    for (dialect, arguments, flag) in [
        ("pi", &["--no-themes"][..], "--no-themes"),
        ("pi-classic", &["--no-themes"], "--no-themes"),
        ("pi", &["--print"], "--print"),
        ("omp", &["--no-lsp"], "--no-lsp"),
        ("omp", &["--smol", "haiku"], "--smol"),
        ("omp", &["--plan", "opus"], "--plan"),
        ("omp", &["--approval-mode", "yolo"], "--approval-mode yolo"),
        ("opi", &["--trace", "x.jsonl"], "--trace"),
        ("operator", &["--config", "x"], "--config"),
    ] {
        let finished = start(dialect, arguments);
        assert_eq!(finished.code, 0, "{dialect} {arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{dialect} {arguments:?}: {}", finished.stderr);
        assert!(
            finished.stderr.contains(&format!("{flag} ")),
            "{dialect} {arguments:?}: {}",
            finished.stderr
        );
    }
}

#[test]
fn flags_that_restrict_the_agent_prevent_the_start() {
    for (dialect, arguments) in [
        ("omp", &["--approval-mode", "write"][..]),
        ("omp", &["--approval-mode=always-ask"]),
        ("omp", &["--approval-mode", "nonsense"]),
        ("pi", &["--approval-mode", "write"]),
        ("pi", &["--plan"]),
        ("opi", &["--execution-backend", "container"]),
        ("operator-flat", &["--read-only"]),
    ] {
        let finished = start(dialect, arguments);
        assert_ne!(finished.code, 0, "{dialect} {arguments:?}");
        let record: Value = serde_json::from_str(&finished.stdout).unwrap();
        let error = record["error"].as_str().unwrap();
        assert_eq!(record, json!({ "type": "error", "error": error, "fatal": true }));
        let flag = arguments[0].split('=').next().unwrap();
        assert!(error.starts_with(&format!("{flag} cannot be served: ")), "{error}");
    }
}
