//! The tool as a model calls it, with real processes. Every test kills what it started.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::testing::{Workshop, report_text, text};

/// Returns whether the process runs; a zombie does not.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits for a file that a command writes, and returns its content.
async fn content_of(path: &Path) -> String {
    for _ in 0..500 {
        match std::fs::read_to_string(path) {
            Ok(content) if content.ends_with('\n') => return content.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} was not written", path.display());
}

#[track_caller]
fn assert_gone(process: &str) {
    for _ in 0..100 {
        if !runs(process) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), Signal::KILL);
    panic!("process {process} was left running");
}

/// Starts a process that leaves its group, session and parent, and writes its number to the file `daemon`.
const DAEMON: &str = "setsid sh -c 'sleep 300 >/dev/null 2>&1 & echo $! > daemon'";

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let workshop = Workshop::new();
    let outcome =
        workshop.call("bash", json!({"command": "echo 1; echo 2 >&2; echo 3; echo $WORKSHOP; pwd"})).await;
    let directory = std::fs::canonicalize(workshop.path()).unwrap();
    assert_eq!(text(&outcome), format!("1\n2\n3\nopen\n{}\n", directory.display()));
    assert_eq!((outcome.details, outcome.is_error), (None, false));
    assert_eq!(workshop.succeed("bash", json!({"command": "cat"})).await, "(no output)");
}

#[tokio::test]
async fn failures_state_how_the_command_ended() {
    let workshop = Workshop::new();
    let run = |command: &str| workshop.fail("bash", json!({"command": command}));
    assert_eq!(run("echo out; exit 3").await, "out\n\n[Exit code 3.]");
    assert_eq!(run("exit 1").await, "(no output)\n\n[Exit code 1.]");
    assert!(run("no-such-command").await.ends_with("[Exit code 127 (command not found).]"));
    assert!(run("kill -SEGV $$").await.contains("was killed by signal 11, SIGSEGV"));
    assert!(run("(exit 137)").await.contains("(128 + signal 9, SIGKILL"));
}

#[tokio::test]
async fn commands_that_cannot_start_are_refused() {
    let mut workshop = Workshop::new();
    for timeout in [json!(0), json!(-1), json!(2_147_484), json!("1e99")] {
        let error = workshop.fail("bash", json!({"command": "true", "timeout": timeout})).await;
        assert!(error.starts_with("timeout must be"), "{error}");
    }
    assert!(workshop.fail("bash", json!({})).await.contains("- command: missing"));
    workshop.options.shell = Some("/no/such/shell".into());
    assert!(workshop.fail("bash", json!({"command": "true"})).await.contains("/no/such/shell"));
    workshop.options.shell = None;
    std::fs::remove_dir(workshop.path()).unwrap();
    assert!(workshop.fail("bash", json!({"command": "true"})).await.contains("working directory"));
}

#[tokio::test]
async fn options_set_the_shell_and_the_prefix() {
    let mut workshop = Workshop::new();
    workshop.options.command_prefix = Some("greeting=hello".into());
    workshop.options.shell = Some("/bin/sh".into());
    assert_eq!(workshop.succeed("bash", json!({"command": "echo $greeting $0"})).await, "hello /bin/sh\n");
}

#[tokio::test]
async fn inherited_mark_is_passed_on_to_the_command() {
    let mut workshop = Workshop::new();
    workshop.options.inherited_mark = Some("outer".into());
    let value = workshop.succeed("bash", json!({"command": "echo $BOWLINE_COMMAND"})).await;
    assert!(value.strip_prefix("outer:").is_some_and(|mark| !mark.trim().is_empty()), "{value}");
}

#[tokio::test]
async fn output_is_reported_while_the_command_runs() {
    let workshop = Workshop::new();
    let command = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done";
    let begin = Instant::now();
    workshop.succeed("bash", json!({"command": command})).await;
    let most = 2 + begin.elapsed().as_millis() / 100;
    let reports = workshop.reports.lock().unwrap();
    assert!(reports[0].content.is_empty() && reports[0].details.is_none());
    assert!(report_text(&reports[1]).starts_with("1\n"));
    assert!(
        reports.len() >= 3 && reports.len() as u128 <= most,
        "{} reports, not up to {most}",
        reports.len()
    );
    for pair in reports[1..].windows(2) {
        assert!(report_text(&pair[1]).starts_with(&report_text(&pair[0])));
    }
}

#[tokio::test]
async fn long_output_is_truncated_and_complete_in_a_file() {
    let workshop = Workshop::new();
    // Ten megabytes, with a character that reads split.
    let command = "yes 'é23456789' | head -c 10000000";
    let outcome = workshop.call("bash", json!({"command": command})).await;
    let details = outcome.details.clone().unwrap();
    let path = Path::new(details["fullOutputPath"].as_str().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("bowline-bash-") && name.len() == "bowline-bash-0123456789abcdef.log".len());
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let log = std::fs::read_to_string(path).unwrap();
    let mut expected = "é23456789\n".repeat(1_000_000);
    expected.truncate(expected.floor_char_boundary(10_000_000));
    assert!(log.trim_end_matches('\u{fffd}') == expected, "{} bytes", log.len());
    assert_eq!(details["truncation"]["totalLines"], 909_091);
    assert_eq!(details["truncation"]["outputLines"], 2000);
    assert!(text(&outcome).contains("[These are lines 907092-909091 of 909091. The full output is in "));
}

