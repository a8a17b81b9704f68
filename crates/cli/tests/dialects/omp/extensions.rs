//! What extensions ask, show and fail at, in omp's records. The extension is a process in Python.

use bowline_testkit::{Agent, Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

const LIBRARY: &str = include_str!("../../../../../sdk/python/bowline_extension.py");
const PROGRAM: &str = include_str!("extension.py");

/// Starts an agent with the extension.
fn start(workspace: &Workspace, variables: &[(&str, &str)]) -> Agent {
    let folder = workspace.home().join("extension");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("bowline_extension.py"), LIBRARY).unwrap();
    let program = folder.join("tested.py");
    std::fs::write(&program, PROGRAM).unwrap();
    let launch = Launch::rpc(workspace).dialect("omp").model("mock/m1");
    let launch = launch.arguments(&["--extension", &program.to_string_lossy()]);
    let launch = variables.iter().fold(launch, |launch, (name, value)| launch.environment(name, value));
    launch.start_greeted()
}

fn is_request(record: &Value) -> bool {
    record["type"] == "extension_ui_request"
}

/// Has the extension open a dialog, answers it, and returns the request with what the extension received.
fn dialog(agent: &mut Agent, method: &str, given: &Value, answer: &Value) -> (Value, Value) {
    agent.send(json!({ "id": "d", "type": "prompt", "message": format!("/dialog {method} {given}") }));
    let mut request = agent.until(is_request).pop().unwrap();
    let id = request["id"].take();
    assert_eq!(id.as_str().unwrap().len(), 16);
    let mut line = json!({ "type": "extension_ui_response", "id": id });
    line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    agent.send(line);
    let received = agent.until(|record| record["method"] == "notify").pop().unwrap();
    let received = serde_json::from_str(received["message"].as_str().unwrap()).unwrap();
    agent.until_type("prompt_result");
    (request, received)
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
fn check_dialog(method: &str, given: Value, request: Value, answers: &[(Value, Value)]) {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    for (answer, expected) in answers {
        let (mut sent, received) = dialog(&mut agent, method, &given, answer);
        assert_eq!(received, *expected, "{answer}");
        let members = sent.as_object_mut().unwrap();
        assert_eq!(members.remove("type"), Some(json!("extension_ui_request")));
        members.remove("id");
        assert_eq!(sent, request);
    }
}

#[test]
fn select_is_answered_with_a_value() {
    check_dialog(
        "select",
        json!({ "title": "Pick", "options": ["a", "b"] }),
        json!({ "method": "select", "title": "Pick", "options": ["a", "b"] }),
        &[
            (json!({ "value": "b" }), json!("b")),
            (json!({ "cancelled": true }), json!(null)),
            (json!({ "confirmed": true }), json!(null)),
        ],
    );
}

#[test]
fn options_and_editors_are_described() {
    check_dialog(
        "select",
        json!({ "title": "Pick", "options": ["a", ["b", "the second"]] }),
        json!({
            "method": "select", "title": "Pick", "options": ["a", "b"],
            "optionDetails": [{}, { "description": "the second" }],
        }),
        &[(json!({ "value": "b" }), json!("b"))],
    );
    check_dialog(
        "editor",
        json!({ "title": "Edit", "prompt_style": true }),
        json!({ "method": "editor", "title": "Edit", "promptStyle": true }),
        &[(json!({ "value": "text" }), json!("text"))],
    );
}

#[test]
fn extension_asks_to_open_a_page_of_the_web_and_nothing_else() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    agent.send(json!({ "type": "prompt", "message": "/display open_url [\"https://example.com/a\"]" }));
    let request = agent.until(is_request).pop().unwrap();
    assert_eq!((&request["method"], &request["url"]), (&json!("open_url"), &json!("https://example.com/a")));
    agent.until_type("prompt_result");
    for other in ["file:///etc/passwd", "javascript:alert(1)", "example.com", ""] {
        agent.send(json!({ "type": "prompt", "message": format!("/display open_url [{other:?}]") }));
        let records = agent.until_type("prompt_result");
        assert!(!records.iter().any(is_request), "{other}");
        let error = of_type(&records, "extension_error")[0]["error"].as_str().unwrap();
        assert!(error.contains("is not an address that begins with https://"), "{error}");
    }
}

#[test]
fn confirm_is_answered_with_yes_or_no() {
    check_dialog(
        "confirm",
        json!({ "title": "Confirm", "message": "Continue?", "timeout": 30 }),
        json!({ "method": "confirm", "title": "Confirm", "message": "Continue?", "timeout": 30_000 }),
        &[
            (json!({ "confirmed": true }), json!(true)),
            (json!({ "confirmed": false }), json!(false)),
            (json!({ "cancelled": true }), json!(false)),
        ],
    );
}

