//! Signals, outputs that nobody reads, and a stdin that stays open.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Reply, Workspace, bowline};
use serde_json::json;

use crate::actor::{Actor, hooks};

const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a run in a shell, with stdout and stderr in files.
fn start(workspace: &Workspace, arguments: &str) -> Agent {
    let line = format!("exec \"$0\" --model mock/m1 {arguments} </dev/null >out 2>err");
    let program = bowline().display().to_string();
    Launch::new("/bin/sh", workspace).arguments(&["-c", &line, &program]).start()
}

fn written(workspace: &Workspace, name: &str) -> String {
    fs::read_to_string(workspace.work().join(name)).unwrap()
}

#[test]
fn interrupt_aborts_and_says_so() {
    for (signal, code) in [(INTERRUPT, 130), (TERMINATE, 143)] {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::text("half").hang_after(1));
        let mut agent = start(&workspace, "-p hi then --output json");
        server.wait_for_requests(1, PATIENCE);
        agent.signal(signal);
        assert_eq!(agent.wait(), code);
        let result: serde_json::Value = serde_json::from_str(&written(&workspace, "out")).unwrap();
        assert_eq!((&result["success"], &result["errorKind"]), (&json!(false), &json!("aborted")));
        assert_eq!(written(&workspace, "err"), "bowline: interrupted\n");
        assert_eq!(server.requests().len(), 1, "the second message does not run");
        agent.assert_no_survivors();
    }
}

#[test]
fn interrupt_kills_the_command_that_runs() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch began; sleep 300" })));
    let mut agent = start(&workspace, "-p hi");
    let deadline = Instant::now() + PATIENCE;
    while !workspace.work().join("began").exists() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    agent.signal(INTERRUPT);
    assert_eq!((agent.wait(), written(&workspace, "out").as_str()), (130, ""));
    agent.assert_no_survivors();
}

#[test]
fn interrupt_ends_the_wait_for_what_an_extension_never_finishes() {
    for (registration, event, message) in [
        (json!({ "commands": [{ "name": "hang" }] }), "command:hang", "/hang"),
        (hooks(&["agent_end"]), "hook:agent_end", "hi"),
    ] {
        let (server, workspace) = Workspace::with_server();
        server.default_reply(Reply::text("done"));
        let actor = Actor::new(&workspace, "a", registration, json!({ event: [] }));
        let mut agent = start(&workspace, &format!("-p {message}"));
        let kind = event.split(':').next().unwrap();
        actor.wait_for(|record| record["type"] == kind);
        let interrupted = Instant::now();
        agent.signal(INTERRUPT);
        assert_eq!(agent.wait(), 130, "{message}");
        assert!(interrupted.elapsed() < Duration::from_secs(10), "{message}");
        agent.assert_no_survivors();
    }
}

/// Runs a command in a terminal and presses Ctrl-C once the file `began` exists. Prints what the terminal showed.
const TERMINAL: &str = "
import os, pty, sys, time
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while not os.path.exists('began'):
    time.sleep(0.005)
os.write(terminal, b'\\x03')
shown = b''
try:
    while part := os.read(terminal, 4096):
        shown += part
except OSError:
    pass
print(shown.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
";

#[test]
fn control_c_in_a_terminal_ends_the_run() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch began; sleep 300" })));
    let program = bowline().display().to_string();
    let arguments = ["-c", TERMINAL, &program, "--model", "mock/m1", "-p", "hi"];
    let finished = Launch::new("python3", &workspace).arguments(&arguments).run();
    assert_eq!(finished.code, 130, "{finished:?}");
    assert!(finished.stdout.contains("bowline: interrupted"), "{finished:?}");
}

#[test]
fn interrupt_ends_the_wait_for_stdin() {
    let workspace = Workspace::empty();
    let mut agent = Launch::bowline(&workspace).arguments(&["-p", "hi", "--model", "scripted/demo"]).start();
    agent.wait_for_stderr("waiting for the end of stdin");
    agent.signal(INTERRUPT);
    assert_eq!(agent.wait(), 130);
}

#[test]
fn events_that_nobody_reads_end_the_run() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("half").hang_after(1));
    let program = bowline().display().to_string();
    let line = "{ \"$0\" --model mock/m1 --mode json -p hi </dev/null; echo $? >code; } | head -n 1 >first";
    let mut agent = Launch::new("/bin/sh", &workspace).arguments(&["-c", line, &program]).start();
    assert_eq!(agent.wait(), 0);
    assert_eq!(written(&workspace, "code"), "1\n");
    assert!(written(&workspace, "first").starts_with("{\"type\":\"session\""));
    agent.assert_no_survivors();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the extension needs the PATH of the test")]
fn answer_precedes_the_end_of_slow_extensions() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let on = json!({ "hook:session_shutdown": [{ "sleep": 1 }, { "result": null }] });
    Actor::new(&workspace, "slow", hooks(&["session_shutdown"]), on);
    let program = bowline();
    let mut child = std::process::Command::new(program)
        .args(["-p", "hi", "--model", "mock/m1"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", workspace.home())
        .current_dir(workspace.work())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");
    assert!(child.try_wait().unwrap().is_none(), "the extension still takes its time");
    assert_eq!(stdout.read_to_string(&mut line).unwrap(), 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
