//! The process: how it is found, how it misbehaves, how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline_client::{Client, Error, Event, Outcome, StartError};
use bowline_testkit::{eventually, is_alive};
use serde_json::json;
use tokio::time::timeout;

use crate::trial::{Trial, WAIT, bash};

/// A script that answers everything with success, and misbehaves when it is asked for the text.
fn answering(misbehaving: &str) -> String {
    format!(
        r#"while read -r line; do
  id=${{line#*\"id\":\"}}; id=${{id%%\"*}}
  case $line in
    *get_last_assistant_text*) {misbehaving} ;;
    *get_state*) data='{{"isStreaming":false,"isCompacting":false,"thinkingLevel":"off","steeringMode":"all","followUpMode":"all","sessionId":"s","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"pendingMessageCount":0,"tools":[],"cwd":"/"}}' ;;
    *) data='{{"text":"fine"}}' ;;
  esac
  printf '{{"type":"response","id":"%s","success":true,"data":%s}}\n' "$id" "$data"
done
"#
    )
}

#[tokio::test]
async fn missing_program_says_what_to_do() {
    let error = Client::builder().program("/no/such/bowline").start().await.unwrap_err();
    assert!(matches!(error, StartError::Program { .. }));
    let text = error.to_string();
    assert!(text.starts_with("/no/such/bowline cannot be started: "), "{text}");
    assert!(text.contains("install bowline, put it on the PATH, or name it"), "{text}");
}

#[tokio::test]
async fn program_that_refuses_says_why() {
    let trial = Trial::new();
    let error = trial.client(&[]).argument("--dialect").argument("klingon").start().await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("bowline does not serve: bowline ended with exit status: "), "{text}");
    assert!(text.contains("klingon"), "{text}");
}

#[tokio::test]
async fn killed_process_is_reported_to_everybody() {
    let trial = Trial::new();
    let client = trial.client(&[bash("sleep 60")]).start().await.unwrap();
    let mut events = client.events();
    let waiting = tokio::spawn({
        let connection = client.connection();
        async move { connection.prompt_and_wait("hi").await }
    });
    while !matches!(events.next().await.unwrap().unwrap(), Event::ToolExecutionStart(_)) {}
    kill(client.process_id().unwrap());
    let error = timeout(WAIT, waiting).await.unwrap().unwrap().unwrap_err();
    let ending = error.ending().unwrap();
    assert_eq!((ending.exit_code, ending.was_requested, ending.will_restart), (None, false, false));
    assert_eq!(error.to_string(), "bowline ended with signal: 9 (SIGKILL)");
    while let Ok(event) = events.next().await {
        assert!(event.is_some(), "the events ended without an error");
    }
    assert!(matches!(client.get_state().await, Err(Error::Ended(_))));
    assert_eq!(client.process_id(), None);
    assert_eq!(client.stop().await.reason, "bowline ended with signal: 9 (SIGKILL)");
}

fn kill(process: u32) {
    assert!(
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success()
    );
}

#[tokio::test]
async fn death_comes_with_the_exit_code_and_the_tail_of_stderr() {
    let trial = Trial::new();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let script =
        answering("i=0; while [ $i -lt 3000 ]; do echo \"line $i of many\" >&2; i=$((i+1)); done; exit 7");
    let client = trial
        .script(&script)
        .on_stderr(move |line| seen.lock().unwrap().push(line.to_owned()))
        .start()
        .await
        .unwrap();
    let error = client.get_last_assistant_text().await.unwrap_err();
    let ending = error.ending().unwrap();
    assert_eq!((ending.exit_code, ending.reason.as_str()), (Some(7), "bowline ended with exit status: 7"));
    assert!(ending.stderr.ends_with("line 2998 of many\nline 2999 of many"), "{}", ending.stderr);
    assert!(ending.stderr.starts_with("line "), "{}", ending.stderr);
    assert!(ending.stderr.len() <= 16 * 1024);
    client.stop().await;
    assert_eq!(lines.lock().unwrap().len(), 3000);
}