#[test]
fn input_is_answered_with_a_value() {
    check_dialog(
        "input",
        json!({ "title": "Branch name", "placeholder": "feature/..." }),
        json!({ "method": "input", "title": "Branch name", "placeholder": "feature/..." }),
        &[
            (json!({ "value": "feature/rpc-host" }), json!("feature/rpc-host")),
            (json!({ "value": "" }), json!("")),
        ],
    );
}

#[test]
fn editor_is_answered_with_a_value() {
    check_dialog(
        "editor",
        json!({ "title": "Edit", "prefill": "a\nb" }),
        json!({ "method": "editor", "title": "Edit", "prefill": "a\nb" }),
        &[(json!({ "value": "a\nb\nc" }), json!("a\nb\nc")), (json!({ "cancelled": true }), json!(null))],
    );
}

#[test]
fn displays_are_requests_that_nobody_answers() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[("PI_RPC_EMIT_TITLE", "1")]);
    for (call, expected) in [
        (
            "notify [\"done\", \"error\"]",
            json!({ "method": "notify", "message": "done", "notifyType": "error" }),
        ),
        ("set_status [\"k\", \"t\"]", json!({ "method": "setStatus", "statusKey": "k", "statusText": "t" })),
        ("set_status [\"k\", null]", json!({ "method": "setStatus", "statusKey": "k" })),
        (
            "set_widget [\"w\", [\"l\"], \"belowEditor\"]",
            json!({ "method": "setWidget", "widgetKey": "w", "widgetLines": ["l"], "widgetPlacement": "belowEditor" }),
        ),
        ("set_widget [\"w\", null]", json!({ "method": "setWidget", "widgetKey": "w" })),
        ("set_title [\"t\"]", json!({ "method": "setTitle", "title": "t" })),
        ("set_editor_text [\"t\"]", json!({ "method": "set_editor_text", "text": "t" })),
    ] {
        agent.send(json!({ "id": "d", "type": "prompt", "message": format!("/display {call}") }));
        let mut request = agent.until(is_request).pop().unwrap();
        let members = request.as_object_mut().unwrap();
        members.remove("type");
        members.remove("id");
        assert_eq!(request, expected);
        let result = agent.until_type("prompt_result").pop().unwrap();
        assert_eq!((&result["id"], &result["agentInvoked"]), (&json!("d"), &json!(false)));
    }
}

#[test]
fn titles_are_sent_only_to_clients_that_want_them() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    agent.send(json!({ "id": "d", "type": "prompt", "message": "/display set_title [\"t\"]" }));
    let records = agent.until_type("prompt_result");
    assert!(!records.iter().any(is_request), "{records:?}");
}

#[test]
fn dialog_that_times_out_or_is_aborted_has_its_default() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    let received = |records: &[Value]| {
        let notify = records.iter().find(|record| record["method"] == "notify");
        notify.map(|notify| notify["message"].as_str().unwrap().to_owned())
    };
    agent.send(
        json!({ "type": "prompt", "message": "/dialog confirm {\"title\": \"T\", \"timeout\": 0.05}" }),
    );
    let records = agent.until_type("prompt_result");
    assert_eq!(received(&records).as_deref(), Some("false"));
    assert!(!records.iter().any(|record| record["method"] == "cancel"), "a time-out is not announced");

    agent.send(json!({ "type": "prompt", "message": "/dialog input {\"title\": \"T\"}" }));
    let dialog = agent.until(is_request).pop().unwrap();
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    let cancel = records.iter().find(|record| record["method"] == "cancel").unwrap();
    assert_eq!(cancel["targetId"], dialog["id"]);
    assert_ne!(cancel["id"], dialog["id"]);
}

#[test]
fn failures_of_extensions_are_records_of_three_fields() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    agent.send(json!({ "id": "e", "type": "prompt", "message": "/explode" }));
    let records = agent.until_type("prompt_result");
    let error = of_type(&records, "extension_error")[0];
    assert_eq!(error.as_object().unwrap().len(), 4, "{error}");
    assert_eq!((&error["extensionPath"], &error["event"]), (&json!("command:explode"), &json!("command")));
    assert!(error["error"].as_str().unwrap().contains("the command exploded"), "{error}");

    server.reply(Reply::text("fine"));
    let records = super::run(&mut agent, "boom");
    let error = of_type(&records, "extension_error")[0];
    assert_eq!(error["event"], "input");
    assert!(error["extensionPath"].as_str().unwrap().ends_with("tested.py"), "{error}");
    assert!(error["error"].as_str().unwrap().contains("the hook exploded"), "{error}");
}

#[test]
fn extension_can_end_the_process() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, &[]);
    agent.send(json!({ "id": "q", "type": "prompt", "message": "/quit" }));
    assert_eq!(agent.response("q")["success"], true);
    assert_eq!(agent.wait(), 0);
}
