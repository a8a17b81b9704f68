//! Nothing is contacted before the first prompt.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use bowline_testkit::{Agent, Gate, Launch, Reply, Workspace};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

/// Returns how many Internet sockets a process has. Local sockets, such as those with which a runtime wakes itself,
/// are in
/// other tables.
fn internet_sockets(pid: u32) -> usize {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    let inodes: Vec<String> = targets
        .filter_map(|target| {
            let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned();
            Some(inode)
        })
        .collect();
    let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"]
        .map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines
        .filter_map(|line| line.split_whitespace().nth(9))
        .filter(|inode| inodes.iter().any(|own| own == inode))
        .count()
}

/// Sends every query that needs no model.
fn query_everything(agent: &mut Agent, model: &Value) {
    for command in ["get_state", "get_available_models", "get_commands", "get_messages", "get_session_stats"]
    {
        agent.get(command);
        assert_eq!(internet_sockets(agent.pid()), 0, "{command}");
    }
    for command in [
        json!({ "type": "set_model", "provider": model["provider"], "modelId": model["id"] }),
        json!({ "type": "cycle_model" }),
        json!({ "type": "set_thinking_level", "level": "low" }),
        json!({ "type": "set_session_name", "name": "quiet" }),
        json!({ "type": "bash", "command": "true" }),
        json!({ "type": "new_session" }),
    ] {
        agent.carry_out(command.clone());
        assert_eq!(internet_sockets(agent.pid()), 0, "{command}");
    }
}

#[test]
fn nothing_is_contacted_before_the_first_prompt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let workspace = Workspace::empty().models(json!({ "providers": { "mock": { "baseUrl": address,
        "api": "openai-completions", "apiKey": "!echo key", "models": [{ "id": "m1" }, { "id": "m2" }] } } }));
    let mut agent = Launch::rpc(&workspace)
        .model("mock/m1")
        .arguments(&["--models", "mock/*"])
        .environment("HTTP_PROXY", &address)
        .environment("HTTPS_PROXY", &address)
        .environment("BOWLINE_DEBUGGABLE", "1")
        .start();
    query_everything(&mut agent, &json!({ "provider": "mock", "id": "m2" }));
    agent.finish();
    let connection = listener.accept();
    assert!(connection.is_err(), "unexpected connection: {connection:?}");
}

#[test]
fn builtin_providers_are_not_contacted_before_a_prompt() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace)
        .arguments(&["--provider", "anthropic"])
        .environment("ANTHROPIC_API_KEY", "no-real-key")
        .environment("OPENROUTER_API_KEY", "no-real-key")
        .environment("BOWLINE_DEBUGGABLE", "1")
        .start();
    let model = agent.get("get_state")["model"].clone();
    query_everything(&mut agent, &model);
}

#[test]
fn prompt_opens_the_only_socket_and_the_scripted_model_none() {
    let (server, workspace) = Workspace::with_server();
    let gate = Gate::new();
    server.reply(Reply::text("here").gate(&gate));
    let launch = Launch::rpc(&workspace).model("mock/m1");
    let mut agent = launch.environment("BOWLINE_DEBUGGABLE", "1").start();
    agent.carry_out(json!({ "type": "prompt", "message": "hello" }));
    gate.wait_until_reached(LIMIT);
    assert_eq!(internet_sockets(agent.pid()), 1, "otherwise the other tests would prove nothing");
    gate.open();
    agent.collect_until_settled();

    let mut agent =
        Launch::rpc(&workspace).model("scripted/demo").environment("BOWLINE_DEBUGGABLE", "1").start();
    agent.carry_out(json!({ "type": "prompt", "message": "hello" }));
    agent.until_type("turn_end");
    assert_eq!(internet_sockets(agent.pid()), 0);
}
