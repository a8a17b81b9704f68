//! Which level a machine offers, and what happens on one that offers less.

use std::path::PathBuf;
use std::process::Command;

use bowline_testkit::{Launch, Workspace, bowline};
use serde_json::json;

/// A level of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Full,
    Landlock,
}

/// Turns off namespaces for what it starts, as some systems do for everybody.
const WITHOUT_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";

/// Tells whether this machine has namespaces for its users.
pub(crate) fn has_namespaces() -> bool {
    let tried = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Prepares to start bowline where there are no namespaces: on a machine that has none, or below one that was made without.
pub(crate) fn launch_without_namespaces(workspace: &Workspace) -> Launch {
    if !has_namespaces() {
        return Launch::bowline(workspace);
    }
    let program = bowline();
    let program: &str = program.to_str().unwrap();
    Launch::new(PathBuf::from("unshare"), workspace).arguments(&[
        "--user",
        "--map-root-user",
        "/bin/sh",
        "-c",
        WITHOUT_NAMESPACES,
        program,
    ])
}

/// Prepares to start bowline in its RPC mode in a sandbox of this level; `None` if the machine cannot have it.
pub(crate) fn launch(level: Level, workspace: &Workspace) -> Option<Launch> {
    let launch = match level {
        Level::Full if has_namespaces() => Launch::bowline(workspace),
        Level::Full => return None,
        Level::Landlock => launch_without_namespaces(workspace),
    };
    Some(launch.arguments(&["--mode", "rpc", "--sandbox", "workspace-write"]))
}

#[test]
fn without_namespaces_bowline_does_not_start_in_a_sandbox_unless_less_is_accepted() {
    let workspace = Workspace::empty();
    let launch =
        || launch_without_namespaces(&workspace).arguments(&["--mode", "rpc", "--model", "scripted/demo"]);
    let refused = launch().arguments(&["--sandbox", "workspace-write"]).run();
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("no sandbox of level \"full\" is available here"), "{}", refused.stderr);
    assert!(refused.stderr.contains("\n  - to accept less, set sandbox.minimum"), "{}", refused.stderr);
    if has_namespaces() {
        assert!(refused.stderr.contains("user.max_user_namespaces is 0"), "{}", refused.stderr);
    }
    let unconfined = launch().run();
    assert_eq!(unconfined.code, 0, "{unconfined:?}");
    let workspace = workspace.settings(json!({ "sandbox": { "minimum": "landlock" } }));
    let accepted = launch_without_namespaces(&workspace)
        .arguments(&["sandbox", "run", "--", "sh", "-c", "touch inside; touch ../outside"])
        .run();
    assert_ne!(accepted.code, 0);
    assert_ne!(accepted.code, 125, "{accepted:?}");
    assert!(workspace.work().join("inside").exists(), "{accepted:?}");
    assert!(!workspace.work().join("../outside").exists(), "{accepted:?}");
}

#[test]
fn check_of_a_level_that_is_not_to_be_had_ends_with_2() {
    let workspace = Workspace::empty();
    let finished =
        launch_without_namespaces(&workspace).arguments(&["sandbox", "check", "--level", "full"]).run();
    assert_eq!(finished.code, 2, "{finished:?}");
    assert!(finished.stderr.contains("no sandbox "), "{}", finished.stderr);
}
