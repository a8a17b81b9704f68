//! The scripted model, over a plain TCP connection.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test reports by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bowline_testkit::{Gate, ModelServer, Reply, Usage};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);
const ANTHROPIC: &str = "/v1/messages?beta=true";
const OPENAI: &str = "/chat/completions";

/// A connection to the model.
struct Connection {
    source: BufReader<TcpStream>,
}

impl Connection {
    fn ask(server: &ModelServer, path: &str) -> Self {
        let address = server.base_url().trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut connection = Self { source: BufReader::new(stream) };
        connection.ask_again(path);
        connection
    }

    fn ask_again(&mut self, path: &str) {
        let body = json!({ "model": "m1", "messages": [] }).to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.source.get_mut().write_all(request.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.source.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn head(&mut self) -> Vec<String> {
        std::iter::from_fn(|| Some(self.line()).filter(|line| !line.is_empty())).collect()
    }

    /// Reads one chunk; `None` is the regular end of the stream.
    fn chunk(&mut self) -> Option<String> {
        let size = usize::from_str_radix(&self.line(), 16).expect("the size of a chunk");
        let mut text = vec![0; size + 2];
        self.source.read_exact(&mut text).unwrap();
        text.truncate(size);
        Some(String::from_utf8(text).unwrap()).filter(|text| !text.is_empty())
    }

    /// Reads the data of one event; `None` is the regular end of the stream.
    fn data(&mut self) -> Option<Value> {
        let chunk = self.chunk()?;
        let data = chunk.lines().find_map(|line| line.strip_prefix("data: ")).expect("data in an event");
        Some(serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned())))
    }

    fn all_data(&mut self) -> Vec<Value> {
        assert_eq!(self.head()[0], "HTTP/1.1 200 OK");
        std::iter::from_fn(|| self.data()).collect()
    }
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[test]
fn anthropic_messages_has_a_block_for_each_kind_of_content() {
    let server = ModelServer::start();
    server.reply(
        Reply::new()
            .thinking("hm")
            .then_text("a")
            .then_text("b")
            .tool("bash", json!({ "command": "ls -l" }))
            .usage(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4 }),
    );
    let events = Connection::ask(&server, ANTHROPIC).all_data();
    let (start, delta, stop) = ("content_block_start", "content_block_delta", "content_block_stop");
    assert_eq!(
        types(&events),
        [
            "message_start",
            start,
            delta,
            delta,
            stop,
            start,
            delta,
            delta,
            stop,
            start,
            delta,
            delta,
            stop,
            "message_delta",
            "message_stop"
        ]
    );
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 3);
    assert_eq!(events[6]["delta"], json!({ "type": "text_delta", "text": "a" }));
    assert_eq!(events[6]["index"], 1);
    let arguments: String =
        events[10..12].iter().map(|event| event["delta"]["partial_json"].as_str().unwrap()).collect();
    assert_eq!(arguments, r#"{"command":"ls -l"}"#);
    assert_eq!(events[13]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[13]["usage"]["output_tokens"], 2);
}

#[test]
fn openai_completions_ends_with_usage_and_done() {
    let server = ModelServer::start();
    server.reply(Reply::new().thinking("hm").then_text("a").tool("ls", json!({})).stop_reason("length"));
    let events = Connection::ask(&server, OPENAI).all_data();
    let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    assert_eq!(deltas[1]["reasoning_content"], "hm");
    assert_eq!(deltas[2]["content"], "a");
    assert_eq!(deltas[3]["tool_calls"][0]["function"]["name"], "ls");
    assert_eq!(deltas[4]["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[6]["usage"]["total_tokens"], 110);
    assert_eq!(events[7], "[DONE]");
}

#[test]
fn replies_arrive_in_order_on_one_connection_and_requests_are_kept() {
    let server = ModelServer::start();
    server.reply(Reply::text("first"));
    server.reply(Reply::status(529).header("retry-after", "1").body("{}"));
    let mut connection = Connection::ask(&server, ANTHROPIC);
    assert_eq!(connection.all_data()[2]["delta"]["text"], "first");
    connection.ask_again(ANTHROPIC);
    let head = connection.head();
    assert!(head[0].contains("529") && head.contains(&"retry-after: 1".to_owned()), "{head:?}");
    assert_eq!(server.replies_left(), 0);
    let mut connection = Connection::ask(&server, ANTHROPIC);
    assert_eq!(connection.all_data()[2]["delta"]["text"], "ok");
    let requests = server.wait_for_requests(3, PATIENCE);
    assert_eq!(requests[0].path, ANTHROPIC);
    assert_eq!(requests[0].header("x-api-key"), Some("k"));
    assert_eq!(requests[0].body["model"], "m1");
}

#[test]
fn gate_pauses_the_stream_until_opened() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("before").gate(&gate).then_text("after"));
    let mut connection = Connection::ask(&server, ANTHROPIC);
    gate.wait_until_reached(PATIENCE);
    connection.head();
    let before: Vec<Value> = (0..3).filter_map(|_| connection.data()).collect();
    assert_eq!(before[2]["delta"]["text"], "before");
    connection.source.get_ref().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(connection.source.fill_buf().is_err(), "the stream went through a closed gate");
    connection.source.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    gate.open();
    let after = connection.data().unwrap();
    assert_eq!((&after["delta"]["text"], &after["index"]), (&json!("after"), &json!(0)));
}

#[test]
fn interrupted_stream_has_no_end() {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(5, 10).interrupt_after(2));
    let mut connection = Connection::ask(&server, ANTHROPIC);
    let mut text = String::new();
    connection.source.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("text_delta").count(), 2);
    assert!(!text.contains("message_stop") && !text.ends_with("0\r\n\r\n"));
}

#[test]
fn disconnect_during_a_silent_stream_is_noticed() {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(5, 10).hang_after(2));
    server.reply(Reply::mute());
    let mut connection = Connection::ask(&server, ANTHROPIC);
    connection.head();
    for _ in 0..4 {
        connection.data().unwrap();
    }
    drop(connection);
    server.wait_for_hang_ups(1, PATIENCE);
    drop(Connection::ask(&server, OPENAI));
    server.wait_for_hang_ups(2, PATIENCE);
}

#[test]
fn error_inside_a_stream_ends_it() {
    let server = ModelServer::start();
    server.reply(Reply::text("a").stream_error("overloaded_error"));
    let events = Connection::ask(&server, ANTHROPIC).all_data();
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["error"]["type"]), (&json!("error"), &json!("overloaded_error")));
}

#[test]
fn deltas_have_the_given_size_and_delay() {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(3, 1000).delay(Duration::from_millis(20)));
    let started = Instant::now();
    let events = Connection::ask(&server, OPENAI).all_data();
    assert!(started.elapsed() >= Duration::from_millis(60));
    assert!(
        events[1..4]
            .iter()
            .all(|event| { event["choices"][0]["delta"]["content"].as_str().map(str::len) == Some(1000) })
    );
}
