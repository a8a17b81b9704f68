//! Messages that are run once: what is written, how it ends, and that it is what the real pi does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]

#[path = "../extensions/actor.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod actor;
mod endings;
mod extensions;
mod messages;
mod mistakes;
mod output_schema;
mod outputs;
mod pi;

use bowline_testkit::{Finished, Launch, Workspace};

/// Prepares to run messages with the scripted model.
fn launch(workspace: &Workspace, arguments: &[&str]) -> Launch {
    Launch::bowline(workspace).model("mock/m1").arguments(arguments)
}

/// Runs messages with the scripted model and nothing on stdin.
#[track_caller]
fn once(workspace: &Workspace, arguments: &[&str]) -> Finished {
    launch(workspace, arguments).run()
}

/// Returns the exit code, stdout and stderr.
fn parts(finished: &Finished) -> (i32, &str, &str) {
    (finished.code, &finished.stdout, &finished.stderr)
}
