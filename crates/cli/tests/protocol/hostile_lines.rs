//! Hostile lines: hundreds for each dialect, among them every command with every kind of wrong field. Each gets one
//! response, and the process lives.

use bowline_testkit::{Launch, Protocol, Workspace};
use serde_json::{Value, json};

/// Lines that no dialect can carry out, as text: most are not JSON, or not JSON that fits into memory or a stack.
fn unreadable() -> Vec<String> {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let deep_object = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    let mut lines = Vec::new();
    for value in [
        "1e400".to_owned(),
        "-1e400".to_owned(),
        r#""\ud800""#.to_owned(),
        r#""\udc00x""#.to_owned(),
        r#""\ud83d\u0041""#.to_owned(),
        r#""\x""#.to_owned(),
        "\"\u{0}\"".to_owned(),
        "\"\u{1b}\"".to_owned(),
        "\"\ttab\"".to_owned(),
        "01".to_owned(),
        "+1".to_owned(),
        ".5".to_owned(),
        "NaN".to_owned(),
        "Infinity".to_owned(),
        "undefined".to_owned(),
        "'single'".to_owned(),
        "[1,]".to_owned(),
        "{\"a\"}".to_owned(),
        deep(200),
        deep(100_000),
        deep_object(100_000),
    ] {
        lines.push(format!(r#"{{"id":"x","type":"prompt","message":{value}}}"#));
        lines.push(format!(r#"{{"message":"x","images":{value},"type":"prompt"}}"#));
        lines.push(format!(r#"{{"type":"prompt","message":"x","unknown":[{{"a":{value}}}]}}"#));
        lines.push(format!(r#"{{"type":{value},"id":"x"}}"#));
        lines.push(format!("[{value}]"));
        lines.push(format!("{{\"id\":{value}"));
    }
    for id in [deep(120), deep(100_000), deep_object(100_000)] {
        lines.push(format!(r#"{{"id":{id},"type":"get_protocol_info"}}"#));
        lines.push(format!(r#"{{"type":"prompt","message":"x","id":{id}}}"#));
    }
    for line in [
        "\u{feff}{\"type\":\"get_state\"}",
        "{\"type\":\"get_state\"}\u{0}",
        "{\"type\":\"get_state\"}{\"type\":\"get_state\"}",
        "{\"type\":\"get_state\"} // why",
        "\r{\rnot json\r}\r",
        "\u{2028}",
        "\u{85}",
        "\u{feff}",
        "\u{0}",
        "{\"type\":\"a\",\"type\":\"b\"}",
        "{\"type\":\"get_state\",\"type\":\"b\"}",
        "{\"type\":\"get_state \"}",
        "{\"Type\":\"get_state\"}",
        "{\"type\":99999999999999999999999999}",
        "{\"type\":-0.0}",
        "{\"type\":[]}",
        "{\"type\":{}}",
        "{\"type\":true}",
        "{\"type\":null}",
        "{\"type\":\"\"}",
        "{}",
        "[]",
        "0",
        "\"prompt\"",
        "null",
    ] {
        lines.push(line.to_owned());
    }
    lines.push(format!(r#"{{"id":"x","type":"{}"}}"#, "long".repeat(50_000)));
    lines
}

/// Returns every command of a dialect with every kind of value in every field, as far as its schema rejects it.
fn commands_with_wrong_fields(protocol: &Protocol) -> Vec<String> {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("wrong"),
        json!([]),
        json!([null]),
        json!([[]]),
        json!(["x"]),
        json!({}),
        json!({ "a": { "b": [] } }),
        json!([{ "type": "image" }]),
        json!([{ "data": "*", "mimeType": "image/png" }]),
        json!([{ "data": "aGk=", "mimeType": 7 }]),
    ];
    let mut lines = Vec::new();
    for definition in protocol.definition("Command")["oneOf"].as_array().into_iter().flatten() {
        let command = protocol.resolve(definition);
        let Some(name) = command["properties"]["type"]["const"].as_str() else { continue };
        for field in command["properties"].as_object().into_iter().flat_map(|members| members.keys()) {
            for value in values.iter().filter(|_| field != "id" && field != "type") {
                let line = json!({ "id": "x", "type": name, field: value });
                if protocol.check_command(&line).is_err() {
                    lines.push(line.to_string());
                }
            }
        }
    }
    lines
}

#[test]
fn every_hostile_line_gets_one_response_in_every_dialect() {
    // acp has the envelope of JSON-RPC, and tests of its own.
    for entry in bowline_dialect::DIALECTS.iter().filter(|entry| entry.name != "acp") {
        let mut lines = unreadable();
        lines.extend(commands_with_wrong_fields(&Protocol::of(entry.name)));
        assert!(lines.len() >= 200, "{}: {}", entry.name, lines.len());
        let workspace = Workspace::empty();
        let mut agent = Launch::rpc(&workspace).dialect(entry.name).start_greeted();
        for (number, line) in lines.iter().enumerate() {
            let probe = format!("p{number}");
            agent.send_raw(
                format!("{line}\n{{\"id\":\"{probe}\",\"type\":\"get_protocol_info\"}}\n").as_bytes(),
            );
            let records = agent.until(|record| record["id"] == probe.as_str());
            let is_refusal = |record: &Value| record["success"] == false || record["type"] == "error";
            let shown: String = line.chars().take(100).collect();
            assert_eq!(records.len(), 2, "{}: {shown}: {records:?}", entry.name);
            assert!(is_refusal(&records[0]), "{}: {shown}: {}", entry.name, records[0]);
            assert_eq!(records[1]["success"], true, "{}: {shown}", entry.name);
        }
        assert_eq!(agent.stderr(), "", "{}", entry.name);
        agent.finish();
    }
}

#[test]
fn last_of_two_equal_names_counts() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send_raw(b"{\"type\":\"bogus\",\"id\":\"a\",\"type\":\"get_state\",\"id\":\"b\"}\n");
    let response = agent.next();
    assert_eq!((&response["id"], &response["success"]), (&json!("b"), &json!(true)));
}

#[test]
fn carriage_returns_alone_are_blank_lines() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send_raw(b"\r\n\r\r\n\r\n \t\r\n{\"type\":\"get_state\",\"id\":\"a\"}\r\r\n");
    assert_eq!(agent.next()["id"], "a");
}
