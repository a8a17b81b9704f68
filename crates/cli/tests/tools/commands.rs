//! What commands get of the environment, how long they may take, and what the model and the disk keep of their output.

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// Variables with a secret name, a secret value, and neither; the last one is the key of the provider `mock`.
const VARIABLES: [(&str, &str); 4] = [
    ("DEPLOY_TOKEN", "t0ken-in-plain-sight"),
    ("PLAIN_ADDRESS", "https://me:hunter2@example.org/"),
    ("ORDINARY", "ordinary"),
    ("NAMED_AT_WILL", "the-key-of-mock"),
];

/// Starts an agent whose provider takes its key from a variable.
fn start(settings: Value) -> (ModelServer, Workspace, Agent) {
    let server = ModelServer::start();
    let provider = json!({ "baseUrl": server.base_url(), "api": "anthropic-messages", "apiKey": "$NAMED_AT_WILL",
        "models": [{ "id": "m1" }] });
    let workspace =
        Workspace::empty().models(json!({ "providers": { "mock": provider } })).settings(settings);
    let launch = Launch::rpc(&workspace).model("mock/m1");
    let agent =
        VARIABLES.iter().fold(launch, |launch, (name, value)| launch.environment(name, value)).start();
    (server, workspace, agent)
}

/// Has the model run a command and returns the text of its result.
#[track_caller]
fn run_tool(agent: &mut Agent, server: &ModelServer, command: &str) -> String {
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    let records = agent.run("go");
    let ends = of_type(&records, "tool_execution_end");
    ends[0]["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Returns which of the variables a command gets, whoever starts it.
#[track_caller]
fn variables_in(agent: &mut Agent, server: &ModelServer) -> Vec<&'static str> {
    let of_model = run_tool(agent, server, "env");
    let of_user = agent.carry_out(json!({ "type": "bash", "command": "env" }));
    let found = |text: &str| -> Vec<_> {
        let is_there =
            |(name, value): &&(&str, &str)| text.lines().any(|line| line == format!("{name}={value}"));
        VARIABLES.iter().filter(is_there).map(|(name, _)| *name).collect()
    };
    let found_by_model = found(&of_model);
    assert_eq!(found(of_user["output"].as_str().unwrap()), found_by_model);
    found_by_model
}

#[test]
fn commands_get_no_secrets_and_are_told_their_names() {
    let (server, _workspace, mut agent) = start(json!({}));
    assert_eq!(variables_in(&mut agent, &server), ["ORDINARY"]);
    let dropped = run_tool(&mut agent, &server, "echo ,$BOWLINE_DROPPED,");
    for name in ["DEPLOY_TOKEN", "PLAIN_ADDRESS", "NAMED_AT_WILL"] {
        assert!(dropped.contains(&format!(",{name},")), "{dropped}");
    }
    let key = ("x-api-key".to_owned(), "the-key-of-mock".to_owned());
    assert!(server.requests().iter().all(|request| request.headers.contains(&key)));
    agent.close_stdin();
    agent.rest();
    agent.wait();
    let stderr = agent.stderr();
    let told = stderr.matches("commands do not get the variables").count();
    assert!(told == 1 && stderr.contains("DEPLOY_TOKEN, "), "{stderr}");
}

#[test]
fn settings_choose_what_commands_get() {
    let check = |environment: Value, expected: &[&str]| {
        let (server, _workspace, mut agent) = start(json!({ "sandbox": { "environment": environment } }));
        assert_eq!(variables_in(&mut agent, &server), expected, "{environment}");
        agent.finish();
    };
    check(json!({ "inherit": "core" }), &[]);
    check(json!({ "inherit": "all" }), &["DEPLOY_TOKEN", "PLAIN_ADDRESS", "ORDINARY", "NAMED_AT_WILL"]);
    check(json!({ "keep": ["DEPLOY_*"] }), &["DEPLOY_TOKEN", "ORDINARY"]);
}

#[test]
fn command_is_killed_after_the_default_time_and_the_model_learns_how_to_ask_for_more() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "commandTimeoutMs": 300 }));
    let mut agent = workspace.start();
    let text = run_tool(&mut agent, &server, "echo begun; sleep 300");
    assert!(text.starts_with("begun\n\n[Timed out after 0.3 seconds, the default limit;"), "{text}");
    assert!(text.contains("set `timeout` to a number of seconds"), "{text}");
    agent.assert_no_survivors();
    // A timeout that the model sets takes precedence, and the user's commands have no limit.
    server.reply(Reply::new().tool("bash", json!({ "command": "sleep 0.6; echo whole", "timeout": 60 })));
    let records = agent.run("go");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"], "whole\n");
    let outcome = agent.carry_out(json!({ "type": "bash", "command": "sleep 0.6; echo whole" }));
    assert_eq!(outcome["output"], "whole\n");
    let tools = &server.requests()[0].body["tools"];
    let bash = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "bash").unwrap();
    let described = &bash["input_schema"]["properties"]["timeout"]["description"];
    assert_eq!(described, "Seconds after which it is killed (default: 0.3)");
}

#[test]
fn model_sees_text_without_terminal_control() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let command =
        r"printf '\033]0;title\007\033[1;32mok\033[0m\n'; printf '10%%\r\033[K50%%\r100%%\ndone\r\n'";
    assert_eq!(run_tool(&mut agent, &server, command), "ok\n100%\ndone\n");
}

/// Has the model print a lot and returns the log.
#[track_caller]
fn log_of(agent: &mut Agent, server: &ModelServer) -> String {
    server.reply(Reply::new().tool("bash", json!({ "command": "seq 5000" })));
    let records = agent.run("go");
    let path = &of_type(&records, "tool_execution_end")[0]["result"]["details"]["fullOutputPath"];
    path.as_str().unwrap().to_owned()
}

#[test]
fn logs_of_a_session_in_memory_are_removed_at_the_end() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--no-session"]).start();
    let log = log_of(&mut agent, &server);
    assert!(Path::new(&log).exists());
    agent.finish();
    assert!(!Path::new(&log).exists());
}

#[test]
fn logs_are_removed_with_their_session() {
    let (server, workspace) = Workspace::with_server();
    let temporary = workspace.home().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let launch = Launch::rpc(&workspace).model("mock/m1");
    let mut agent = launch.environment("TMPDIR", temporary.to_str().unwrap()).start();
    let session = agent.get("get_state")["sessionFile"].clone();
    let log = log_of(&mut agent, &server);
    let user = agent.carry_out(json!({ "type": "bash", "command": "seq 5000" }));
    let log_of_user = user["fullOutputPath"].as_str().unwrap();
    agent.get("new_session");
    let other = log_of(&mut agent, &server);
    assert!(Path::new(&log).exists() && Path::new(log_of_user).exists());
    agent.carry_out(json!({ "type": "delete_session", "sessionPath": session }));
    assert!(!Path::new(&log).exists() && !Path::new(log_of_user).exists() && Path::new(&other).exists());
    let second = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
    agent.finish();
    let removal = Launch::bowline(&workspace).arguments(&["sessions", "rm", &second]);
    let finished = removal.environment("TMPDIR", temporary.to_str().unwrap()).run();
    assert_eq!((finished.code, Path::new(&other).exists()), (0, false), "{finished:?}");
}
