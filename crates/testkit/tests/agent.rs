//! The driver, with shell scripts instead of the real binary.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Workspace, is_alive, types};
use serde_json::json;

fn script(workspace: &Workspace, script: &str) -> Agent {
    Agent::start("/bin/sh", workspace, &["-c", script])
}

/// Waits until a condition holds.
#[track_caller]
fn eventually(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(10), "timed out");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn records_arrive_in_order_and_a_response_can_be_taken_first() {
    let workspace = Workspace::empty();
    let mut agent = script(&workspace, "cat");
    agent.send(json!({ "type": "agent_start" }));
    agent.send_raw(b"{\"type\":\"response\",\"id\":\"1\"}\n{\"type\":\"agent_end\"}\n");
    agent.send(json!({ "type": "agent_settled" }));
    assert_eq!(agent.response("1")["id"], "1");
    assert_eq!(types(&agent.collect_until_settled()), ["agent_start", "agent_end", "agent_settled"]);
    assert_eq!(agent.next_within(Duration::from_millis(10)), None);
    agent.close_stdin();
    assert_eq!(agent.rest(), Vec::<serde_json::Value>::new());
    assert_eq!(agent.wait(), 0);
    assert_eq!(agent.transcript().len(), 4);
}

#[test]
fn sockets_work_like_pipes() {
    let workspace = Workspace::empty();
    let mut agent = Launch::new("/bin/cat", &workspace).over_sockets().start();
    agent.send(json!({ "type": "hello" }));
    assert_eq!(agent.next(), json!({ "type": "hello" }));
    agent.close_stdin();
    assert!(agent.rest().is_empty());
    assert_eq!(agent.wait(), 0);
}

#[test]
#[should_panic(expected = "not a JSON object: \"hello\"")]
fn stray_line_fails_the_test() {
    let workspace = Workspace::empty();
    script(&workspace, "echo hello").next();
}

#[test]
#[should_panic(expected = "has no newline: \"{}\"")]
fn last_line_without_newline_fails_the_test() {
    let workspace = Workspace::empty();
    script(&workspace, "printf '{}'").rest();
}

#[test]
#[should_panic(expected = "what went wrong")]
fn failure_shows_stderr() {
    let workspace = Workspace::empty();
    let mut agent = script(&workspace, "echo what went wrong >&2; exec sleep 60");
    eventually(|| !agent.stderr().is_empty());
    agent.set_timeout(Duration::from_millis(10));
    agent.next();
}

#[test]
fn environment_and_directory_belong_to_the_workspace() {
    let workspace = Workspace::empty().file("deep/note.txt", "x").settings(json!({}));
    let program = r#"test -f deep/note.txt && test -f "$HOME/.bowline/settings.json" && test "$EXTRA" = 1"#;
    let mut agent =
        Launch::new("/bin/sh", &workspace).arguments(&["-c", program]).environment("EXTRA", "1").start();
    assert_eq!(agent.wait(), 0);
    let home = workspace.home().to_owned();
    drop(workspace);
    assert!(!home.exists());
}

#[test]
fn paused_reader_blocks_the_writer() {
    let workspace = Workspace::empty();
    let program = r#"read line; i=0; while [ $i -lt 20000 ]; do echo '{"type":"filler"}'; i=$((i+1)); done
        echo written >&2"#;
    let mut agent = script(&workspace, program);
    agent.pause_reading();
    agent.send(json!({}));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(agent.stderr(), "");
    assert!(agent.is_running());
    agent.resume_reading();
    assert_eq!(agent.rest().len(), 20_000);
    eventually(|| agent.stderr() == "written\n");
}

#[test]
fn signal_gives_a_negative_exit_code() {
    let workspace = Workspace::empty();
    let mut agent = script(&workspace, "exec sleep 60");
    agent.signal(15);
    assert_eq!(agent.wait(), -15);
}

#[test]
fn dropping_kills_descendants_and_daemons() {
    let workspace = Workspace::empty();
    let agent = script(&workspace, "sleep 60 & (setsid sleep 61 &) ; wait");
    eventually(|| agent.children().len() == 1 && agent.survivors().len() == 2);
    assert!(agent.memory_kib().resident > 0);
    let (pid, survivors) = (agent.pid(), agent.survivors());
    drop(agent);
    eventually(|| !is_alive(pid) && survivors.iter().all(|pid| !is_alive(*pid)));
}
