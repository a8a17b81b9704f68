//! bowline under the name of pi.

use std::path::Path;
use std::process::Command;

use bowline_testkit::{Launch, Reply, Workspace, bowline};

use crate::launch;

#[test]
fn one_shot_modes_do_what_the_real_pi_did() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/modes/modes.py");
    let done = Command::new("python3").arg(script).arg("check").arg(bowline()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn words_are_messages_unless_the_first_is_a_subcommand() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let finished = launch(&workspace, &["--no-session", "sessions"]).program_name("pi").run();
    assert_eq!((finished.code, finished.stdout.as_str()), (0, "done\n"), "{}", finished.stderr);
    let finished = Launch::bowline(&workspace).arguments(&["sessions", "list"]).program_name("pi").run();
    assert_eq!((finished.code, server.requests().len()), (0, 1), "{}", finished.stderr);
}

#[test]
fn terminal_is_told_that_there_is_no_interface_for_it() {
    let workspace = Workspace::empty();
    let link = workspace.home().join("pi");
    std::os::unix::fs::symlink(bowline(), &link).unwrap();
    let script = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.argv[1]])))";
    let finished =
        Launch::new("python3", &workspace).arguments(&["-c", script, &link.display().to_string()]).run();
    assert_eq!(finished.code, 1);
    assert!(
        finished.stdout.contains("no terminal interface") && finished.stdout.contains("pi -p"),
        "{finished:?}"
    );
}

#[test]
fn session_is_exported_by_the_flag() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    launch(&workspace, &["-p", "hi", "--session", "a.jsonl"]).run().succeeded();
    let export =
        |arguments: &[&str]| Launch::bowline(&workspace).arguments(arguments).program_name("pi").run();
    let finished = export(&["--export", "a.jsonl", "page.html"]);
    let page = finished.succeeded();
    assert!(page.starts_with("Exported to: ") && page.ends_with("/page.html\n"), "{page}");
    assert!(workspace.work().join("page.html").exists());
    let finished = export(&["--export", "none.jsonl"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""));
}
