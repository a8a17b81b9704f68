//! Addresses that the client serves: the model reads and writes them with the usual tools.

use bowline_testkit::{Agent, Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// The dialects that have them, and the record that ends a run in each.
const DIALECTS: [(&str, &str); 2] = [("pi", "agent_settled"), ("omp", "agent_end")];

fn start(workspace: &Workspace, dialect: &str) -> Agent {
    let launch = Launch::rpc(workspace).model("mock/m1").dialect(dialect);
    let mut agent = if dialect == "omp" { launch.start_greeted() } else { launch.start() };
    let schemes = json!([
        { "scheme": "DB", "description": "rows of the\ndatabase" },
        { "scheme": "notes", "writable": true },
    ]);
    let response = agent.ask(json!({ "type": "set_host_uri_schemes", "schemes": schemes }));
    assert_eq!(response["data"], json!({ "schemes": ["db", "notes"] }));
    agent
}

fn wait_for(agent: &mut Agent, name: &str) -> Value {
    agent.until_type(name).pop().unwrap()
}

fn ended(records: &[Value]) -> (String, bool) {
    let end = of_type(records, "tool_execution_end")[0];
    let blocks = end["result"]["content"].as_array().unwrap();
    let texts: Vec<_> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    (texts.join("|"), end["isError"] == true)
}

#[test]
fn client_is_asked_for_what_the_model_reads() {
    for (dialect, end) in DIALECTS {
        let (server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        server.reply(Reply::new().tool("read", json!({ "path": "db://users", "offset": 2, "limit": 1 })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let request = wait_for(&mut agent, "host_uri_request");
        assert_eq!((&request["operation"], &request["url"]), (&json!("read"), &json!("db://users")));
        assert_eq!(request.get("content"), None);
        agent.send(json!({
            "type": "host_uri_result", "id": request["id"], "content": "one\ntwo\nthree\n",
            "contentType": "text/markdown", "notes": ["as of now"],
        }));
        let (text, is_error) = ended(&agent.until_type(end));
        assert!(!is_error && text.starts_with("two\n") && text.ends_with("|as of now"), "{text}");
        assert!(!text.contains("one") && !text.contains("three"), "{text}");
        let system = server.requests()[0].body["system"].to_string();
        assert!(
            system.contains("read also takes paths that begin with db:// (rows of the database)"),
            "{system}"
        );
    }
}

#[test]
fn client_is_asked_to_write_where_it_may_be_written() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    let write = |path: &str| Reply::new().tool("write", json!({ "path": path, "content": "hello" }));
    server.reply(write("notes://a"));
    server.reply(Reply::text("done"));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    let request = wait_for(&mut agent, "host_uri_request");
    assert_eq!((&request["operation"], &request["content"]), (&json!("write"), &json!("hello")));
    agent.send(json!({ "type": "host_uri_result", "id": request["id"] }));
    assert_eq!(ended(&agent.collect_until_settled()), ("Wrote notes://a.".to_owned(), false));

    let edits = json!([{ "oldText": "a", "newText": "b" }]);
    for (call, expected) in [
        (write("db://a"), "db://a cannot be written: the client only lets it be read."),
        (
            Reply::new().tool("edit", json!({ "path": "notes://a", "edits": edits })),
            "edit does not work on notes://a, which the client serves; it can only be read or written as a whole.",
        ),
    ] {
        server.reply(call);
        server.reply(Reply::text("done"));
        let records = agent.run("go");
        assert_eq!(ended(&records), (expected.to_owned(), true));
        assert!(of_type(&records, "host_uri_request").is_empty());
    }
}

#[test]
fn failures_and_aborts_have_a_text() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    for (answer, expected) in [
        (json!({ "isError": true, "error": "no such row", "content": "x" }), "no such row"),
        (json!({ "isError": true, "content": "gone" }), "gone"),
        (json!({ "isError": true }), "Host URI read failed for db://users"),
    ] {
        server.reply(Reply::new().tool("read", json!({ "path": "db://users" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let request = wait_for(&mut agent, "host_uri_request");
        // A result for a tool does not answer it.
        agent.send(json!({ "type": "host_tool_result", "id": request["id"], "result": { "content": [] } }));
        let mut line = json!({ "type": "host_uri_result", "id": request["id"] });
        line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        agent.send(line);
        assert_eq!(ended(&agent.collect_until_settled()), (expected.to_owned(), true));
    }
    server.reply(Reply::new().tool("read", json!({ "path": "db://users" })));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    let request = wait_for(&mut agent, "host_uri_request");
    agent.send(json!({ "type": "abort" }));
    let records = agent.collect_until_settled();
    assert_eq!(of_type(&records, "host_uri_cancel")[0]["targetId"], request["id"]);
    assert_eq!(ended(&records), ("Host URI read for db://users was aborted".to_owned(), true));
}

#[test]
fn schemes_that_cannot_be_served_are_refused() {
    for (dialect, reserved_by) in [("pi", "bowline"), ("omp", "OMP")] {
        let (_server, workspace) = Workspace::with_server();
        let mut agent = start(&workspace, dialect);
        for (scheme, error) in [
            (json!({}), "Host URI scheme must be a non-empty string".to_owned()),
            (json!({ "scheme": "a b" }), "Host URI scheme contains invalid characters: a b".to_owned()),
            (json!({ "scheme": "9p" }), "Host URI scheme contains invalid characters: 9p".to_owned()),
            (
                json!({ "scheme": "Security" }),
                format!("Host URI scheme is reserved by {reserved_by}: security://"),
            ),
            (json!({ "scheme": "file" }), format!("Host URI scheme is reserved by {reserved_by}: file://")),
        ] {
            let response = agent.ask(json!({ "type": "set_host_uri_schemes", "schemes": [scheme] }));
            assert_eq!(response["error"], error);
        }
    }
}

#[test]
fn scheme_that_nobody_serves_is_a_path() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "pi");
    let response = agent.ask(json!({ "type": "set_host_uri_schemes", "schemes": [] }));
    assert_eq!(response["data"], json!({ "schemes": [] }));
    server.reply(Reply::new().tool("read", json!({ "path": "db://users" })));
    server.reply(Reply::text("done"));
    let (text, is_error) = ended(&agent.run("go"));
    assert!(is_error && text.contains("db://users"), "{text}");
}
