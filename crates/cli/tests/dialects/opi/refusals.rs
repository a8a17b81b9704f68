//! Commands that are refused, and tools that need permission.

use bowline_testkit::{Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::json;

use super::{run, workspace};

#[test]
fn every_command_gets_one_response() {
    let workspace = Workspace::empty();
    let mut agent = Launch::bowline(&workspace).arguments(&["--rpc"]).start();
    agent.next();
    let table = [
        ("not json", "parse"),
        ("[\"abort\"]", "parse"),
        ("{\"type\":\"fly\"}", "parse"),
        ("{\"type\":\"abort\",\"id\":7}", "parse"),
        ("{\"type\":\"prompt\"}", "parse"),
        ("{\"type\":\"prompt\",\"message\":\"no model\"}", "prompt"),
        ("{\"type\":\"set_model\",\"model\":\"x\"}", "set_model"),
        ("{\"type\":\"set_model\",\"model\":\"x:y\"}", "set_model"),
        ("{\"type\":\"set_thinking_level\",\"level\":\"huge\"}", "set_thinking_level"),
        ("{\"type\":\"continue\",\"message\":\"x\"}", "continue"),
        ("{\"type\":\"compact\"}", "compact"),
    ];
    for (line, command) in table {
        agent.send_raw(format!("{line}\n").as_bytes());
        let response = agent.next();
        assert_eq!(response["command"], command, "{line}: {response}");
        assert_eq!((&response["success"], response.get("id")), (&json!(false), None), "{response}");
        assert_eq!(
            command == "parse",
            response["error"].as_str().unwrap().starts_with("failed to parse command: ")
        );
    }
    agent.send(json!({ "type": "set_model", "model": "x:y" }));
    assert_eq!(agent.next()["error"], "unknown model 'y' for provider 'x'");
    agent.get("session_info");
}

#[test]
fn running_agent_refuses_with_opi_errors() {
    let server = ModelServer::start();
    server.reply(Reply::text("I begin").hang_after(1));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("MessageUpdate");
    let busy = "agent is already running; use steer or follow_up to queue messages";
    let table = [
        (json!({ "type": "prompt", "message": "x" }), busy),
        (json!({ "type": "continue", "message": "x" }), busy),
        (json!({ "type": "set_model", "model": "mock:m2" }), "cannot change model while agent is running"),
        (
            json!({ "type": "set_thinking_level", "level": "low" }),
            "cannot change thinking level while agent is running",
        ),
        (json!({ "type": "compact" }), "cannot compact while agent is running"),
        (json!({ "type": "session_info" }), "cannot query session info while agent is running"),
    ];
    for (command, error) in table {
        assert_eq!(agent.refuse(command), error);
    }
}

#[test]
fn mutating_tool_needs_permission() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("ok"));
    let workspace = workspace(&server);
    let tools = |arguments: &[&str]| {
        let mut agent =
            Launch::rpc(&workspace).dialect("opi").model("mock/m1").arguments(arguments).start_greeted();
        run(&mut agent, "go");
        let body = server.requests().pop().unwrap().body;
        let names = body["tools"].as_array().unwrap().iter();
        names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&[]), ["read", "grep", "find", "ls"]);
    let all = ["read", "bash", "edit", "write", "grep", "find", "ls"];
    assert_eq!(tools(&["--allow-mutating"]), all, "the search tools stay");
    assert_eq!(tools(&["--allow-mutating", "--tools", "bash"]), ["bash"]);
    assert_eq!(tools(&["--tools", "read,ls"]), ["read", "ls"]);
    assert_eq!(tools(&["--tools", "read,glob"]), ["read", "find"], "opi's glob is find here");
    let mut agent = Launch::bowline(&workspace).arguments(&["--rpc", "--tools", "read,write"]).start();
    let records = agent.rest();
    assert_eq!(agent.wait(), 2);
    assert!(of_type(&records, "rpc_ready").is_empty());
    agent.wait_for_stderr("opi: mutating tool 'write' requires --allow-mutating in non-interactive mode");
}
