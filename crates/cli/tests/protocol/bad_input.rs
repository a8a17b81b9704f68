//! Bad input costs one line: any bytes get an error response, with the id if one can be found, and the process lives on.

use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, assert_well_formed, of_type, peak_memory_of,
};
use serde_json::{Value, json};

/// Sends a line and a good command after it, and returns the only record that comes before the good one's answer.
#[track_caller]
fn refusal(agent: &mut Agent, line: &[u8]) -> Value {
    agent.send_raw(&[line, b"\n{\"id\":\"good\",\"type\":\"get_state\"}\n"].concat());
    let records = agent.until(|record| record["id"] == "good");
    assert_eq!(records[records.len() - 1]["success"], true);
    let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
    assert_eq!(records.len(), 2, "{shown}: {records:?}");
    let response = records[0].clone();
    assert_eq!((&response["type"], &response["success"]), (&json!("response"), &json!(false)), "{shown}");
    assert!(response["error"].as_str().is_some_and(|error| !error.is_empty()), "{shown}: {response}");
    response
}

/// Returns lines that no dialect can take: a command that breaks off at every byte, and bytes from a generator.
fn broken_lines() -> Vec<Vec<u8>> {
    let command =
        r#"{"id":"é\u2028","type":"prompt","message":"\ud83d\ude00","text":"x","n":[1,-2.5e3,null,true]}"#;
    let mut lines: Vec<Vec<u8>> = (1..command.len()).map(|end| command.as_bytes()[..end].to_vec()).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..500 {
        let length = 1 + next() % 60;
        let bytes =
            (0..length).map(|_| next().to_le_bytes()[0]).map(|byte| if byte == b'\n' { b'{' } else { byte });
        // What it begins with keeps it from being JSON, and from being blank.
        lines.push(std::iter::once(b'}').chain(bytes).collect());
    }
    lines
}

#[test]
fn every_broken_line_gets_one_response_in_every_dialect() {
    let lines = broken_lines();
    for entry in bowline_dialect::DIALECTS {
        let workspace = Workspace::empty();
        let mut agent = Launch::rpc(&workspace).dialect(entry.name).start();
        let mut all = lines.join(&b'\n');
        all.extend_from_slice(b"\n{\"id\":\"good\",\"type\":\"get_protocol_info\"}\n");
        agent.send_raw(&all);
        let mut records = agent.until(|record| record["id"] == "good");
        assert_eq!(records.pop().unwrap()["data"]["dialect"], entry.name);
        let is_refusal = |record: &&Value| record["success"] == false || record["type"] == "error";
        assert_eq!(records.iter().filter(is_refusal).count(), lines.len(), "{}", entry.name);
        let others: Vec<_> = records.iter().filter(|record| !is_refusal(record)).collect();
        assert!(others.len() <= 1, "{}: {others:?}", entry.name);
    }
}

