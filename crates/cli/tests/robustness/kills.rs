//! `kill -9` at any moment of a run with tools and compactions.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bowline_session::{BadLine, Problem, Session, check_file};
use bowline_testkit::{Agent, Api, ModelServer, Reply, Usage, Workspace, assert_well_formed, session_lines};
use serde_json::{Value, json};

const KILLS: u32 = 200;
const THREADS: u32 = 8;

const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

/// Starts an agent for a conversation of two prompts, with tools in both, one compaction between turns and one after
/// the run.
fn start() -> (ModelServer, Workspace, Agent) {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .settings(json!({ "compaction": { "keepRecentTokens": 100 } }));
    let pause = Duration::from_millis(1);
    let command = |text: &str| json!({ "command": format!("echo {text}") });
    server.reply(Reply::text("first ").tool("bash", command("one")));
    server.reply(
        Reply::new()
            .deltas(4, 500)
            .delay(pause)
            .tool("write", json!({ "path": "made", "content": "x".repeat(3000) }))
            .tool("bash", command("two"))
            .usage(NEARLY_FULL),
    );
    server.reply(Reply::text("the summary ").deltas(3, 2000).delay(pause));
    server.reply(Reply::new().deltas(10, 200).delay(pause));
    server.reply(Reply::text("third ").tool("read", json!({ "path": "made" })));
    server.reply(Reply::new().deltas(4, 200).usage(NEARLY_FULL));
    server.reply(Reply::text("another summary ").deltas(3, 500));
    let agent = workspace.start();
    (server, workspace, agent)
}

fn prompt(agent: &mut Agent) {
    for (id, message) in [("p1", "go"), ("p2", "go on")] {
        let command =
            json!({ "id": id, "type": "prompt", "message": message, "streamingBehavior": "followUp" });
        agent.send(command);
    }
}

#[test]
fn kill_at_any_moment_loses_nothing_announced() {
    // How long the whole conversation takes here, so that the kills are spread over all of it.
    let (server, workspace, mut agent) = start();
    let started = Instant::now();
    prompt(&mut agent);
    agent.collect_until_settled();
    let length = started.elapsed();
    assert_well_formed(agent.transcript());
    assert_eq!(server.replies_left(), 0);
    let transcript = agent.transcript().to_vec();
    agent.finish();
    assert_eq!(check(&workspace, &transcript), (11, 2), "nothing is missing without a kill either");

    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                for kill in (number..KILLS).step_by(THREADS as usize) {
                    let (_server, workspace, mut agent) = start();
                    prompt(&mut agent);
                    wait_for_moment(&mut agent, kill, length);
                    agent.kill();
                    agent.wait();
                    agent.rest();
                    check(&workspace, agent.transcript());
                }
            });
        }
    });
}

/// Waits for the moment of a kill: after some time or, every other time, right after some record.
fn wait_for_moment(agent: &mut Agent, kill: u32, length: Duration) {
    if kill.is_multiple_of(2) {
        thread::sleep(length * kill / KILLS);
        return;
    }
    // An odd factor visits all remainders: the moments are spread, and the same in each run of the test.
    for _ in 0..kill.wrapping_mul(2_654_435_761) % 150 {
        match agent.next_within(Duration::from_secs(5)) {
            Some(record) if record["type"] != "agent_settled" => {}
            _ => return,
        }
    }
}

/// Checks that the session opens and contains everything announced; returns the number of messages and compactions
/// announced.
#[track_caller]
fn check(workspace: &Workspace, transcript: &[Value]) -> (usize, usize) {
    let files = workspace.session_files();
    let Some(file) = files.first() else {
        assert!(transcript.is_empty(), "messages were announced, but there is no file: {transcript:#?}");
        return (0, 0);
    };
    // Killed between creating the file and the first write: an empty session.
    if fs::metadata(file).unwrap().len() == 0 {
        assert!(transcript.is_empty(), "messages were announced, but the file is empty: {transcript:#?}");
        drop(Session::open(file, Path::new("/")).unwrap());
        return (0, 0);
    }
    let report = check_file(file).unwrap();
    let is_torn = |line: &BadLine| line.problem == Problem::Torn;
    assert!(report.bad_lines.iter().all(is_torn) && report.missing_parents.is_empty(), "{report:?}");
    drop(Session::open(file, Path::new("/")).unwrap());
    assert!(!check_file(file).unwrap().needs_repair());
    let entries: HashMap<_, _> =
        session_lines(file).into_iter().map(|line| (line["id"].to_string(), line)).collect();
    let entry = |id: &Value| entries.get(&id.to_string()).unwrap_or_else(|| panic!("{id} is lost"));
    let (mut messages, mut compactions) = (0, 0);
    for record in transcript {
        match record["type"].as_str().unwrap() {
            "message_end" => {
                messages += 1;
                assert_eq!(entry(&record["entryId"])["message"], record["message"]);
            }
            "compaction_end" if record["result"].is_object() => {
                compactions += 1;
                assert_eq!(entry(&record["result"]["entryId"])["summary"], record["result"]["summary"]);
            }
            "response" if record["data"]["disposition"] == "started" => {
                let is_prompt = |line: &Value| line["message"]["role"] == "user";
                assert!(entries.values().any(is_prompt), "an accepted prompt is lost");
            }
            _ => {}
        }
    }
    (messages, compactions)
}
