//! Attempts 114 to 117: outliving an abort, a time limit, the end of the session, and `kill -9` of bowline.

use std::fs;
use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, eventually, sandbox_is_missing};
use serde_json::json;

use super::levels::{self, Level};

/// How soon everything must be gone.
const SOON: Duration = Duration::from_millis(50);

/// How often a machine that is busy with other things may be slower.
const TRIES: usize = 8;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Abort,
    TimeLimit,
    CloseOfInput,
    Kill,
}

/// Returns a command that starts a child, one in its own session, a daemon that nothing ties to the command, and a storm
/// of short-lived processes, and that does not end. The mark is in the command line of each.
fn command(mark: &str) -> String {
    format!(
        "sleep 300.{mark} & setsid sleep 301.{mark} & \
         env -i /usr/bin/setsid /bin/bash -c '(exec /bin/sleep 302.{mark} </dev/null >/dev/null 2>&1 &)'; \
         for storm in 1 2 3; do setsid bash -c 'while :; do (sleep 0.02 & sleep 0.01) & wait -n; done' storm.{mark} & done; \
         sleep 0.2; touch begun; sleep 303.{mark}"
    )
}

/// Returns the processes whose command line has the mark.
fn marked(mark: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_marked = |process: &u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        // The sandbox itself is told of the command by a socket, not by its command line.
        String::from_utf8_lossy(&line).contains(mark)
    };
    numbers.filter(is_marked).collect()
}

/// Runs the command to its end in one way, and returns how long anything outlived it.
#[track_caller]
fn outlived(launch: Launch, server: &ModelServer, workspace: &Workspace, end: End, mark: &str) -> Duration {
    let mut agent = launch.model("mock/m1").start();
    let mut arguments = json!({ "command": command(mark) });
    if end == End::TimeLimit {
        arguments["timeout"] = json!(1);
    }
    server.reply(Reply::new().tool("bash", arguments));
    server.reply(Reply::text("Done."));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let begun = workspace.work().join("begun");
    eventually("the command has started everything", || begun.exists());
    fs::remove_file(begun).unwrap();
    assert!(marked(mark).len() >= 6, "{:?}", marked(mark));
    let since = finish(&mut agent, end);
    eventually("everything is gone", || marked(mark).is_empty());
    let took = since.elapsed();
    if end != End::Kill && agent.is_running() {
        agent.close_stdin();
        agent.wait();
    }
    agent.assert_no_survivors();
    took
}

/// Ends the command and returns since when everything is to be gone.
fn finish(agent: &mut Agent, end: End) -> Instant {
    match end {
        End::Abort => {
            let since = Instant::now();
            agent.get("abort");
            since
        }
        End::TimeLimit => {
            agent.until_type("tool_execution_end");
            Instant::now()
        }
        End::CloseOfInput => {
            agent.close_stdin();
            agent.wait();
            Instant::now()
        }
        End::Kill => {
            let since = Instant::now();
            agent.kill();
            since
        }
    }
}

#[track_caller]
fn assert_nothing_outlives(end: End) {
    for level in [Level::Full, Level::Landlock] {
        let mut best = Duration::MAX;
        for number in 0..TRIES {
            let (server, workspace) = Workspace::with_server();
            let workspace = workspace.settings(json!({ "sandbox": { "minimum": "landlock" } }));
            let Some(launch) = levels::launch(level, &workspace) else {
                sandbox_is_missing("it has no namespaces, so the level full was not tried");
                break;
            };
            let mark = format!("{}{}{number}", std::process::id(), end as u8);
            best = best.min(outlived(launch, &server, &workspace, end, &mark));
            if best <= SOON {
                break;
            }
        }
        println!("{end:?} at {level:?}: gone after {best:?}");
        assert!(best <= SOON || best == Duration::MAX, "{end:?} at {level:?}: {best:?}");
    }
}

#[test]
fn nothing_outlives_an_abort() {
    assert_nothing_outlives(End::Abort);
}

#[test]
fn nothing_outlives_a_time_limit() {
    assert_nothing_outlives(End::TimeLimit);
}

#[test]
fn nothing_outlives_the_end_of_the_session() {
    assert_nothing_outlives(End::CloseOfInput);
}

#[test]
fn nothing_outlives_a_kill_of_bowline() {
    assert_nothing_outlives(End::Kill);
}