#[test]
fn json_that_is_not_a_command_is_refused() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    for line in ["null", "[]", "42", "-1.5e300", "\"x\"", "{}", "true", "[{\"type\":\"get_state\"}]"] {
        let response = refusal(&mut agent, line.as_bytes());
        assert_eq!(response["error"], "Unknown command: undefined", "{line}");
        assert_eq!(response.get("id"), None);
    }
    for (line, id, name) in [
        (r#"{"id":"7","type":"bogus"}"#, json!("7"), "bogus"),
        (r#"{"type":"","id":7}"#, json!(7), ""),
        (r#"{"id":{"a":1},"type":null}"#, json!({ "a": 1 }), "null"),
        (r#"{"id":"7","type":["prompt"]}"#, json!("7"), "[\"prompt\"]"),
        (r#"{"id":"7","type":"GET_STATE"}"#, json!("7"), "GET_STATE"),
    ] {
        let response = refusal(&mut agent, line.as_bytes());
        assert_eq!((&response["id"], &response["error"]), (&id, &json!(format!("Unknown command: {name}"))));
    }
}

#[test]
fn invalid_json_is_refused_with_its_id_if_readable() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    let lines: [(&[u8], Option<&str>); 14] = [
        (b"not json", None),
        (b"{", None),
        (b"}", None),
        (br#"{"type":"prompt","message":"x"#, None),
        (br#"{"id":"7","type":"prompt","message":"x"#, Some("7")),
        (br#"{"id":"7","type":"#, Some("7")),
        (br#"{"id":"7""#, Some("7")),
        (br#"{"id":"7"#, None),
        (br#"{"id":"7","type":"get_state"} {"id":"8","type":"get_state"}"#, Some("7")),
        (br#"{"id":"7","type":"get_state",}"#, Some("7")),
        (b"{\"id\":\"7\",\"type\":\"prompt\",\"message\":\"\xff\xfe\"}", None),
        (b"\xff\xfe\x00\x01", None),
        (b"\x00", None),
        (b"{\"id\":\"7\",\"type\":\"prompt\",\"message\":\"\x00\"}", Some("7")),
    ];
    for (line, id) in lines {
        let response = refusal(&mut agent, line);
        let shown = String::from_utf8_lossy(line);
        assert_eq!(response["command"], "parse", "{shown}");
        assert_eq!(response.get("id").and_then(Value::as_str), id, "{shown}");
    }
}

#[test]
fn invalid_fields_are_refused_and_unknown_fields_ignored() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    for line in [
        r#"{"id":"7","type":"prompt"}"#,
        r#"{"id":"7","type":"prompt","message":null}"#,
        r#"{"id":"7","type":"prompt","message":5}"#,
        r#"{"id":"7","type":"prompt","message":"x","streamingBehavior":"later"}"#,
        r#"{"id":"7","type":"prompt","message":"x","images":["x"]}"#,
        r#"{"id":"7","type":"bash"}"#,
        r#"{"id":"7","type":"bash","command":["ls"]}"#,
        r#"{"id":"7","type":"set_steering_mode","mode":"weird"}"#,
        r#"{"id":"7","type":"set_auto_retry","enabled":"yes"}"#,
        r#"{"id":"7","type":"switch_session"}"#,
    ] {
        let response = refusal(&mut agent, line.as_bytes());
        assert_eq!((&response["id"], &response["code"]), (&json!("7"), &json!("invalid_argument")), "{line}");
    }
    let response = agent.ask(json!({ "type": "get_state", "unknown": { "field": [1] }, "message": 5 }));
    assert_eq!(response["success"], true);
    assert_eq!(agent.get("get_state")["steeringMode"], "one-at-a-time");
}

#[test]
fn deeply_nested_json_is_one_error() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    let depth = 100_000;
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    for line in [
        open.clone(),
        format!("{open}{close}"),
        objects.clone(),
        format!(r#"{{"id":"7","type":"prompt","message":{open}{close}}}"#),
        format!(r#"{{"id":"7","type":{open}{close}}}"#),
        format!(r#"{{"id":"7","type":"bash","command":"true","extra":{objects}}}"#),
    ] {
        let response = refusal(&mut agent, line.as_bytes());
        let expected = if line.starts_with("{\"id\"") { json!("7") } else { json!(null) };
        assert_eq!(response["id"], expected, "{}", &line[..30]);
    }
    // An id is echoed as it came, so this one is more than the driver would read.
    agent.send_raw(
        format!("{{\"type\":\"get_state\",\"id\":{}1{}}}\n", "[".repeat(100), "]".repeat(100)).as_bytes(),
    );
    assert_eq!(agent.next()["success"], true);
}

#[test]
fn line_over_the_limit_is_refused_and_the_next_one_works() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).arguments(&["--line-limit", "1000"]).start();
    let line = |length: usize| {
        let empty = json!({ "id": "7", "type": "set_session_name", "name": "" }).to_string();
        json!({ "id": "7", "type": "set_session_name", "name": "n".repeat(length - empty.len()) }).to_string()
    };
    agent.send_raw(format!("{}\r\n", line(1000)).as_bytes());
    assert_eq!(agent.response("7")["success"], true);
    agent.next();
    for length in [1001, 100_000, 5_000_000] {
        let response = refusal(&mut agent, line(length).as_bytes());
        assert_eq!(response["command"], "parse");
        assert!(response["error"].as_str().unwrap().contains("1000 bytes"), "{response}");
    }
}

#[test]
fn megabytes_of_garbage_cost_one_line() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    let garbage: Vec<u8> =
        (0..5_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let garbage: Vec<u8> = garbage.into_iter().map(|byte| if byte == b'\n' { b'n' } else { byte }).collect();
    assert_eq!(refusal(&mut agent, &garbage)["command"], "parse");
    agent.send_raw(&garbage);
    agent.close_stdin();
    let records = agent.rest();
    assert_eq!(records.len(), 1);
    assert_eq!((&records[0]["command"], &records[0]["success"]), (&json!("parse"), &json!(false)));
    assert_eq!(agent.wait(), 0);
}

#[test]
fn crlf_is_accepted_and_blank_lines_are_skipped() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send_raw(b"\n\r\n   \n\t\r\n{\"id\":1,\"type\":\"get_state\"}\r\n\n \r\n  {\"id\":2,\"type\":\"get_state\"}  \n");
    for id in [1, 2] {
        let response = agent.next();
        assert_eq!((&response["id"], &response["success"]), (&json!(id), &json!(true)));
    }
    agent.close_stdin();
    assert!(agent.rest().is_empty());
}

#[test]
fn line_sent_byte_by_byte_is_one_command() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    for byte in "{\"id\":\"\u{1f600}\u{2028}\",\"type\":\"get_state\"}\n".as_bytes() {
        agent.send_raw(&[*byte]);
    }
    assert_eq!(agent.next()["id"], "\u{1f600}\u{2028}");
}

#[test]
fn bad_lines_do_not_disturb_a_run() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text(" two"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until(|record| record["assistantMessageEvent"]["type"] == "text_delta");
    refusal(&mut agent, b"\xff\xff");
    refusal(&mut agent, b"null");
    gate.open();
    let records = agent.collect_until_settled();
    assert_eq!(of_type(&records, "message_end")[0]["message"]["content"][0]["text"], "one two");
    assert_well_formed(agent.transcript());
}

#[test]
fn twenty_megabyte_prompt_reaches_the_model_unchanged() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    // The builds that tests drive are slow with so much JSON.
    agent.set_timeout(Duration::from_secs(60));
    let text: String = (0..2_500_000_u32).map(|number| format!("{number:07} ")).collect();
    let records = agent.run(&text);
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    assert_well_formed(agent.transcript());
    assert!(server.requests()[0].body["messages"][0]["content"][0]["text"] == text);
    let peak = peak_memory_of(agent.pid()).unwrap() / 1024;
    assert!(peak < 160, "{peak} MiB for a prompt of 20 MB");
}
