//! A provider that answers its first request with whatever bytes a test likes, and every other one properly.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bowline_testkit::{Api, Workspace};
use serde_json::{Value, json};

/// Writes an answer, head and all. It ends when the client has had enough.
pub type Hostility = fn(&mut TcpStream, Api) -> io::Result<()>;

/// The head of an answer that is a stream.
pub const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

pub struct Hostile {
    base_url: String,
    requests: Arc<AtomicUsize>,
}

impl Hostile {
    pub fn start(api: Api, hostility: Hostility) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (mut socket, count) = (socket.unwrap(), Arc::clone(&count));
                thread::spawn(move || {
                    if read_request(&socket).is_err() {
                        return;
                    }
                    let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
                    // The client may hang up at any moment.
                    let _ =
                        if is_first { hostility(&mut socket, api) } else { well_behaved(&mut socket, api) };
                });
            }
        });
        Self { base_url, requests }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn workspace(&self, api: Api, mut settings: Value) -> Workspace {
        settings["retry"] = json!({ "enabled": false });
        Workspace::empty().settings(settings).models(json!({ "providers": { "mock": {
            "baseUrl": self.base_url, "api": api.name(), "apiKey": "none",
            "models": [{ "id": "m1", "reasoning": true, "contextWindow": 200_000, "maxTokens": 32_000 }] } } }))
    }
}

fn read_request(socket: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink()).map(|_| ())
}

/// Writes an event.
pub fn event(socket: &mut TcpStream, data: &Value) -> io::Result<()> {
    writeln!(socket, "data: {data}\n")
}

/// Begins a stream with a block, or the first piece, of the given kind.
pub fn begin(socket: &mut TcpStream, api: Api, block: &Value) -> io::Result<()> {
    socket.write_all(STREAM.as_bytes())?;
    if api == Api::AnthropicMessages {
        event(socket, &json!({ "type": "message_start", "message": { "id": "msg_1" } }))?;
        event(socket, &json!({ "type": "content_block_start", "index": 0, "content_block": block }))?;
    }
    Ok(())
}

/// Begins a stream with text.
pub fn begin_text(socket: &mut TcpStream, api: Api) -> io::Result<()> {
    begin(socket, api, &json!({ "type": "text", "text": "" }))?;
    text(socket, api, "so far")
}

pub fn text(socket: &mut TcpStream, api: Api, text: &str) -> io::Result<()> {
    match api {
        Api::AnthropicMessages => delta(socket, &json!({ "type": "text_delta", "text": text })),
        Api::OpenaiCompletions => piece(socket, &json!({ "content": text })),
    }
}

/// Begins the call of a tool.
pub fn begin_call(socket: &mut TcpStream, api: Api, id: &str, name: &str) -> io::Result<()> {
    begin(socket, api, &json!({ "type": "tool_use", "id": id, "name": name, "input": {} }))?;
    match api {
        Api::AnthropicMessages => Ok(()),
        Api::OpenaiCompletions => {
            piece(socket, &json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": name } }] }))
        }
    }
}

pub fn arguments(socket: &mut TcpStream, api: Api, text: &str) -> io::Result<()> {
    match api {
        Api::AnthropicMessages => delta(socket, &json!({ "type": "input_json_delta", "partial_json": text })),
        Api::OpenaiCompletions => {
            piece(socket, &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] }))
        }
    }
}

/// An Anthropic delta of the first block.
pub fn delta(socket: &mut TcpStream, delta: &Value) -> io::Result<()> {
    event(socket, &json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

/// An OpenAI delta.
pub fn piece(socket: &mut TcpStream, delta: &Value) -> io::Result<()> {
    event(socket, &json!({ "choices": [{ "delta": delta }] }))
}

/// Ends an answer properly.
pub fn end(socket: &mut TcpStream, api: Api, reason: &str, usage: &Value) -> io::Result<()> {
    match api {
        Api::AnthropicMessages => {
            event(socket, &json!({ "type": "content_block_stop", "index": 0 }))?;
            let frame =
                json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage });
            event(socket, &frame)?;
            event(socket, &json!({ "type": "message_stop" }))
        }
        Api::OpenaiCompletions => {
            event(socket, &json!({ "choices": [{ "delta": {}, "finish_reason": reason }], "usage": usage }))?;
            socket.write_all(b"data: [DONE]\n\n")
        }
    }
}

/// Writes the same again and again.
pub fn repeat(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    // Many at once: small writes would measure the test's own speed.
    let block = bytes.repeat((64 * 1024 / bytes.len()).max(1));
    loop {
        socket.write_all(&block)?;
    }
}

/// Writes the same again and again, slowly.
pub fn drip(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    loop {
        socket.write_all(bytes)?;
        thread::sleep(Duration::from_millis(20));
    }
}

fn well_behaved(socket: &mut TcpStream, api: Api) -> io::Result<()> {
    begin_text(socket, api)?;
    end(socket, api, if api == Api::AnthropicMessages { "end_turn" } else { "stop" }, &json!({}))
}
