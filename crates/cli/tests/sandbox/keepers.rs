//! The process that runs the tools: it is started again when it dies, but not without end.

use std::time::Duration;

use bowline_testkit::{Agent, Launch, Workspace, eventually};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

pub(crate) fn start(workspace: &Workspace) -> Agent {
    Launch::rpc(workspace).arguments(&["--sandbox", "workspace-write"]).start()
}

/// Runs a user-initiated command and returns the response.
pub(crate) fn bash(agent: &mut Agent, command: &str) -> Value {
    agent.ask(json!({ "type": "bash", "command": command }))
}

#[track_caller]
pub(crate) fn output(agent: &mut Agent, command: &str) -> String {
    let response = bash(agent, command);
    response["data"]["output"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}

/// Returns the number of the keeper's outer process.
fn keeper(agent: &mut Agent) -> u32 {
    let report = agent.ask(json!({ "type": "get_sandbox" }));
    u32::try_from(report["data"]["keeper"]["pid"].as_u64().unwrap()).unwrap()
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

#[test]
fn keeper_that_is_killed_fails_its_call_and_the_next_call_gets_a_new_one_three_times() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    let mut seen = Vec::new();
    for death in 1..=3 {
        let process = keeper(&mut agent);
        assert!(!seen.contains(&process));
        seen.push(process);
        agent.send(json!({ "id": "b", "type": "bash", "command": "touch begun; sleep 300" }));
        eventually("the command has begun", || workspace.work().join("begun").exists());
        std::fs::remove_file(workspace.work().join("begun")).unwrap();
        signal(process, Signal::KILL);
        let response = agent.response("b");
        assert_eq!(response["success"], false, "{response}");
        assert!(response["error"].as_str().unwrap().contains("process ended"), "{response}");
        let next = bash(&mut agent, "echo again");
        if death < 3 {
            assert_eq!(next["data"]["output"], "again\n", "{next}");
        } else {
            assert_eq!(next["success"], false, "{next}");
            assert!(next["error"].as_str().unwrap().contains("died 3 times within a minute"), "{next}");
        }
    }
}

#[test]
fn keeper_that_hangs_delays_no_abort() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    let process = keeper(&mut agent);
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    for process in children.split_whitespace().map(|child| child.parse().unwrap()).chain([process]) {
        signal(process, Signal::STOP);
    }
    agent.send(json!({ "id": "b", "type": "bash", "command": "true" }));
    std::thread::sleep(Duration::from_millis(100));
    agent.set_timeout(Duration::from_secs(5));
    let aborted = agent.ask(json!({ "type": "abort_bash" }));
    assert_eq!(aborted["success"], true);
    assert_eq!(agent.ask(json!({ "type": "get_state" }))["success"], true);
    agent.close_stdin();
    agent.rest();
    agent.assert_no_survivors();
}
