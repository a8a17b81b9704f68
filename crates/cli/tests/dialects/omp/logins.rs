//! Logging in to providers: the client asks the user for a key, which is stored in `auth.json`.

use bowline_testkit::{Agent, Launch, Workspace};
use serde_json::{Value, json};

const KEY: &str = "sk-entered-by-the-user";

fn start(workspace: &Workspace) -> Agent {
    Launch::rpc(workspace).dialect("omp").start_greeted()
}

/// Begins a login and returns the requests up to the question for the key.
#[track_caller]
fn begin(agent: &mut Agent, provider: &str) -> Vec<Value> {
    agent.send(json!({ "id": "l", "type": "login", "providerId": provider }));
    agent.until(|record| record["method"] == "input")
}

#[track_caller]
fn answer(agent: &mut Agent, requests: &[Value], answer: &Value) -> Value {
    let mut line = json!({ "type": "extension_ui_response", "id": requests.last().unwrap()["id"] });
    line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    agent.send(line);
    agent.response("l")
}

fn status(agent: &mut Agent, provider: &str) -> Value {
    let listed = agent.get("get_login_providers");
    let found = listed["providers"].as_array().unwrap().iter().find(|found| found["id"] == provider);
    found.cloned().unwrap()
}

#[test]
fn key_that_the_user_enters_is_stored_and_used() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    let expected = |authenticated: bool| json!({ "id": "groq", "name": "Groq", "available": true, "authenticated": authenticated });
    assert_eq!(status(&mut agent, "groq"), expected(false));
    let is_usable = |agent: &mut Agent| agent.get("get_available_models").to_string().contains("\"groq\"");
    assert!(!is_usable(&mut agent));

    let requests = begin(&mut agent, "GROQ");
    assert_eq!(
        (&requests[0]["method"], &requests[0]["url"]),
        (&json!("open_url"), &json!("https://console.groq.com/keys"))
    );
    assert_eq!(requests[1]["title"], "API key of Groq");
    agent.get("get_state");
    let response = answer(&mut agent, &requests, &json!({ "value": format!("  {KEY}\n") }));
    assert_eq!(response["data"], json!({ "providerId": "groq" }));

    assert_eq!(status(&mut agent, "groq"), expected(true));
    assert!(is_usable(&mut agent), "without a restart");
    let path = workspace.configuration().join("auth.json");
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(stored["groq"], json!({ "type": "api_key", "key": KEY }));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let written: String = agent.transcript().iter().map(Value::to_string).collect();
    assert!(!written.contains(KEY) && !agent.stderr().contains(KEY));
}

#[test]
fn login_without_a_key_changes_nothing() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    for given in [json!({ "cancelled": true }), json!({ "value": "  " }), json!({ "confirmed": true })] {
        let requests = begin(&mut agent, "groq");
        let response = answer(&mut agent, &requests, &given);
        assert_eq!(
            (&response["success"], &response["code"]),
            (&json!(false), &json!("cancelled")),
            "{given}"
        );
    }
    let requests = begin(&mut agent, "groq");
    let response = answer(&mut agent, &requests, &json!({ "value": "two\nlines" }));
    assert_eq!(response["code"], "invalid_argument");
    assert!(!workspace.configuration().join("auth.json").exists());
}

#[test]
fn unknown_providers_and_those_without_keys_are_refused() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    assert_eq!(agent.refuse(json!({ "type": "login", "providerId": "x" })), "Unknown OAuth provider: x");
    let error = agent.refuse(json!({ "type": "login", "providerId": "amazon-bedrock" }));
    assert!(error.starts_with("amazon-bedrock cannot be logged in to here"), "{error}");
    assert_eq!(status(&mut agent, "amazon-bedrock")["available"], false);
}

#[test]
fn login_ends_with_an_abort_a_change_of_session_and_the_process() {
    let workspace = Workspace::empty();
    let mut agent = start(&workspace);
    for command in ["abort", "new_session"] {
        let question = begin(&mut agent, "groq").pop().unwrap();
        agent.send(json!({ "id": "c", "type": command }));
        let cancel = agent.until(|record| record["method"] == "cancel").pop().unwrap();
        assert_eq!(cancel["targetId"], question["id"], "{command}");
        let answered = agent.until(|record| record["id"] == "l").pop().unwrap();
        assert_eq!(answered["code"], "cancelled", "{command}");
        if !agent.transcript().iter().any(|record| record["id"] == "c" && record["command"] == command) {
            agent.until(|record| record["id"] == "c");
        }
    }
    begin(&mut agent, "groq");
    agent.finish();
}
