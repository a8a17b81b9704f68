//! What commands can and cannot do to the process that runs them, and what becomes of them when it ends.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use bowline_testkit::{
    Agent, Launch, ModelServer, Reply, Workspace, assert_well_formed, descendants, eventually, is_alive,
    is_watcher, of_type,
};
use serde_json::json;

/// A user without rights, for tests that root runs.
const NOBODY: u32 = 65_534;

/// Starts a daemon as an attacker would: with two forks, its own session, no environment and no output, so that neither
/// its group nor a variable tells where it comes from, and its parent is the agent, as that of every orphan. Its number is in the file `daemon`.
const DAEMON: &str = "env -i setsid /bin/bash -c '(exec /bin/sleep 300 </dev/null >/dev/null 2>&1 & echo $! > daemon.new; \
    /bin/mv daemon.new daemon)'";

/// Removes both marks from what the shell starts from now on.
const HIDE: &str = "unset BOWLINE_COMMAND; ulimit -S -x 7";

/// Returns the parent of a process.
fn parent_of(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Ends a process that a test left running on purpose.
#[track_caller]
fn end(process: u32) {
    assert!(is_alive(process));
    assert!(
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success()
    );
}

/// Returns the number of the process that a command wrote to a file.
#[track_caller]
fn process_in(path: &Path) -> u32 {
    eventually("the command has started its process", || path.exists());
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

/// Has the model run a command that starts a daemon and does not end, and returns the daemon.
#[track_caller]
fn start_daemon(server: &ModelServer, workspace: &Workspace, agent: &mut Agent) -> u32 {
    start_daemon_with(&format!("{DAEMON}; sleep 301"), server, workspace, agent)
}

#[track_caller]
fn start_daemon_with(command: &str, server: &ModelServer, workspace: &Workspace, agent: &mut Agent) -> u32 {
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let daemon = process_in(&workspace.work().join("daemon"));
    eventually("the daemon is an orphan", || parent_of(daemon) == Some(agent.pid()));
    assert!(is_alive(daemon));
    daemon
}

#[test]
fn abort_kills_a_daemon_that_cleared_its_environment() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let daemon = start_daemon(&server, &workspace, &mut agent);
    agent.get("abort");
    eventually("the daemon is dead", || !is_alive(daemon));
    agent.assert_no_survivors();
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_kills_a_daemon_that_removed_every_mark() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let command = format!("{HIDE}; {DAEMON}; sleep 301");
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let daemon = process_in(&workspace.work().join("daemon"));
    agent.get("abort");
    eventually("the daemon is dead", || !is_alive(daemon));
    agent.assert_no_survivors();
    assert_well_formed(agent.transcript());
}

#[test]
fn end_of_input_kills_a_daemon_that_removed_every_mark() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let daemon = start_daemon_with(&format!("{HIDE}; {DAEMON}; sleep 301"), &server, &workspace, &mut agent);
    agent.close_stdin();
    agent.wait();
    eventually("the daemon is dead", || !is_alive(daemon));
}

#[test]
fn abort_spares_what_earlier_and_parallel_commands_left_running() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let file = workspace.work().join("daemon");
    // Nothing marks the first: it is known to be older.
    agent.carry_out(json!({ "type": "bash", "command": format!("{HIDE}; {DAEMON}") }));
    let earlier = process_in(&file);
    fs::remove_file(&file).unwrap();
    let parallel = format!("until [ -e begun ]; do sleep 0.01; done; {DAEMON}");
    let calls = Reply::new()
        .tool("bash", json!({ "command": parallel }))
        .tool("bash", json!({ "command": format!("{HIDE}; touch begun; (setsid sleep 302 &) ; sleep 301") }));
    server.reply(calls);
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_end");
    let parallel = process_in(&file);
    agent.get("abort");
    eventually("the rest is dead", || {
        agent.survivors().iter().all(|process| [earlier, parallel].contains(process))
    });
    end(earlier);
    end(parallel);
}

#[test]
fn orphan_of_an_aborted_command_dies_when_no_other_command_can_have_left_it() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let waits = "touch begun; until [ -e go ]; do sleep 0.01; done";
    server.reply(Reply::new().tool("bash", json!({ "command": waits })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    eventually("the tool runs", || workspace.work().join("begun").exists());
    agent.send(json!({ "id": "b", "type": "bash", "command": format!("{HIDE}; {DAEMON}; sleep 301") }));
    let daemon = process_in(&workspace.work().join("daemon"));
    eventually("the daemon is an orphan", || parent_of(daemon) == Some(agent.pid()));
    agent.get("abort_bash");
    agent.response("b");
    assert!(is_alive(daemon), "it may be the tool's");
    fs::write(workspace.work().join("go"), "").unwrap();
    agent.collect_until_settled();
    eventually("the daemon is dead", || !is_alive(daemon));
}

#[test]
fn abort_spares_a_command_that_prints_a_key() {
    let server = ModelServer::start();
    let workspace = Workspace::empty();
    let work = workspace.work();
    let key = format!("!cd '{}'; touch asks; until [ -e go ]; do sleep 0.01; done; echo key", work.display());
    let workspace = workspace.models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
        "api": "anthropic-messages", "apiKey": key, "models": [{ "id": "m1" }] } } }));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").start();
    agent.send(json!({ "id": "b", "type": "bash", "command": format!("{HIDE}; {DAEMON}; sleep 301") }));
    let daemon = process_in(&work.join("daemon"));
    server.reply(Reply::text("done"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    eventually("the key is asked for", || work.join("asks").exists());
    agent.get("abort_bash");
    agent.response("b");
    eventually("the daemon is dead", || !is_alive(daemon));
    fs::write(work.join("go"), "").unwrap();
    agent.collect_until_settled();
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn orphans_of_commands_do_not_stay_zombies() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    // Orphans that end while the command runs leave its own exit status alone.
    let bash = agent
        .carry_out(json!({ "type": "bash", "command": "for i in {1..100}; do (true &) ; done; exit 3" }));
    assert_eq!(bash["exitCode"], 3);
    let command = "(setsid sh -c 'echo $$ > new; mv new daemon; until [ -e go ]; do sleep 0.01; done' \
        </dev/null >/dev/null 2>&1 &)";
    agent.carry_out(json!({ "type": "bash", "command": command }));
    let daemon = process_in(&workspace.work().join("daemon"));
    assert_eq!(parent_of(daemon), Some(agent.pid()));
    fs::write(workspace.work().join("go"), "").unwrap();
    let children = format!("/proc/{0}/task/{0}/children", agent.pid());
    eventually("only the watcher is left", || {
        let numbers = fs::read_to_string(&children).unwrap();
        numbers.split_whitespace().all(|number| is_watcher(number.parse().unwrap()))
    });
    assert!(!Path::new(&format!("/proc/{daemon}")).exists());
}

#[test]
fn kill_kills_the_commands_in_progress_with_their_daemons() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let daemon = start_daemon(&server, &workspace, &mut agent);
    let shell = agent.children();
    agent.kill();
    agent.wait();
    eventually("the daemon is dead", || !is_alive(daemon));
    eventually("the command is dead", || !shell.iter().any(|process| is_alive(*process)));
    agent.assert_no_survivors();
}

