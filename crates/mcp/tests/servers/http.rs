//! Servers over streamable HTTP.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, eventually, run, script, text};

struct Running {
    process: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn serve(world: &World, flags: &[&str]) -> Running {
    let file = world.path("port");
    let mut command = Command::new("python3");
    command.arg(script()).arg("--http").arg(&file).args(flags).stdin(Stdio::null());
    let process = command.spawn().unwrap();
    eventually("the server listens", || file.exists()).await;
    let port = std::fs::read_to_string(&file).unwrap();
    Running { process, address: format!("http://127.0.0.1:{port}/mcp") }
}

#[test]
fn server_over_http_is_like_any_other() {
    run(async {
        let world = World::new();
        *world.answers.lock().unwrap() = vec![json!("small"), json!("1")];
        let log = world.path("log").display().to_string();
        let server = serve(&world, &["--token", "token-from-outside", "--log", &log]).await;
        let headers = json!({"Authorization": "Bearer token-from-outside", "X-Other": "$TOKEN"});
        let servers = world.configured(&json!({"s": {"url": server.address, "headers": headers}}));
        servers.start().await;
        assert_eq!(servers.status()[0].state, "ready", "{:?}", servers.status()[0].problem);
        assert_eq!(text(&world.echo(&servers, "hi").await), "hi");
        let outcome = world.call(&servers, "slow", json!({"steps": 2})).await;
        assert_eq!(text(&outcome), "done");
        assert!(!world.progress.lock().unwrap().is_empty());
        let outcome = world.call(&servers, "order", json!({})).await;
        let answer: Value = serde_json::from_str(&text(&outcome)).unwrap();
        assert_eq!(answer["action"], "accept");
        let began = Instant::now();
        let call = world.call(&servers, "wait", json!({}));
        let abort = async {
            eventually("the call has arrived", || {
                world.log().iter().any(|message| message["params"]["name"] == "wait")
            })
            .await;
            world.cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(call, abort);
        assert!(text(&outcome).starts_with("Aborted") && began.elapsed() < Duration::from_secs(10));
        eventually("the server is told", || {
            world.log().iter().any(|message| message["method"] == "notifications/cancelled")
        })
        .await;
        servers.stop().await;
        eventually("the session is deleted", || {
            world.log().iter().any(|message| message["delete"].is_string())
        })
        .await;
    });
}

#[test]
fn missing_authorization_is_explained_and_not_tried_again() {
    run(async {
        let world = World::new();
        let server = serve(&world, &["--token", "secret"]).await;
        let servers = world.configured(&json!({"s": {"url": server.address}}));
        servers.start().await;
        let status = servers.status().remove(0);
        assert_eq!(status.state, "failed");
        let problem = status.problem.unwrap();
        assert!(problem.starts_with("it needs authorization (HTTP 401): set \"headers\""), "{problem}");
        assert!(problem.contains("Bearer realm=\"test\""), "{problem}");
    });
}

#[test]
fn server_that_is_not_there_is_explained() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"s": {"url": "http://127.0.0.1:9/mcp?key=hidden"}}));
        servers.start().await;
        let problem = servers.status()[0].problem.clone().unwrap();
        assert!(problem.starts_with("it could not be reached") && !problem.contains("hidden"), "{problem}");
        servers.stop().await;
    });
}

/// Answers one request with a text, and every other one the same.
fn answering(head: &'static str, body: &'static [u8], times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
            for _ in 0..times {
                if stream.write_all(body).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn what_is_no_server_is_explained() {
    run(async {
        static CHUNK: [u8; 1 << 20] = [b'x'; 1 << 20];
        let world = World::new();
        for (address, expected) in [
            (
                answering("200 OK\r\nContent-Type: text/html", b"<html>", 1),
                "it answered with text/html instead of JSON",
            ),
            (answering("200 OK\r\nContent-Type: application/json", b"{}", 1), "its answer is no message"),
            (
                answering("200 OK\r\nContent-Type: application/json", &CHUNK, 100),
                "it sent a message of more than 16384 KB",
            ),
            (
                answering("200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", &CHUNK, 100),
                "it closed the connection",
            ),
            (
                answering("302 Found\r\nLocation: http://elsewhere", b"", 1),
                "it redirects elsewhere (HTTP 302)",
            ),
            (answering("500 Oops", b"broken", 1), "it refused a request (HTTP 500: broken)"),
        ] {
            let servers = world.configured(&json!({"s": {"url": address}}));
            servers.start().await;
            let problem = servers.status()[0].problem.clone().unwrap_or_default();
            assert!(problem.contains(expected), "{expected}: {problem}");
            servers.stop().await;
        }
    });
}
