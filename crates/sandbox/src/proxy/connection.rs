//! One connection of a program to the proxy: a request, and then a tunnel or one answer.

use std::time::Duration;

use bowline_http_head::Framing;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Proxy;
use super::dial::{Dialled, Refusal};
use super::request_head::{HeadError, MAX_HEAD, Malformed, Received, RequestHead, RequestKind, received};
use super::tunnel;

/// How long a program may take to read a refusal.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// Serves one connection to its end.
pub async fn serve(mut client: TcpStream, proxy: &Proxy) {
    // Small packets must not wait for one another; without it things are only slower.
    let _ = client.set_nodelay(true);
    let mut received = Vec::new();
    let request = match timeout(proxy.limits.head, read_head(&mut client, &mut received)).await {
        Ok(Ok(Some(request))) => request,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => return refuse(&mut client, &bad_request(error)).await,
        Err(_) => return refuse(&mut client, &timed_out()).await,
    };
    match reach(&mut client, proxy, &request).await {
        Some(Ok(dialled)) => pass_on(client, proxy, request.kind, dialled, &received).await,
        Some(Err(refusal)) => refuse(&mut client, &refusal).await,
        None => {}
    }
}

/// Tells a program that there are too many connections, if it takes that without waiting.
pub fn turn_away(client: &TcpStream) {
    let refusal = Refusal {
        status: "503 Service Unavailable",
        text: "There are too many connections through the sandbox's proxy; close some of them.".to_owned(),
    };
    let _ = client.try_write(answer(&refusal).as_bytes());
}

/// Reads the head of a request. What follows it stays in the buffer. Nothing is returned if the program goes away.
async fn read_head(client: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<RequestHead>, HeadError> {
    loop {
        if let Received::Wholly(end) = received(buffer)? {
            let head: Vec<u8> = buffer.drain(..end).collect();
            return RequestHead::parse(&head).map(Some);
        }
        let mut piece = [0; 4096];
        match client.read(&mut piece).await {
            Ok(0) | Err(_) => return Ok(None),
            Ok(count) => buffer.extend_from_slice(&piece[..count]),
        }
        if buffer.len() > 2 * MAX_HEAD {
            return Err(Malformed::TooLarge.into());
        }
    }
}

/// Connects to the host of a request. Nothing is returned if the program goes away meanwhile.
async fn reach(
    client: &mut TcpStream,
    proxy: &Proxy,
    request: &RequestHead,
) -> Option<Result<Dialled, Refusal>> {
    let reaching = async {
        let decision = proxy.decide(&request.endpoint).await?;
        proxy.dial(&request.endpoint, decision).await
    };
    tokio::select! {
        biased;
        reached = reaching => Some(reached),
        () = gone(client, &request.kind) => None,
    }
}

/// Waits until a program has gone away. One that has sent more is there, and so may be one that has ended its side after
/// a whole request.
async fn gone(client: &TcpStream, kind: &RequestKind) {
    match (client.peek(&mut [0]).await, kind) {
        (Ok(0), RequestKind::Tunnel) | (Err(_), _) => {}
        (Ok(_), _) => std::future::pending().await,
    }
}

async fn pass_on(mut client: TcpStream, proxy: &Proxy, kind: RequestKind, dialled: Dialled, early: &[u8]) {
    let Dialled { stream: mut server, traffic } = dialled;
    let _ = server.set_nodelay(true);
    match kind {
        RequestKind::Tunnel => {
            if client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_ok() {
                tunnel::both_ways(&mut client, &mut server, early, &traffic, proxy.limits.idle).await;
            }
        }
        RequestKind::Forward { head, body } => {
            forward(&mut client, proxy, &mut server, &head, body, early, &traffic).await;
        }
    }
}

async fn forward(
    client: &mut TcpStream,
    proxy: &Proxy,
    server: &mut TcpStream,
    head: &[u8],
    body: Framing,
    early: &[u8],
    traffic: &super::Traffic,
) {
    let request = tunnel::Request { head, body, early };
    if tunnel::one_request(client, server, request, traffic, proxy.limits.idle).await.is_err() {
        refuse(client, &bad_request(Malformed::Length.into())).await;
    }
}

fn bad_request(error: HeadError) -> Refusal {
    let status = match error {
        HeadError::Malformed(Malformed::TooLarge | Malformed::TooManyHeaders) => {
            "431 Request Header Fields Too Large"
        }
        HeadError::Scheme | HeadError::OriginForm => "400 Not a request to a proxy",
        _ => "400 Bad Request",
    };
    Refusal { status, text: format!("The sandbox's proxy does not take this request: {error}.") }
}

fn timed_out() -> Refusal {
    Refusal {
        status: "408 Request Timeout",
        text: "The sandbox's proxy waited too long for the rest of the request.".to_owned(),
    }
}

async fn refuse(client: &mut TcpStream, refusal: &Refusal) {
    let refusing = async {
        client.write_all(answer(refusal).as_bytes()).await?;
        client.shutdown().await?;
        // A connection that is closed with unread bytes is reset, and the program may lose the answer.
        let mut rest = [0; 4096];
        let mut left = MAX_HEAD;
        while left > 0 {
            match client.read(&mut rest).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        std::io::Result::Ok(())
    };
    // Nothing depends on whether the program reads it.
    let _ = timeout(REFUSAL_TIME, refusing).await;
}

fn answer(refusal: &Refusal) -> String {
    let Refusal { status, text } = refusal;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
        text.len() + 1
    )
}