#[test]
fn kill_spares_what_a_command_left_running_in_the_background() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    server.reply(Reply::new().tool("bash", json!({ "command": DAEMON })));
    agent.run("go");
    let left = process_in(&workspace.work().join("daemon"));
    let watcher = descendants(agent.pid()).into_iter().find(|process| is_watcher(*process)).unwrap();
    agent.kill();
    agent.wait();
    eventually("the watcher has ended", || !is_alive(watcher));
    end(left);
}

#[test]
fn watcher_that_was_killed_is_replaced() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    assert!(!descendants(agent.pid()).into_iter().any(is_watcher), "it is started with the first command");
    agent.carry_out(json!({ "type": "bash", "command": "true" }));
    let watcher = |agent: &Agent| descendants(agent.pid()).into_iter().find(|process| is_watcher(*process));
    let first = watcher(&agent).unwrap();
    end(first);
    eventually("the watcher is dead", || !is_alive(first));
    let daemon = start_daemon(&server, &workspace, &mut agent);
    assert!(watcher(&agent).is_some_and(|second| second != first));
    agent.kill();
    agent.wait();
    eventually("the daemon is dead", || !is_alive(daemon));
}

#[test]
fn watcher_ends_before_the_agent() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "bash", "command": "true" }));
    let watcher = descendants(agent.pid()).into_iter().find(|process| is_watcher(*process)).unwrap();
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    // Reaped, too: not even a zombie is left.
    assert!(!Path::new(&format!("/proc/{watcher}")).exists());
}

/// Ways in which a command may try to reach the descriptors, the environment and the memory of the agent.
const REACH: &str = "for file in /proc/$PPID/fd/* /proc/$PPID/environ /proc/$PPID/mem /proc/$PPID/maps; do
        head -c 1 $file >/dev/null 2>&1 && echo \"read $file\"
        [ -e $file ] && echo '{\"type\":\"agent_settled\"}' 2>/dev/null > $file && echo \"wrote $file\"
    done; ls /proc/$PPID/fd 2>/dev/null; echo done";

#[test]
fn command_reaches_neither_descriptors_nor_environment_nor_memory_of_the_agent() {
    let (server, workspace) = Workspace::with_server();
    // Root may do all of this, whatever a process says.
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let binary = workspace.home().join("bowline");
    let mut launch = Launch::rpc(&workspace);
    if is_root {
        // The build folder may be closed to others.
        fs::copy(bowline_testkit::bowline(), &binary).unwrap();
        launch = Launch::new(&binary, &workspace).arguments(&["--mode", "rpc"]).user(NOBODY, &workspace);
    }
    let mut agent = launch.model("mock/m1").start();
    server.reply(Reply::new().tool("bash", json!({ "command": REACH })));
    let records = agent.run("go");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"], "done\n");
    // What this user's process needs of itself still works.
    agent.send(json!({ "id": "b", "type": "bash", "command": format!("{DAEMON}; sleep 301") }));
    let daemon = process_in(&workspace.work().join("daemon"));
    agent.kill();
    agent.wait();
    eventually("the daemon is dead", || !is_alive(daemon));
}

#[test]
fn a_thousand_calls_run_a_few_at_a_time_and_are_aborted_at_once() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "maxParallelTools": 5 }));
    let mut agent = workspace.start();
    let command = json!({ "command": "setsid sleep 301 >/dev/null 2>&1 & sleep 300; true" });
    server.reply((0..1000).fold(Reply::new(), |reply, _| reply.tool("bash", command.clone())));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    for _ in 0..5 {
        agent.until_type("tool_execution_start");
    }
    // Each command is a shell and two children.
    eventually("the commands run", || agent.survivors().len() == 15);
    let started = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    agent.assert_no_survivors();
    let ends = of_type(&records, "tool_execution_end");
    let not_started =
        ends.iter().filter(|end| end["result"]["content"][0]["text"] == "Aborted before it was started.");
    assert_eq!((ends.len(), not_started.count()), (1000, 995));
    assert_eq!(of_type(agent.transcript(), "tool_execution_start").len(), 1000);
    assert_well_formed(agent.transcript());
}
