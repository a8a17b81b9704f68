//! Servers that crash, hang, lie, flood or leave something behind.

use std::time::Duration;

use serde_json::json;

use crate::world::{World, entry, eventually, run, script, text, with};

#[test]
fn program_that_does_not_exist_is_reported_and_the_others_go_on() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"bad": {"command": "no-such-program"}, "s": entry(&[])}));
        servers.start().await;
        let status = servers.status();
        assert_eq!((status[0].state, status[1].state), ("failed", "ready"));
        assert!(world.notices()[0].contains("no-such-program"), "{:?}", world.notices());
        assert_eq!(text(&world.echo(&servers, "hi").await), "hi");
    });
}

#[test]
fn variable_that_is_not_set_is_named() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"s": with(entry(&[]), "env", json!({"KEY": "$MISSING"}))}));
        servers.start().await;
        let problem = servers.status()[0].problem.clone().unwrap();
        assert_eq!(problem, "the value of env.KEY cannot be used: the variable MISSING is not set");
    });
}

#[test]
fn exit_at_the_start_is_explained_by_what_the_server_wrote_without_its_secrets() {
    run(async {
        let world = World::new();
        let entry =
            with(entry(&["--die-with", "no access for token-from-outside"]), "env", json!({"T": "$TOKEN"}));
        let servers = world.configured(&json!({"s": entry}));
        servers.start().await;
        eventually("it is given up", || servers.status()[0].state == "failed").await;
        let problem = servers.status()[0].problem.clone().unwrap();
        assert_eq!(
            problem,
            "it exited with code 3; its last output: no access for [redacted] (after 3 restarts)"
        );
        assert_eq!(world.notices().len(), 4, "{:?}", world.notices());
        assert!(servers.tools().is_empty());
    });
}

#[test]
fn crash_in_a_call_fails_the_call_and_the_server_is_restarted() {
    run(async {
        let mut world = World::new();
        world.timing.backoff = [Duration::from_millis(500); 3];
        let servers = world.start(&[]).await;
        let outcome = world.call(&servers, "die", json!({})).await;
        assert!(outcome.is_error && text(&outcome).contains("ended before it answered"), "{outcome:?}");
        eventually("it waits", || servers.status()[0].state == "restarting").await;
        let outcome = world.echo(&servers, "x").await;
        assert!(
        text(&outcome).starts_with("The MCP server s is not available: it exited with code 9; its last output: dying on request. It is restarted in 1 s"),
        "{outcome:?}"
    );
        assert!(!servers.tools().is_empty(), "its tools stay listed");
        eventually("it is back", || servers.status()[0].state == "ready").await;
        assert_eq!(text(&world.echo(&servers, "back").await), "back");
    });
}

#[test]
fn server_that_always_crashes_is_given_up() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        for _ in 0..4 {
            eventually("it is ready", || servers.status()[0].state == "ready").await;
            world.call(&servers, "die", json!({})).await;
            eventually("it has ended", || servers.status()[0].state != "ready").await;
        }
        eventually("it is given up", || servers.status()[0].state == "failed").await;
        assert!(servers.tools().is_empty());
        assert!(world.notices().last().unwrap().ends_with("(after 3 restarts)."), "{:?}", world.notices());
    });
}

#[test]
fn silent_server_holds_up_the_start_no_longer_than_the_limit() {
    run(async {
        let mut world = World::new();
        world.timing.start = Duration::from_millis(300);
        world.timing.longest_start = Duration::from_millis(900);
        let servers =
            world.configured(&json!({"slow": entry(&["--hang-at", "initialize"]), "s": entry(&[])}));
        let began = std::time::Instant::now();
        servers.start().await;
        assert!(began.elapsed() < Duration::from_millis(800));
        eventually("the other one is ready", || servers.status()[1].state == "ready").await;
        assert!(world.notices()[0].contains("slow is not ready after"), "{:?}", world.notices());
        eventually("it is given up in the end", || servers.status()[0].state == "failed").await;
    });
}

#[test]
fn late_server_is_added_when_it_is_ready() {
    run(async {
        let mut world = World::new();
        world.timing.start = Duration::from_millis(50);
        let servers = world.configured(&json!({"s": entry(&["--delay", "0.5"])}));
        servers.start().await;
        assert!(servers.tools().is_empty());
        eventually("it is ready", || !servers.tools().is_empty()).await;
        assert_eq!(*world.events.changes.lock().unwrap(), 1);
    });
}

#[test]
fn garbage_on_stdout_is_ignored() {
    run(async {
        let world = World::new();
        let servers = world.start(&["--garbage", "--noise"]).await;
        assert_eq!(text(&world.echo(&servers, "hi").await), "hi");
    });
}

#[test]
fn floods_cost_the_server() {
    run(async {
        let world = World::new();
        for (flag, expected) in [
            ("--flood", "it sent a message of more than 16 MB"),
            ("--flood-lines", "it wrote more than 8 MB to stdout that are no messages of the protocol"),
        ] {
            world.events.notices.lock().unwrap().clear();
            let servers = world.start(&[flag]).await;
            eventually("it is stopped", || world.notices().iter().any(|notice| notice.contains(expected)))
                .await;
            servers.stop().await;
        }
    });
}

#[test]
fn flood_of_notifications_leaves_room_for_others() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"loud": entry(&["--flood-log"]), "s": entry(&[])}));
        servers.start().await;
        let began = std::time::Instant::now();
        for _ in 0..10 {
            assert_eq!(text(&world.echo(&servers, "hi").await), "hi");
        }
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        servers.stop().await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_behind() {
    run(async {
        let world = World::new();
        let pid = world.path("pid");
        let flags = ["--daemon", pid.to_str().unwrap(), "--ignore-eof"];
        let servers = world.start(&flags).await;
        let process = std::fs::read_to_string(&pid).unwrap();
        let is_alive = || std::path::Path::new(&format!("/proc/{process}/cmdline")).exists();
        assert!(is_alive());
        servers.stop().await;
        eventually("the daemon is dead", || !is_alive()).await;
    });
}

#[test]
fn what_is_no_server_is_explained() {
    run(async {
        let world = World::new();
        let shell = |line: &str| json!({"command": "sh", "args": ["-c", line]});
        let servers = world.configured(&json!({
        "closes": shell("exec >&-; sleep 5"),
        "refuses": shell(r#"read line; echo '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}'; cat > /dev/null"#),
        "answers": shell(r#"read line; echo '{"jsonrpc":"2.0","id":0,"result":{"what":1}}'; cat > /dev/null"#),
    }));
        servers.start().await;
        let problems: Vec<String> =
            servers.status().iter().filter_map(|status| status.problem.clone()).collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("it closed"), "{problems:?}");
        assert_eq!(problems[1], "it refused to start a session: no (code -1)");
        assert!(problems[2].contains("it does not speak the protocol"), "{problems:?}");
        assert!(script().exists());
        servers.stop().await;
    });
}
