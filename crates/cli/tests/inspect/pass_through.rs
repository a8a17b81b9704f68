//! Nothing that passes through is changed, held up or lost.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use bowline_testkit::eventually;

use super::inspected::{Inspected, command, run};

/// Bytes of every kind, as long as `length`: no UTF-8, no lines, no end.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

/// Passes bytes through `cat`.
#[track_caller]
fn check(sent: Vec<u8>) {
    let mut inspected = Inspected::start(&["--", "cat"]);
    let mut stdin = inspected.stdin.take().unwrap();
    let expected = sent.clone();
    let writer = thread::spawn(move || stdin.write_all(&sent));
    let mut received = Vec::new();
    inspected.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    writer.join().unwrap().unwrap();
    assert!(received == expected, "{} of {} bytes", received.len(), expected.len());
    let (_, code, _) = inspected.finish();
    assert_eq!(code, Some(0));
}

#[test]
fn any_bytes_pass_both_ways_unchanged() {
    check(Vec::new());
    check(b"{\"type\":\"x\"}\r\n\n\xe2\x80\xa8 no line feed".to_vec());
    check(bytes(5_000_000));
}

#[test]
fn line_of_any_length_passes() {
    let mut line = vec![b'x'; 40_000_000];
    line.push(b'\n');
    check(line);
}

#[test]
fn each_line_passes_at_once() {
    let mut inspected = Inspected::start(&["--", "cat"]);
    let mut stdout = BufReader::new(inspected.stdout.take().unwrap());
    for number in 0..100 {
        let sent = format!("{{\"n\":{number}}}\n");
        inspected.send(sent.as_bytes());
        let mut received = String::new();
        stdout.read_line(&mut received).unwrap();
        assert_eq!(received, sent);
    }
}

#[test]
fn agent_in_front_of_it_answers_as_without() {
    let home = tempfile::tempdir().unwrap();
    let commands = b"{\"id\":1,\"type\":\"get_protocol_info\"}\n{\"id\":2,\"type\":\"nonsense\"}\nnot JSON\n";
    let answers = |mut command: Command| {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(commands).unwrap();
        let output = child.wait_with_output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let flags = ["--model", "scripted/demo", "--no-session"];
    let through = answers(command(home.path(), &flags));
    let mut direct = Command::new(bowline_testkit::bowline());
    direct.env_clear().env("HOME", home.path()).current_dir(home.path()).args(["--mode", "rpc"]).args(flags);
    direct.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_eq!(through, answers(direct));
    assert_eq!(through.0.lines().count(), 3);
}

#[test]
fn exit_code_is_the_command_s() {
    let home = tempfile::tempdir().unwrap();
    let code = |script: &str| run(home.path(), &["--", "sh", "-c", script]).status.code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("kill -9 $$"), Some(137));
    assert_eq!(code("kill -TERM $$"), Some(143));
}

#[test]
fn process_that_is_left_behind_does_not_hold_up_the_end() {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(home.path(), &["--", "sh", "-c", "sleep 300 & echo $!; exit 6"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut id = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut id).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert!(Command::new("kill").arg(id.trim()).status().unwrap().success());
}

#[test]
fn end_of_stdout_is_seen_although_the_agent_goes_on() {
    let mut inspected = Inspected::start(&["--", "sh", "-c", "echo last; exec >&-; read line; exit 2"]);
    let mut text = String::new();
    inspected.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "last\n");
    inspected.send(b"go\n");
    assert_eq!(inspected.finish().1, Some(2));
}

#[test]
fn stderr_passes() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["--", "sh", "-c", "echo one >&2; printf two >&2"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("one\ntwo"), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn signals_are_passed_on() {
    for (signal, code) in [("TERM", 3), ("INT", 4), ("USR1", 5)] {
        let script = format!("trap 'exit {code}' {signal}; echo ready; while :; do sleep 0.01; done");
        let mut inspected = Inspected::start(&["--", "sh", "-c", &script]);
        let mut ready = String::new();
        BufReader::new(inspected.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let id = inspected.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(inspected.child.wait().unwrap().code(), Some(code), "{signal}");
    }
}

#[test]
fn client_that_goes_away_ends_the_command() {
    let mut inspected = Inspected::start(&["--", "yes"]);
    drop(inspected.stdout.take());
    // As without: the pipe is broken.
    assert_eq!(inspected.child.wait().unwrap().code(), Some(128 + 13));
}

#[test]
fn killed_inspector_leaves_no_agent() {
    let mut inspected = Inspected::start(&["--", "sh", "-c", "echo $$; exec cat"]);
    let mut id = String::new();
    BufReader::new(inspected.stdout.take().unwrap()).read_line(&mut id).unwrap();
    let process = format!("/proc/{}", id.trim());
    assert!(Path::new(&process).exists());
    inspected.child.kill().unwrap();
    let is_gone = || !fs::read_to_string(format!("{process}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
    eventually("the agent ends", is_gone);
}

#[test]
fn page_that_never_reads_costs_the_exchange_nothing() {
    let mut inspected = Inspected::start(&["--", "cat"]);
    let request = format!(
        "GET /{}/records?from=0 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        inspected.token, inspected.port
    );
    let mut pages = Vec::new();
    for _ in 0..40 {
        let mut page = inspected.connect();
        // Those beyond the limit are turned away.
        let _ = page.write_all(request.repeat(20).as_bytes());
        pages.push(page);
    }
    let mut stdin = inspected.stdin.take().unwrap();
    let line = format!("{{\"type\":\"x\",\"text\":\"{}\"}}\n", "y".repeat(1000));
    let sent = line.repeat(20_000);
    let length = sent.len();
    let writer = thread::spawn(move || stdin.write_all(sent.as_bytes()));
    let mut received = Vec::new();
    inspected.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(received.len(), length);
    assert_eq!(inspected.finish().1, Some(0));
    drop(pages);
}
