//! Tools that the client supplies, in the dialects that have them.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// The dialects with host tools, and the record that ends a run in each.
const DIALECTS: [(&str, &str); 2] = [("pi", "agent_settled"), ("omp", "agent_end")];

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn lookup() -> Value {
    tool("lookup", "Looks something up.")
}

fn tool(name: &str, description: &str) -> Value {
    let properties = json!({ "key": { "type": "string" } });
    json!({ "name": name, "label": "Look up", "description": description, "parameters": { "type": "object", "properties": properties } })
}

fn start(workspace: &Workspace, dialect: &str) -> Agent {
    let launch = Launch::rpc(workspace).model("mock/m1").dialect(dialect);
    if dialect == "omp" { launch.start_greeted() } else { launch.start() }
}

/// Offers tools and returns the response.
#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
fn offer(agent: &mut Agent, tools: Value) -> Value {
    agent.ask(json!({ "type": "set_host_tools", "tools": tools }))
}

/// Waits for a record and returns it.
fn wait_for(agent: &mut Agent, name: &str) -> Value {
    agent.until_type(name).pop().unwrap()
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Returns the text of the newest tool result that the model was sent.
fn result_text(server: &ModelServer) -> String {
    let request = server.requests().pop().unwrap();
    request.body["messages"].as_array().unwrap().last().unwrap()["content"][0]["content"].to_string()
}

#[test]
fn client_runs_its_tool_and_the_model_reads_the_result() {
    for (dialect, end) in DIALECTS {
        let (server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        assert_eq!(offer(&mut agent, json!([lookup()]))["data"], json!({ "toolNames": ["lookup"] }));
        server.reply(Reply::new().tool("lookup", json!({ "key": "a" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let call = wait_for(&mut agent, "host_tool_call");
        assert_eq!((&call["toolName"], &call["arguments"]), (&json!("lookup"), &json!({ "key": "a" })));
        assert!(!call["toolCallId"].as_str().unwrap().is_empty());
        let id = call["id"].clone();
        assert_eq!(id.as_str().unwrap().len(), if dialect == "pi" { 36 } else { 16 });

        let partial = text("half of it");
        agent.send(json!({ "type": "host_tool_update", "id": id, "partialResult": partial }));
        let update = wait_for(&mut agent, "tool_execution_update");
        assert_eq!((&update["partialResult"], &update["toolCallId"]), (&partial, &call["toolCallId"]));

        let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
        let content = json!([{ "type": "text", "text": "all of it" }, image]);
        let result = json!({ "content": content, "details": { "rows": 3 } });
        agent.send(json!({ "type": "host_tool_result", "id": id, "result": result }));
        let ended = wait_for(&mut agent, "tool_execution_end");
        assert_eq!((&ended["result"], &ended["isError"]), (&result, &json!(false)));
        agent.until_type(end);

        let requests = server.requests();
        let offered = requests[0].body["tools"].as_array().unwrap();
        let seen = offered.iter().find(|tool| tool["name"] == "lookup").unwrap();
        assert_eq!(seen["description"], "Looks something up.");
        assert!(result_text(&server).contains("all of it") && result_text(&server).contains(PIXEL));
        agent.close_stdin();
        assert_eq!(agent.wait(), 0);
    }
}

#[test]
fn calls_run_in_parallel_and_end_in_any_order() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    offer(&mut agent, json!([lookup()]));
    let calls = ["a", "b", "c"].map(|key| json!({ "key": key }));
    server.reply(calls.iter().fold(Reply::new(), |reply, call| reply.tool("lookup", call.clone())));
    server.reply(Reply::text("done"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let mut open: Vec<_> = (0..3).map(|_| wait_for(&mut agent, "host_tool_call")).collect();
    open.reverse();
    for call in open {
        let key = call["arguments"]["key"].as_str().unwrap();
        agent.send(json!({ "type": "host_tool_result", "id": call["id"], "result": text(key) }));
    }
    let records = agent.collect_until_settled();
    let ends = of_type(&records, "tool_execution_end");
    let texts: Vec<_> =
        ends.iter().map(|end| end["result"]["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["c", "b", "a"]);
    let turn = of_type(&records, "turn_end")[0]["toolResults"].as_array().unwrap().clone();
    let texts: Vec<_> = turn.iter().map(|result| result["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "b", "c"]);
}

#[test]
fn abort_cancels_the_call_and_is_answered_at_once() {
    for (dialect, end) in DIALECTS {
        let (server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        offer(&mut agent, json!([lookup()]));
        server.reply(Reply::new().tool("lookup", json!({ "key": "a" })));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let call = wait_for(&mut agent, "host_tool_call");
        let before = Instant::now();
        agent.send(json!({ "id": "a", "type": "abort" }));
        let records = agent.until(|record| record["id"] == "a");
        let took = before.elapsed();
        assert!(took < Duration::from_millis(500), "{took:?}");
        let cancel = of_type(&records, "host_tool_cancel")[0];
        assert_eq!(cancel["targetId"], call["id"]);
        assert_ne!(cancel["id"], call["id"]);
        let ended = of_type(&records, "tool_execution_end")[0];
        assert_eq!(ended["isError"], true);
        assert_eq!(ended["result"]["content"][0]["text"], r#"Host tool "lookup" was aborted"#);
        assert_eq!(of_type(&records, end).len(), 1, "{dialect}");

        // What the client still says about it is ignored.
        agent.send(json!({ "type": "host_tool_result", "id": call["id"], "result": text("late") }));
        assert_eq!(agent.get("get_last_assistant_text")["text"], Value::Null);
        assert_eq!(of_type(agent.transcript(), "tool_execution_end").len(), 1);
    }
}

#[test]
fn client_that_says_nothing_is_not_waited_for_forever() {
    for (dialect, end) in DIALECTS {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(json!({ "hostToolTimeoutMs": 100 }));
        let mut agent = start(&workspace, dialect);
        offer(&mut agent, json!([lookup()]));
        server.reply(Reply::new().tool("lookup", json!({ "key": "a" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let call = wait_for(&mut agent, "host_tool_call");
        let records = agent.until_type(end);
        assert_eq!(of_type(&records, "host_tool_cancel")[0]["targetId"], call["id"]);
        let text = result_text(&server);
        assert!(
            text.contains("timed out: the client sent neither a result nor an update for 0.1 s"),
            "{text}"
        );
    }
}

#[test]
fn tools_outlive_the_session_until_they_are_replaced() {
    for (dialect, _) in DIALECTS {
        let (_server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        let listed = |agent: &mut Agent| -> Vec<String> {
            let state = agent.get("get_state");
            let tools = if dialect == "pi" { &state["tools"] } else { &state["dumpTools"] };
            let name = |tool: &Value| tool["name"].as_str().or(tool.as_str()).unwrap().to_owned();
            tools.as_array().unwrap().iter().map(name).filter(|name| name.starts_with("look")).collect()
        };
        offer(
            &mut agent,
            json!([lookup(), { "name": "look_away", "description": "d", "parameters": {}, "hidden": true }]),
        );
        assert_eq!(listed(&mut agent), ["lookup"]);
        agent.ask(json!({ "type": "new_session" }));
        assert_eq!(listed(&mut agent), ["lookup"]);
        offer(&mut agent, json!([tool("look_up", "Another.")]));
        assert_eq!(listed(&mut agent), ["look_up"]);
        assert_eq!(offer(&mut agent, json!([]))["data"], json!({ "toolNames": [] }));
        assert_eq!(listed(&mut agent), [""; 0]);
    }
}

#[test]
fn tools_that_cannot_be_used_are_refused_and_change_nothing() {
    let many: Vec<_> = (0..257).map(|number| tool(&format!("t{number}"), "d")).collect();
    for (dialect, _) in DIALECTS {
        let (_server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        offer(&mut agent, json!([lookup()]));
        for (tools, error) in [
            (
                json!([lookup(), { "description": "d", "parameters": {} }]),
                "Host tool at index 1 must provide a non-empty name",
            ),
            (
                json!([{ "name": " ", "description": "d", "parameters": {} }]),
                "Host tool at index 0 must provide a non-empty name",
            ),
            (
                json!([{ "name": "x", "description": " ", "parameters": {} }]),
                r#"Host tool "x" must provide a non-empty description"#,
            ),
            (
                json!([{ "name": "x", "description": "d", "parameters": [] }]),
                r#"Host tool "x" must provide a JSON Schema object"#,
            ),
            (
                json!([{ "name": "x", "description": "d" }]),
                r#"Host tool "x" must provide a JSON Schema object"#,
            ),
            (json!([lookup(), lookup()]), "RPC host tool names must be unique"),
            (
                json!([tool("a b", "d")]),
                r#"Host tool at index 0 has the name "a b"; a name has up to 128 letters, digits, "_", "-" and ".""#,
            ),
            (
                json!([tool("x", &"d".repeat(65_537))]),
                r#"The description of host tool "x" has more than 65536 bytes"#,
            ),
            (json!(many), "There are 257 host tools; at most 256 are possible"),
        ] {
            let response = offer(&mut agent, tools);
            assert_eq!((&response["error"], &response["code"]), (&json!(error), &json!("invalid_argument")));
        }
        let state = agent.get("get_state").to_string();
        assert!(state.contains("lookup"), "the tools before are still there");
    }
}

#[test]
fn tool_of_the_client_replaces_a_built_in_one_in_pi_and_is_refused_in_omp() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    assert_eq!(offer(&mut agent, json!([tool("bash", "Runs a command elsewhere.")]))["success"], true);
    server.reply(Reply::new().tool("bash", json!({ "command": "touch here" })));
    server.reply(Reply::text("done"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let call = wait_for(&mut agent, "host_tool_call");
    agent.send(json!({ "type": "host_tool_result", "id": call["id"], "result": text("ran elsewhere") }));
    agent.collect_until_settled();
    assert!(!workspace.work().join("here").exists());
    let tools = server.requests()[0].body["tools"].as_array().unwrap().clone();
    assert_eq!(tools.iter().filter(|tool| tool["name"] == "bash").count(), 1);
    drop(agent);

    let mut agent = start(&workspace, "omp");
    let response = offer(&mut agent, json!([tool("bash", "Runs a command elsewhere.")]));
    assert_eq!(response["error"], r#"RPC host tool "bash" conflicts with an existing tool"#);
}

#[test]
fn selection_of_tools_on_the_command_line_is_about_the_others() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--tools", "read"]).start();
    offer(&mut agent, json!([lookup()]));
    server.reply(Reply::text("done"));
    agent.run("go");
    let tools = server.requests()[0].body["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "lookup"]);
}

#[test]
fn failures_reach_the_model_with_a_text() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    offer(&mut agent, json!([lookup()]));
    for (answer, expected) in [
        (json!({ "result": text("no such key"), "isError": true }), "no such key"),
        (json!({ "result": { "content": [] }, "isError": true }), "Host tool execution failed"),
        (
            json!({ "result": "x" }),
            r#"Host tool "lookup" returned an invalid result: "result" must be an object with a list of "content""#,
        ),
        (
            json!({ "result": { "content": [{ "type": "sound" }] } }),
            r#"Host tool "lookup" returned an invalid result: "result" has a block of "content" at index 0 that is neither of the type "text" nor "image""#,
        ),
        (
            json!({ "result": { "content": vec![json!({ "type": "text", "text": "x" }); 1001] } }),
            r#"Host tool "lookup" returned an invalid result: "result" has more than 1000 blocks of "content""#,
        ),
    ] {
        server.reply(Reply::new().tool("lookup", json!({ "key": "a" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let call = wait_for(&mut agent, "host_tool_call");
        let mut line = json!({ "type": "host_tool_result", "id": call["id"] });
        line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        agent.send(line);
        let records = agent.collect_until_settled();
        let ended = of_type(&records, "tool_execution_end")[0];
        assert_eq!(
            (&ended["result"]["content"][0]["text"], &ended["isError"]),
            (&json!(expected), &json!(true))
        );
    }
}

#[test]
fn reports_about_nothing_are_ignored_and_never_answered() {
    for (dialect, _) in DIALECTS {
        let (_server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        for line in [
            r#"{"type":"host_tool_result","id":"x","result":{"content":[]}}"#,
            r#"{"type":"host_tool_update","id":"x","partialResult":{"content":[]}}"#,
            r#"{"type":"host_uri_result","id":"x","content":"y"}"#,
            r#"{"type":"host_tool_result"}"#,
            r#"{"type":"host_tool_result","id":{"deep":[1]},"result":7}"#,
        ] {
            agent.send_raw(format!("{line}\n").as_bytes());
        }
        let before = agent.transcript().len();
        agent.get("get_state");
        assert_eq!(agent.transcript().len(), before + 1, "{dialect}");
    }
}

#[test]
fn end_of_input_does_not_wait_for_the_client() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "omp");
    offer(&mut agent, json!([lookup()]));
    server.reply(Reply::new().tool("lookup", json!({ "key": "a" })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    wait_for(&mut agent, "host_tool_call");
    let before = Instant::now();
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
}
