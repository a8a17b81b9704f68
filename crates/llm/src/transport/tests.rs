//! Drives the transport against servers on loopback that behave well, badly, or not at all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::StreamEvent;
use bowline_core::stream::{FailureKind, StreamError};
use futures_util::StreamExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::output_limit::tests::request;
use crate::providers::{Providers, Sources};
use crate::request::AnswerStream;
use crate::transport::Timeouts;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const PIECES: [&str; 3] = [
    "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"one \"}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"two\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];
const KEY: &str = "sk-0123456789";

/// The bytes that the server sends on each connection, in order, with a pause before each piece.
struct Answer {
    pieces: Vec<String>,
    pause: Duration,
    /// Whether the connection stays open after the last piece.
    stays: bool,
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

fn answer(pieces: Vec<String>) -> Answer {
    Answer { pieces, pause: Duration::ZERO, stays: false }
}

fn refuse(status: &str, headers: &str, body: &str) -> Answer {
    answer(vec![format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())])
}

fn good() -> Vec<String> {
    let mut pieces = vec![HEAD.to_owned()];
    pieces.extend(PIECES.iter().map(|piece| chunk(piece)));
    pieces.push("0\r\n\r\n".to_owned());
    pieces
}

/// Reads a complete request.
pub(super) async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return Some(text);
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Serves the same answer to every request and returns the address.
async fn serve(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                while read_request(&mut socket).await.is_some() {
                    for piece in &answer.pieces {
                        tokio::time::sleep(answer.pause).await;
                        if socket.write_all(piece.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                    if !answer.stays {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn ask(address: SocketAddr, idle: Duration) -> AnswerStream {
    let json = format!(
        r#"{{"providers": {{"p": {{"baseUrl": "http://{address}/v1", "api": "openai-completions", "apiKey": "{KEY}", "models": [{{"id": "m"}}]}}}}}}"#
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("models.json");
    std::fs::write(&path, json).unwrap();
    let timeouts = Timeouts { idle, first_byte: idle, ..Timeouts::default() };
    let sources = Sources { models_file: Some(path), timeouts, ..Sources::default() };
    let providers = Providers::new(sources).unwrap();
    let model = providers.find("p", "m").unwrap();
    providers.stream(crate::ModelRequest { model, ..request(json!({})) })
}

/// Reads a stream to its end.
async fn collect(mut stream: AnswerStream) -> (String, Option<StreamError>) {
    let (mut text, mut done) = (String::new(), false);
    while let Some(item) = stream.next().await {
        let events = match item {
            Ok(events) => events,
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (text, Some(error));
            }
        };
        assert!(!events.is_empty());
        for event in events {
            match event {
                StreamEvent::Delta { text: delta, .. } => text.push_str(&delta),
                StreamEvent::Done { .. } => done = true,
                _ => {}
            }
        }
    }
    assert!(done);
    (text, None)
}

async fn failure(answer: Answer) -> StreamError {
    let (_, error) = collect(ask(serve(answer).await, Duration::from_secs(5))).await;
    error.unwrap()
}

#[tokio::test]
async fn answer_is_received() {
    let (text, error) = collect(ask(serve(answer(good())).await, Duration::from_secs(5))).await;
    assert_eq!((text.as_str(), error), ("one two", None));
}

#[tokio::test]
async fn slow_answer_is_waited_for() {
    let slow = Answer { pause: Duration::from_millis(60), ..answer(good()) };
    let (text, error) = collect(ask(serve(slow).await, Duration::from_millis(2000))).await;
    assert_eq!((text.as_str(), error), ("one two", None));
}

#[tokio::test]
async fn silent_server_times_out() {
    let mute = Answer { stays: true, ..answer(vec![String::new()]) };
    let (_, error) = collect(ask(serve(mute).await, Duration::from_millis(80))).await;
    assert_eq!(error.unwrap().kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn silence_mid_stream_times_out_and_keeps_what_arrived() {
    let pieces = good().into_iter().take(2).collect();
    let silent = Answer { stays: true, ..answer(pieces) };
    let (text, error) = collect(ask(serve(silent).await, Duration::from_millis(300))).await;
    assert_eq!(text, "one ");
    assert_eq!(error.unwrap().kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn connection_lost_mid_stream_is_an_incomplete_answer() {
    for taken in [1, 2] {
        let pieces = good().into_iter().take(taken).collect();
        assert_eq!(failure(answer(pieces)).await.kind, FailureKind::Incomplete);
    }
    let ended = vec![HEAD.to_owned(), chunk(PIECES[0]), "0\r\n\r\n".to_owned()];
    assert_eq!(failure(answer(ended)).await.kind, FailureKind::Incomplete);
}

#[tokio::test]
async fn server_that_closes_at_once_is_a_connection_failure() {
    assert_eq!(failure(answer(Vec::new())).await.kind, FailureKind::Connection);
}

#[tokio::test]
async fn refused_connection_error_says_what_to_check() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (_, error) = collect(ask(address, Duration::from_secs(5))).await;
    let error = error.unwrap();
    assert_eq!(error.kind, FailureKind::Connection);
    assert!(error.message.contains("refused the connection"), "{error}");
}

#[tokio::test]
async fn rate_limit_carries_its_wait() {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    let error = failure(refuse("429 Too Many Requests", "Retry-After: 7\r\n", body)).await;
    assert_eq!((error.kind, error.status), (FailureKind::RateLimited, Some(429)));
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(error.message, "429 rate_limit_error: slow down");
}

#[tokio::test]
async fn refused_key_is_not_repeated() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let error = failure(refuse("401 Unauthorized", "", &body)).await;
    assert_eq!(error.kind, FailureKind::Authentication);
    assert_eq!(
        error.message,
        "401 Unauthorized: Incorrect API key provided: [redacted] (the key came from models.json)"
    );
}

#[tokio::test]
async fn error_with_success_status_is_reported() {
    let body = r#"{"error":{"message":"model is loading"}}"#;
    let error = failure(refuse("200 OK", "Content-Type: application/json\r\n", body)).await;
    assert!(error.message.contains("model is loading"), "{error}");
    assert_eq!(error.kind, FailureKind::Unavailable);
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let error = failure(refuse("307 Temporary Redirect", "Location: http://127.0.0.1:9/x\r\n", "")).await;
    assert_eq!((error.kind, error.status), (FailureKind::Rejected, Some(307)));
}

#[tokio::test]
async fn endless_error_body_is_truncated() {
    let long = "x".repeat(200_000);
    let error = failure(refuse("500 Internal Server Error", "", &long)).await;
    assert_eq!(error.kind, FailureKind::Unavailable);
    assert!(error.message.len() < 3000);
}

#[tokio::test]
async fn finished_answer_leaves_its_connection_for_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            read_request(&mut socket).await.unwrap();
            socket.write_all(good().concat().as_bytes()).await.unwrap();
        }
    });
    let json = format!(
        r#"{{"providers": {{"p": {{"baseUrl": "http://{address}", "api": "openai-completions", "models": [{{"id": "m"}}]}}}}}}"#
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("models.json");
    std::fs::write(&path, json).unwrap();
    let providers = Providers::new(Sources { models_file: Some(path), ..Sources::default() }).unwrap();
    for _ in 0..2 {
        let model = providers.find("p", "m").unwrap();
        let mut stream = providers.stream(crate::ModelRequest { model, ..request(json!({})) });
        let mut done = false;
        while !done {
            let events = stream.next().await.unwrap().unwrap();
            done = matches!(events.last(), Some(StreamEvent::Done { .. }));
        }
    }
    tokio::time::timeout(Duration::from_secs(5), served).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut stream = ask(address, Duration::from_secs(5));
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await.unwrap();
        socket.write_all(format!("{HEAD}{}", chunk(PIECES[0])).as_bytes()).await.unwrap();
        socket.read(&mut [0; 8]).await.unwrap_or(0)
    });
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), server).await.unwrap().unwrap(), 0);
}

#[test]
fn both_clients_can_be_built() {
    let proxy = crate::proxy::ProxySettings::default();
    let started = std::time::Instant::now();
    super::client::build(Timeouts::default(), &proxy, super::client::Trust::Nobody).unwrap();
    assert!(started.elapsed() < Duration::from_millis(500));
    // A machine without certificates may refuse the other; that must be an error, not a panic.
    let _ = super::client::build(Timeouts::default(), &proxy, super::client::Trust::System);
}

#[tokio::test]
async fn invalid_base_url_is_reported() {
    let key = Sources { api_key: Some("k".into()), ..Sources::default() };
    let providers = Providers::new(key).unwrap();
    let additions = providers.additions(crate::AddedBy::User);
    let settings = json!({"api": "openai-completions", "baseUrl": "ftp://h", "models": [{"id": "m"}]});
    additions.add("far", crate::NewProvider { settings, source: None, login: None }).unwrap();
    let model = providers.find("far", "m").unwrap();
    let stream = providers.stream(crate::ModelRequest { model, ..request(json!({})) });
    let (_, error) = collect(stream).await;
    assert!(error.unwrap().message.contains("ftp://h"));
}
