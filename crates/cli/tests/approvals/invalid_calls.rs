//! Calls with arguments that their tools do not accept. Nobody is asked about them, so that nothing is agreed to by them.

use bowline_testkit::{Launch, Reply, Workspace};
use serde_json::{Value, json};

use crate::{prompt, results};

/// Has the model call a tool with each of these arguments and then end; returns what was asked, answered with yes for
/// the session, and what the model read.
fn called(tool: &str, arguments: &[Value]) -> (Vec<Value>, Vec<String>, Workspace) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "approvals": { "dialogChoices": "full" } })).file("src/a", "");
    for arguments in arguments {
        server.reply(Reply::new().tool(tool, arguments.clone()));
    }
    server.reply(Reply::text("done"));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--ask", "untrusted"]).start();
    prompt(&mut agent);
    let mut asked = Vec::new();
    loop {
        let record = agent
            .until(|record| record["type"] == "extension_ui_request" || record["type"] == "agent_settled");
        let record = record.last().cloned().unwrap();
        if record["type"] == "agent_settled" {
            break;
        }
        agent.send(json!({ "type": "extension_ui_response", "id": record["id"], "value": "Session" }));
        asked.push(record);
    }
    let results = results(agent.transcript());
    (asked, results, workspace)
}

#[test]
fn bash_without_a_command_is_refused_before_anybody_is_asked() {
    let invalid =
        [json!({}), json!({ "cmd": "ls" }), json!({ "command": ["ls"] }), json!({ "command": null })];
    let (asked, results, _workspace) = called("bash", &invalid);
    assert!(asked.is_empty(), "{asked:?}");
    assert!(results.iter().all(|result| result.contains("its arguments are invalid")), "{results:?}");
    assert_eq!(results.len(), invalid.len());
}

#[test]
fn write_without_a_path_is_refused_and_one_of_a_folder_allows_nothing_else() {
    let calls = [
        json!({ "content": "x" }),
        json!({ "path": "", "content": "x" }),
        json!({ "path": ".", "content": "x" }),
        json!({ "path": "src", "content": "x" }),
        json!({ "path": "src/b", "content": "x" }),
    ];
    let (asked, results, workspace) = called("write", &calls);
    assert_eq!(asked.len(), 4, "each one that could run is asked about: {asked:?}");
    let options = asked.iter().map(|question| question["options"].as_array().unwrap().len());
    assert_eq!(options.collect::<Vec<_>>(), [3, 3, 3, 4], "no rule stands for a folder");
    assert!(results[0].contains("- path: missing"), "{results:?}");
    assert!(workspace.work().join("src/b").exists());
}

#[test]
fn invalid_call_does_not_keep_the_next_one_from_being_asked_about() {
    let (asked, _results, _workspace) = called("bash", &[json!({}), json!({ "command": "touch a" })]);
    assert_eq!(asked.len(), 1);
    assert!(asked[0]["title"].as_str().unwrap().contains("touch a"), "{asked:?}");
}
