//! Images in prompts: large ones are resized before the prompt is accepted, small ones are sent unchanged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bowline_testkit::{
    Agent, Api, Gate, ModelServer, Reply, Workspace, announced, assert_well_formed, of_type,
    session_messages, types,
};
use serde_json::{Value, json};

const NOTE: &str = "[Image: original 2400x600, displayed at 2000x500. Multiply coordinates by 1.20 to map to original image.]";

/// Returns a PNG of a given size as message content.
fn image(width: u32, height: u32) -> Value {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&vec![99; (width * height) as usize]).unwrap();
    json!({ "type": "image", "data": BASE64.encode(file), "mimeType": "image/png" })
}

/// Returns the width and height of a PNG in a message.
fn size(image: &Value) -> (u32, u32) {
    let file = BASE64.decode(image["data"].as_str().unwrap()).unwrap();
    let info = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap().info().clone();
    (info.width, info.height)
}

fn prompt(id: &str, images: &[Value]) -> Value {
    json!({ "id": id, "type": "prompt", "message": "Look", "images": images })
}

fn send_together(agent: &mut Agent, commands: &[Value]) {
    let lines: String = commands.iter().map(|command| format!("{command}\n")).collect();
    agent.send_raw(lines.as_bytes());
}

#[test]
fn large_image_is_resized_and_the_model_is_told() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let (large, small) = (image(2400, 600), image(40, 30));
    agent.send(prompt("p", &[large.clone(), small.clone()]));
    assert_eq!(agent.next()["success"], true, "the answer comes first");
    let records = agent.collect_until_settled();
    assert_eq!(records[0]["type"], "agent_start");
    let said = &of_type(&records, "message_start")[0]["message"]["content"];
    assert_eq!(said[0]["text"], format!("Look\n\n{NOTE}"));
    assert_eq!((size(&said[1]), &said[2]), ((2000, 500), &small));
    let stored = session_messages(&workspace.session_files()[0])[0]["content"].clone();
    assert_eq!(&stored, said);
    let sent = server.requests()[0].body.to_string();
    assert!(sent.contains(said[1]["data"].as_str().unwrap()) && sent.contains(NOTE));
    assert!(!sent.contains(large["data"].as_str().unwrap()));
    assert_well_formed(agent.transcript());
}

#[test]
fn image_that_cannot_be_resized_is_omitted_with_a_note() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let gif = [&b"GIF89a"[..], &vec![0; 4_000_000]].concat();
    let gif = json!({ "type": "image", "data": BASE64.encode(gif), "mimeType": "image/gif" });
    agent.send(prompt("p", &[gif]));
    let records = agent.collect_until_settled();
    let said = &of_type(&records, "message_start")[0]["message"]["content"];
    let note = "Look\n\n[Image omitted: could not be converted to a supported inline image format.]";
    assert_eq!(said, &json!([{ "type": "text", "text": note }]));
}

#[test]
fn resizing_can_be_disabled_in_the_settings() {
    let server = ModelServer::start();
    let settings = json!({ "images": { "autoResize": false } });
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
    let mut agent = workspace.start();
    let large = image(2400, 600);
    agent.send(prompt("p", std::slice::from_ref(&large)));
    let records = agent.collect_until_settled();
    let said = &of_type(&records, "message_start")[0]["message"]["content"];
    assert_eq!(said, &json!([{ "type": "text", "text": "Look" }, large]));
}

#[test]
fn commands_during_resizing_see_a_run() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    send_together(
        &mut agent,
        &[
            prompt("1", &[image(2400, 600)]),
            json!({ "id": "2", "type": "prompt", "message": "two" }),
            json!({ "id": "3", "type": "prompt", "message": "three", "streamingBehavior": "followUp" }),
            json!({ "id": "4", "type": "get_state" }),
        ],
    );
    let refused = agent.response("2");
    assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("busy")));
    assert_eq!(agent.response("3")["data"]["disposition"], "queued");
    assert_eq!(agent.response("4")["data"]["isStreaming"], true);
    assert_eq!(agent.response("1")["data"]["disposition"], "started");
    agent.collect_until_settled();
    assert_eq!(server.requests().len(), 2);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_does_not_wait_for_images() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    send_together(&mut agent, &[prompt("1", &[image(2400, 600)]), json!({ "id": "2", "type": "abort" })]);
    let records = agent.until(|record| record["id"] == "2");
    assert_eq!(types(&records), ["response", "response"]);
    assert_eq!((&records[0]["id"], &records[0]["code"]), (&json!("1"), &json!("cancelled")));
    assert_eq!(agent.get("get_state")["isStreaming"], false);
    agent.run("again");
    assert_eq!(server.requests().len(), 1);
    assert_well_formed(agent.transcript());
}

#[test]
fn prompt_with_images_is_answered_at_end_of_stdin() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.send(prompt("1", &[image(2400, 600)]));
    agent.close_stdin();
    let records = agent.rest();
    assert_eq!(records.iter().filter(|record| record["id"] == "1").count(), 1);
    assert_eq!(agent.wait(), 0);
}

#[test]
fn queued_images_are_resized_and_others_passed_on() {
    let behaviors = [json!({}), json!({}), json!({ "streamingBehavior": "followUp" })];
    for (command, more) in ["steer", "follow_up", "prompt"].into_iter().zip(behaviors) {
        let (server, workspace) = Workspace::with_server();
        let gate = Gate::new();
        server.reply(Reply::text("I begin").gate(&gate));
        let mut agent = workspace.start();
        agent.carry_out(json!({ "type": "prompt", "message": "go" }));
        agent.until_type("message_update");
        let gif = json!({ "type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/gif" });
        let webp = json!({ "type": "image", "data": "UklGRgAAAABXRUJQ", "mimeType": "image/webp" });
        let mut line =
            json!({ "type": command, "message": "Look", "images": [image(2400, 600), gif, webp], "id": "q" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        send_together(&mut agent, &[line, json!({ "type": "steer", "message": "later", "id": "l" })]);
        assert_eq!(agent.response("q")["data"]["disposition"], "queued", "{command}");
        agent.response("l");
        gate.open();
        let records = agent.collect_until_settled();
        let said = announced(&records);
        let said = said.iter().find(|message| message["content"][0]["text"] == format!("Look\n\n{NOTE}"));
        let content = &said.unwrap_or_else(|| panic!("{command}: not resized"))["content"];
        assert_eq!((size(&content[1]), &content[2], &content[3]), ((2000, 500), &gif, &webp), "{command}");
        assert!(server.requests().last().unwrap().body.to_string().contains(NOTE), "{command}");
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn queued_messages_keep_their_order_while_images_are_resized() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let large = image(2400, 600);
    send_together(
        &mut agent,
        &[
            json!({ "type": "steer", "message": "one", "images": [large], "id": "1" }),
            json!({ "type": "steer", "message": "two", "id": "2" }),
            json!({ "type": "get_state", "id": "3" }),
        ],
    );
    let records = agent.until(|record| record["id"] == "2");
    let last = of_type(&records, "queue_update").pop().unwrap();
    assert_eq!(last["steering"], json!([format!("one\n\n{NOTE}"), "two"]));
}
