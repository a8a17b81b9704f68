//! `bowline sessions` and `--fork`.

use std::fs::OpenOptions;
use std::io::Write as _;

use bowline_testkit::{Finished, Launch, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

/// Creates a session with a name and returns its id.
fn make_session(server: &ModelServer, workspace: &Workspace, name: &str) -> String {
    server.reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("do something");
    agent.carry_out(json!({ "type": "set_session_name", "name": name }));
    let id = agent.get("get_state")["sessionId"].as_str().unwrap().to_owned();
    agent.finish();
    id
}

fn sessions(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["sessions"]).arguments(arguments).run()
}

#[test]
fn sessions_are_listed_shown_and_deleted() {
    let (server, workspace) = Workspace::with_server();
    let first = make_session(&server, &workspace, "one");
    let second = make_session(&server, &workspace, "two");
    let listed = sessions(&workspace, &["list"]).stdout;
    assert!(listed.contains(&first) && listed.contains("one") && listed.contains("two"), "{listed}");
    let found = sessions(&workspace, &["list", "--all", "--search", "TWO", "--json"]).stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        (&found["id"], &found["name"], &found["messageCount"]),
        (&json!(second), &json!("two"), &json!(2))
    );
    assert_eq!(found["firstMessage"], "do something");
    let shown: Value =
        serde_json::from_str(&sessions(&workspace, &["show", &first, "--json"]).stdout).unwrap();
    assert_eq!((&shown["name"], &shown["userMessages"]), (&json!("one"), &json!(1)));
    assert_eq!(shown["byModel"][0]["model"], "m1");
    assert_eq!(sessions(&workspace, &["rm", &first]).code, 0);
    assert!(!sessions(&workspace, &["list"]).stdout.contains(&first));
    let gone = sessions(&workspace, &["show", &first]);
    assert_eq!((gone.code, gone.stdout.as_str()), (1, ""), "errors go to stderr");
}

#[test]
fn session_in_use_is_not_deleted() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("do something");
    let id = agent.get("get_state")["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(sessions(&workspace, &["rm", &id]).code, 1);
    assert_eq!(workspace.session_files().len(), 1);
    agent.finish();
}

#[test]
fn fsck_finds_damage_and_moves_it_aside() {
    let (server, workspace) = Workspace::with_server();
    make_session(&server, &workspace, "one");
    assert_eq!(sessions(&workspace, &["fsck"]).code, 0);
    let path = workspace.session_files().remove(0);
    let whole = std::fs::read(&path).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"not json\n{\"torn").unwrap();
    let found = sessions(&workspace, &["fsck"]);
    assert_eq!(found.code, 1);
    assert!(
        found.stdout.contains("is not JSON") && found.stdout.contains("is incomplete"),
        "{}",
        found.stdout
    );
    assert_eq!(sessions(&workspace, &["fsck", "--repair"]).code, 0);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    let aside = std::fs::read_to_string(format!("{}.bad", path.display())).unwrap();
    assert!(aside.contains("not json") && aside.contains("{\"torn"), "{aside}");
}

#[test]
fn fork_flag_copies_another_session() {
    let (server, workspace) = Workspace::with_server();
    let id = make_session(&server, &workspace, "one");
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--fork", &id]).start();
    let state = agent.get("get_state");
    assert_ne!(state["sessionId"], json!(id));
    assert_eq!(state["sessionName"], "one");
    assert_eq!(agent.get("get_messages")["messages"].as_array().unwrap().len(), 2);
    agent.finish();
}

#[test]
fn transcript_shows_messages_and_tool_calls_without_obeying_their_escapes() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("Looking.").tool("bash", json!({ "command": "echo one; echo two" })));
    server.reply(Reply::text("\u{1b}[2Jdone\u{9b}31m\n\nreally"));
    let mut agent = workspace.start();
    agent.run("say\u{1b}]0;title\u{7} hello");
    agent.carry_out(json!({ "type": "set_session_name", "name": "na\u{1b}[31mme" }));
    let id = agent.get("get_state")["sessionId"].as_str().unwrap().to_owned();
    agent.finish();
    let shown = sessions(&workspace, &["show", &id]).stdout;
    for expected in [
        "na\\u001b[31mme",
        "\n  say\\u001b]0;title\\u0007 hello\n",
        "\n  Looking.\n  > bash echo one; echo two (2 lines)\n",
        "\n  \\u001b[2Jdone\\u009b31m\n\n  really\n",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in {shown:?}");
    }
    let listed = sessions(&workspace, &["list"]).stdout;
    assert!(listed.contains("na\\u001b[31mme"), "{listed:?}");
    for text in [shown, listed] {
        assert!(!text.contains(|character: char| character.is_control() && character != '\n'), "{text:?}");
    }
}

#[test]
fn times_are_those_of_the_time_zone() {
    let (server, workspace) = Workspace::with_server();
    let id = make_session(&server, &workspace, "one");
    let created = |zone: &str| {
        let launch = Launch::bowline(&workspace).environment("TZ", zone);
        let shown = launch.arguments(&["sessions", "show", &id]).run().stdout;
        let line = shown.lines().find_map(|line| line.strip_prefix("created")).unwrap().trim();
        let (hour, minute) = line.rsplit_once(' ').unwrap().1.split_once(':').unwrap();
        hour.parse::<i32>().unwrap() * 60 + minute.parse::<i32>().unwrap()
    };
    assert_eq!((created("UTC-3") - created("UTC")).rem_euclid(24 * 60), 180);
}