#[tokio::test]
async fn endless_output_stops_at_the_timeout() {
    let workshop = Workshop::new();
    let begin = Instant::now();
    let error = workshop.fail("bash", json!({"command": "yes", "timeout": 0.3})).await;
    assert!(begin.elapsed() < Duration::from_secs(3));
    assert!(error.contains("Timed out after 0.3 seconds"), "{}", &error[error.len() - 300..]);
    let largest = workshop.reports.lock().unwrap().iter().map(|report| report_text(report).len()).max();
    assert!(largest.unwrap() <= crate::truncate::MAX_BYTES);
}

#[tokio::test]
async fn timeout_kills_the_whole_tree_and_keeps_the_output() {
    let workshop = Workshop::new();
    let command = format!("echo started; {DAEMON}; sleep 300 & echo $! > child; wait");
    let error = workshop.fail("bash", json!({"command": command, "timeout": 0.3})).await;
    assert!(error.starts_with("started\n\n[Timed out after 0.3 seconds"), "{error}");
    for name in ["daemon", "child"] {
        assert_gone(workshop.file(name).trim());
    }
}

#[tokio::test]
async fn abort_kills_a_grandchild_that_left_session_and_parent() {
    let workshop = Workshop::new();
    let call = tokio::spawn(workshop.call("bash", json!({"command": format!("{DAEMON}; sleep 300")})));
    let daemon = content_of(&workshop.path().join("daemon")).await;
    assert!(runs(&daemon));
    let begin = Instant::now();
    workshop.cancel.cancel();
    let outcome = call.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_eq!(text(&outcome), "(no output)\n\n[Aborted; the command and its children were killed.]");
    assert!(outcome.is_error);
    assert_gone(&daemon);
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_tree() {
    let workshop = Workshop::new();
    let call = tokio::spawn(
        workshop.call("bash", json!({"command": format!("echo $$ > shell; {DAEMON}; sleep 300")})),
    );
    let daemon = content_of(&workshop.path().join("daemon")).await;
    let shell = content_of(&workshop.path().join("shell")).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_gone(&daemon);
    assert_gone(&shell);
}

#[tokio::test]
async fn abort_kills_nothing_else() {
    let mut bystander = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    let (first, second) = (Workshop::new(), Workshop::new());
    let command = json!({"command": "echo $$ > shell; sleep 300"});
    let calls = [&first, &second].map(|workshop| tokio::spawn(workshop.call("bash", command.clone())));
    let other = content_of(&second.path().join("shell")).await;
    content_of(&first.path().join("shell")).await;
    first.cancel.cancel();
    let [call, other_call] = calls;
    call.await.unwrap();
    assert!(runs(&other) && runs(&bystander.id().to_string()));
    second.cancel.cancel();
    other_call.await.unwrap();
    assert_gone(&other);
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// Runs a chain in which each process starts the next one and exits, aborts it, and checks that it stops.
async fn check_breaks_chain(start: &str) {
    let workshop = Workshop::with(&[("chain", start)]);
    let call = tokio::spawn(workshop.call("bash", json!({"command": "bash chain; sleep 300"})));
    content_of(&workshop.path().join("newest")).await;
    workshop.cancel.cancel();
    call.await.unwrap();
    let newest = workshop.path().join("newest");
    let modified = || std::fs::metadata(&newest).unwrap().modified().unwrap();
    let before = modified();
    tokio::time::sleep(Duration::from_millis(200)).await;
    // A chain that survived stops without its file, so that it is not left behind.
    std::fs::remove_file(workshop.path().join("chain")).unwrap();
    assert_eq!(modified(), before, "the chain survived");
}

#[tokio::test]
async fn abort_stops_a_chain_of_processes_in_one_group() {
    check_breaks_chain("echo $$ > newest; sleep 0.01; bash chain > /dev/null 2>&1 &").await;
}

#[tokio::test]
async fn abort_stops_a_chain_of_processes_in_new_sessions() {
    check_breaks_chain("echo $$ > newest; sleep 0.01; setsid bash chain > /dev/null 2>&1 &").await;
}

#[tokio::test]
async fn background_child_neither_delays_the_call_nor_is_killed() {
    let workshop = Workshop::new();
    let begin = Instant::now();
    let command = "(sleep 0.3; echo late; echo alive > proof; sleep 300) & echo $! > child; echo done";
    let output = workshop.succeed("bash", json!({"command": command})).await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let child = content_of(&workshop.path().join("child")).await;
    assert!(output.starts_with("done\n\n[Still running in the background: "), "{output}");
    assert!(output.contains(&format!("(pid {child})")), "{output}");
    // It survives printing after the call, when its output is discarded.
    content_of(&workshop.path().join("proof")).await;
    let inner = std::fs::read_to_string(format!("/proc/{child}/task/{child}/children")).unwrap();
    for process in inner.split_whitespace().chain([child.as_str()]) {
        let _ = kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), Signal::KILL);
    }
    assert_gone(&child);
}

#[tokio::test]
async fn chatty_background_child_does_not_delay_the_call() {
    let workshop = Workshop::new();
    let begin = Instant::now();
    let command = "(while true; do echo more; sleep 0.02; done) & echo $! > child";
    workshop.succeed("bash", json!({"command": command})).await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let child = content_of(&workshop.path().join("child")).await;
    assert!(runs(&child));
    let _ = kill_process(Pid::from_raw(child.parse().unwrap()).unwrap(), Signal::KILL);
    assert_gone(&child);
}
