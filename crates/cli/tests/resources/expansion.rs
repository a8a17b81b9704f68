//! What a prompt that names a skill or a template becomes.

use std::time::Duration;

use bowline_testkit::{Gate, Launch, ModelServer, Reply, Workspace, announced, of_type};
use serde_json::json;

use crate::with_resources;

/// The example of pi's recording, and what it becomes.
const TEMPLATE: &str = "/tpl one \"two words\" three";
const EXPANDED: &str =
    "Do one and one two words three and two words and two words three and one one two words three .";

/// Returns the texts of the user's messages in the newest request to the model.
fn sent(server: &ModelServer) -> Vec<String> {
    let request = server.requests().pop().unwrap();
    let messages = request.body["messages"].as_array().unwrap();
    let of_user = messages.iter().filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn templates_and_skills_take_the_place_of_their_names() {
    let (server, workspace) = Workspace::with_server();
    let workspace = with_resources(workspace);
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--approve"]).start();
    let records = agent.run(TEMPLATE);
    assert_eq!(announced(&records)[0]["content"], json!([{ "type": "text", "text": EXPANDED }]));
    agent.run("/skill:myskill do it  ");
    let folder = workspace.home().join(".bowline/skills/myskill");
    let skill = format!(
        "<skill name=\"myskill\" location=\"{0}/SKILL.md\">\nReferences are relative to {0}.\n\nBODY of skill\n</skill>\n\ndo it",
        folder.display()
    );
    agent.run("/unknown and /tpl");
    assert_eq!(sent(&server), [EXPANDED, skill.as_str(), "/unknown and /tpl"]);
}

#[test]
fn names_stay_text_where_kinds_are_turned_off_or_the_project_is_not_trusted() {
    let (server, workspace) = Workspace::with_server();
    let workspace = with_resources(workspace);
    let check = |arguments: &[&str], prompt: &str, expected: &str| {
        let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(arguments).start();
        agent.run(prompt);
        assert_eq!(sent(&server), [expected], "{arguments:?}");
    };
    check(&[], TEMPLATE, "user tpl\n");
    check(&["-np"], TEMPLATE, TEMPLATE);
    check(&["-ns"], "/skill:myskill do it  ", "/skill:myskill do it  ");
    check(&["--skills", "ag"], "/skill:myskill", "/skill:myskill");
}

#[test]
fn every_dialect_expands() {
    for dialect in ["pi", "pi-classic", "omp", "opi", "operator", "operator-flat"] {
        let (server, workspace) = Workspace::with_server();
        let workspace = with_resources(workspace);
        let mut agent = Launch::rpc(&workspace)
            .dialect(dialect)
            .model("mock/m1")
            .arguments(&["--approve"])
            .start_greeted();
        agent.send(json!({ "id": "1", "type": "prompt", "message": TEMPLATE }));
        server.wait_for_requests(1, Duration::from_secs(10));
        assert_eq!(sent(&server), [EXPANDED], "{dialect}");
    }
}

#[test]
fn every_way_to_send_a_message_expands() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".bowline/prompts/t.md", "EXPANDED $1");
    let mut agent = workspace.start();
    let gate = Gate::new();
    server.reply(Reply::new().gate(&gate).then_text("hi"));
    agent.carry_out(json!({ "type": "prompt", "message": "/t prompt" }));
    agent.carry_out(json!({ "type": "steer", "message": "/t steer" }));
    agent.carry_out(json!({ "type": "prompt", "message": "/t queued", "streamingBehavior": "steer" }));
    agent.carry_out(json!({ "type": "follow_up", "message": "/t after" }));
    gate.open();
    agent.collect_until_settled();
    assert_eq!(sent(&server), ["prompt", "steer", "queued", "after"].map(|text| format!("EXPANDED {text}")));
    let mut agent = workspace.start_in("omp");
    agent.carry_out(json!({ "type": "abort_and_prompt", "message": "/t instead" }));
    agent.until_type("agent_end");
    assert_eq!(sent(&server), ["EXPANDED instead"]);
    let mut agent = Launch::rpc(&workspace).dialect("opi").model("mock/m1").start_greeted();
    for (command, text) in [("prompt", "hello"), ("continue", "/t continued")] {
        agent.carry_out(json!({ "type": command, "message": text }));
        agent.until_type("AgentEnd");
    }
    assert_eq!(sent(&server).last().unwrap(), "EXPANDED continued");
}

#[test]
fn images_stay_with_an_expanded_message() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".bowline/prompts/t.md", "EXPANDED");
    let mut agent = workspace.start();
    let image = json!({ "type": "image", "data": "iVBORw0KGgoAAAANSUhEUg==", "mimeType": "image/png" });
    agent.carry_out(json!({ "type": "prompt", "message": "/t", "images": [image] }));
    agent.collect_until_settled();
    let content = &server.requests()[0].body["messages"][0]["content"];
    assert_eq!(
        (&content[0]["text"], &content[1]["type"]),
        (&json!("EXPANDED"), &json!("image")),
        "{content}"
    );
}

#[test]
fn skill_that_cannot_be_read_is_reported_and_its_name_sent() {
    let (server, workspace) = Workspace::with_server();
    let long = format!("---\ndescription: d\n---\n{}", "x".repeat(600_000));
    let workspace = workspace.home_file(".bowline/skills/large/SKILL.md", &long);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "/skill:large go" }));
    let records = agent.collect_until_settled();
    let errors = of_type(&records, "extension_error");
    let [error] = &errors[..] else { panic!("{records:?}") };
    assert_eq!(error["event"], "skill_expansion");
    assert!(error["extensionPath"].as_str().unwrap().ends_with("large/SKILL.md"), "{error}");
    assert!(error["error"].as_str().unwrap().contains("larger than"), "{error}");
    assert_eq!(sent(&server), ["/skill:large go"]);
}

#[test]
fn second_prompt_in_the_same_write_finds_the_first_one() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".bowline/prompts/t.md", "EXPANDED");
    let mut agent = workspace.start();
    agent.send_raw(b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"/t\"}\n{\"id\":\"2\",\"type\":\"prompt\",\"message\":\"b\"}\n");
    let (first, second) = (agent.response("1"), agent.response("2"));
    assert_eq!((&first["success"], &second["success"]), (&json!(true), &json!(false)), "{first} {second}");
    agent.collect_until_settled();
    assert_eq!(sent(&server), ["EXPANDED"]);
    agent.send_raw(
        b"{\"id\":\"3\",\"type\":\"prompt\",\"message\":\"/t\"}\n{\"id\":\"4\",\"type\":\"abort\"}\n",
    );
    agent.response("3");
    agent.response("4");
    assert_eq!(agent.get("get_state")["isStreaming"], false);
}