#[tokio::test]
async fn garbage_on_stdout_costs_nothing() {
    let trial = Trial::new();
    let script = answering(
        r#"echo 'npm WARN no record'; printf '\377\376\n{"no":"type"}\n\n'; data='{"text":"still here"}'"#,
    );
    let client = trial.script(&script).start().await.unwrap();
    let mut events = client.events();
    assert_eq!(client.get_last_assistant_text().await.unwrap().text.unwrap(), "still here");
    client.stop().await;
    let mut garbage = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        let Event::Unknown(value) = event else { panic!("garbage became {event:?}") };
        garbage.push(value);
    }
    assert_eq!(
        garbage,
        [json!("npm WARN no record"), json!("a line that is not UTF-8"), json!({ "no": "type" })]
    );
}

#[tokio::test]
async fn process_that_closes_its_output_is_over() {
    let trial = Trial::new();
    let script = answering("exec >&-; sleep 60");
    let client = trial.script(&script).stop_limit(Duration::from_millis(100)).start().await.unwrap();
    let error = timeout(WAIT, client.get_last_assistant_text()).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Ended(_)), "{error}");
    client.stop().await;
}

/// Such as a shim that starts the real program, and is killed.
#[tokio::test]
async fn process_that_holds_the_output_of_a_dead_one_is_not_waited_for() {
    let trial = Trial::new();
    let script = answering("sleep 60 & echo $! >kept; kill -9 $$");
    let client = trial.script(&script).start().await.unwrap();
    let begun = Instant::now();
    let error = timeout(WAIT, client.get_last_assistant_text()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("signal: 9"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    client.stop().await;
    kill(fs::read_to_string(trial.workspace.work().join("kept")).unwrap().trim().parse().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_the_run_and_its_processes() {
    let trial = Trial::new();
    let client = trial.client(&[bash("echo $$ >process; sleep 60")]).start().await.unwrap();
    let waiting = tokio::spawn({
        let connection = client.connection();
        async move { connection.prompt_and_wait("hi").await }
    });
    let file = trial.workspace.work().join("process");
    eventually("the command runs", || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    let process: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let ending = timeout(WAIT, client.stop()).await.unwrap();
    assert_eq!((ending.exit_code, ending.was_requested), (Some(0), true), "{ending:?}");
    assert_eq!(waiting.await.unwrap().unwrap().outcome, Outcome::Aborted);
    assert!(!is_alive(process));
}

#[tokio::test]
async fn process_that_does_not_end_is_killed() {
    let trial = Trial::new();
    let script = answering("") + "trap '' TERM; while :; do sleep 1; done";
    let client = trial.script(&script).stop_limit(Duration::from_millis(50)).start().await.unwrap();
    let process = client.process_id().unwrap();
    let ending = timeout(WAIT, client.stop()).await.unwrap();
    assert_eq!((ending.exit_code, ending.was_requested), (None, true));
    assert!(!is_alive(process));
}

#[tokio::test]
async fn client_that_is_dropped_stops_its_process() {
    let trial = Trial::new();
    let client = trial.client(&[]).start().await.unwrap();
    let process = client.process_id().unwrap();
    drop(client);
    while is_alive(process) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn end_of_the_runtime_ends_the_process() {
    let trial = Trial::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(trial.client(&[]).start()).unwrap();
    let process = client.process_id().unwrap();
    drop(runtime);
    eventually("the process ends", || !is_alive(process));
    drop(client);
}

#[tokio::test]
async fn program_is_searched_on_the_path_or_named_by_a_variable() {
    let trial = Trial::new();
    let folder = trial.workspace.home().join("bin");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(bowline_testkit::bowline(), folder.join("bowline")).unwrap();
    let named = trial.client(&[]).program_from(Some(folder.join("bowline").into_os_string()));
    assert!(named.start().await.unwrap().stop().await.was_requested);
    let error =
        trial.program(PathBuf::from("bowline")).variable("PATH", "/nowhere").start().await.unwrap_err();
    assert!(error.to_string().starts_with("bowline cannot be started"), "{error}");
    let beside = trial.program(PathBuf::from("/no/such/program")).program_beside(folder.join("other"));
    assert!(beside.no_session().start().await.unwrap().stop().await.was_requested);
    let found = trial.client(&[]).program("bowline").variable("PATH", &folder).start().await.unwrap();
    assert!(Path::new("/proc").join(found.process_id().unwrap().to_string()).exists());
    found.stop().await;
}
