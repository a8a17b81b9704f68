//! Attachments of messages in the dialects of pi's family, as the first pi documented them.

use bowline_testkit::{Agent, Gate, Launch, Reply, Workspace, announced, session_messages};
use serde_json::{Value, json};

fn attachments() -> Value {
    json!([
        { "id": "one", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 2, "content": "aGk=", "preview": "cHJl" },
        { "id": "two", "type": "document", "fileName": "report.pdf", "mimeType": "application/pdf", "size": 4,
          "content": "JVBERg==", "extractedText": "what the report says" },
    ])
}

/// Checks what became of the attachments of a message.
#[track_caller]
fn check_message(message: &Value) {
    assert_eq!(message["attachments"], attachments(), "{message}");
    assert_eq!(message["content"][1], json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" }));
    assert!(message["content"][2]["text"].as_str().unwrap().contains("what the report says"));
}

/// Returns the user messages that were announced, and waits for the end of the run.
fn user_messages(agent: &mut Agent) -> Vec<Value> {
    let records = agent.until_type("agent_end");
    announced(&records).into_iter().filter(|message| message["role"] == "user").collect()
}

#[test]
fn attachments_reach_the_model_and_stay_on_the_message() {
    for dialect in ["pi", "pi-classic", "omp"] {
        let (server, workspace) = Workspace::with_server();
        let mut agent = Launch::rpc(&workspace).model("mock/m1").dialect(dialect).start_greeted();
        agent.send(json!({ "type": "prompt", "message": "look", "attachments": attachments() }));
        check_message(&user_messages(&mut agent)[0]);
        let sent = server.requests()[0].body.to_string();
        assert!(sent.contains("aGk=") && sent.contains("what the report says"), "{dialect}: {sent}");
        assert!(!sent.contains("cHJl") && !sent.contains("JVBERg=="), "{dialect}: {sent}");
        check_message(&session_messages(&workspace.session_files()[0])[0]);
    }
}

#[test]
fn launch_line_of_the_document_loses_no_attachment() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::bowline(&workspace)
        .program_name("pi")
        .model("mock/m1")
        .arguments(&["--mode", "rpc", "--no-session"])
        .start();
    agent.send(json!({ "type": "prompt", "message": "look", "attachments": attachments() }));
    check_message(&user_messages(&mut agent)[0]);
    assert!(server.requests()[0].body.to_string().contains("what the report says"));
}

#[test]
fn queued_messages_keep_their_attachments() {
    for (command, more) in
        [("steer", json!({})), ("follow_up", json!({})), ("prompt", json!({ "streamingBehavior": "steer" }))]
    {
        let (server, workspace) = Workspace::with_server();
        let gate = Gate::new();
        server.reply(Reply::text("I begin").gate(&gate));
        let mut agent = workspace.start();
        agent.carry_out(json!({ "type": "prompt", "message": "go" }));
        agent.until_type("message_update");
        let mut line = json!({ "type": command, "message": "look", "attachments": attachments() });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.carry_out(line);
        gate.open();
        check_message(user_messages(&mut agent).last().unwrap());
        let sent = server.requests()[1].body.to_string();
        assert!(sent.contains("what the report says"), "{command}: {sent}");
    }
}

#[test]
fn members_that_are_null_are_left_out_and_wrong_ones_refused() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let note = json!({ "type": "document", "extractedText": "x", "preview": null, "mine": { "a": 1 } });
    agent.carry_out(json!({ "type": "prompt", "message": "look", "attachments": [note] }));
    let kept = json!([{ "type": "document", "extractedText": "x", "mine": { "a": 1 } }]);
    assert_eq!(user_messages(&mut agent)[0]["attachments"], kept);
    for attachments in [json!({}), json!(["a.txt"]), json!([{ "type": "document", "content": 7 }])] {
        let error = agent.refuse(json!({ "type": "prompt", "message": "x", "attachments": attachments }));
        assert!(error.contains("\"attachments\""), "{error}");
    }
}
