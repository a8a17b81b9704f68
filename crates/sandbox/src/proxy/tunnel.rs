//! Bytes to and fro, counted, until both sides have ended or have been silent for too long.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::body::{BadChunks, BodyEnd};
use super::records::Traffic;
use bowline_http_head::Framing;

/// How much is copied at once.
const PIECE: usize = 64 * 1024;

/// A request for a server: its head, and what of its body has come already.
pub struct Request<'request> {
    pub head: &'request [u8],
    pub body: Framing,
    pub early: &'request [u8],
}

/// When something was last copied.
struct Activity(Mutex<Instant>);

impl Activity {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn mark(&self) {
        if let Ok(mut last) = self.0.lock() {
            *last = Instant::now();
        }
    }

    /// Waits until nothing has been copied for so long.
    async fn silence(&self, limit: Duration) {
        loop {
            let last = self.0.lock().map(|last| *last).unwrap_or_else(|error| *error.into_inner());
            if last.elapsed() >= limit {
                return;
            }
            tokio::time::sleep_until(last + limit).await;
        }
    }
}

/// Copies bytes both ways. A side that ends leaves the other direction open.
pub async fn both_ways(
    client: &mut TcpStream,
    server: &mut TcpStream,
    early: &[u8],
    traffic: &Traffic,
    idle: Duration,
) {
    let activity = Activity::new();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let sending = async {
        to_server.write_all(early).await?;
        traffic.sent.fetch_add(early.len() as u64, Ordering::Relaxed);
        copy(&mut from_client, &mut to_server, &traffic.sent, &activity).await
    };
    let receiving = copy(&mut from_server, &mut to_client, &traffic.received, &activity);
    tokio::select! {
        // If one direction breaks, so does the other.
        _ = async { tokio::try_join!(sending, receiving) } => {}
        () = activity.silence(idle) => {}
    }
}

/// Sends one request and returns the answer to it. What a client sends after the request ends the connection: it might
/// be a request for another host.
pub async fn one_request(
    client: &mut TcpStream,
    server: &mut TcpStream,
    request: Request<'_>,
    traffic: &Traffic,
    idle: Duration,
) -> Result<(), BadChunks> {
    let activity = Activity::new();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let sending = send_request(&mut from_client, &mut to_server, request, &traffic.sent, &activity);
    let receiving = copy(&mut from_server, &mut to_client, &traffic.received, &activity);
    tokio::select! {
        // The request does not end the connection by itself unless it goes wrong: the answer does.
        sent = sending => match sent {
            Sent::Badly if traffic.received.load(Ordering::Relaxed) == 0 => Err(BadChunks),
            _ => Ok(()),
        },
        _ = receiving => Ok(()),
        () = activity.silence(idle) => Ok(()),
    }
}

/// How the sending of a request ended before its answer did.
enum Sent {
    /// The body is not in proper chunks.
    Badly,
    /// The connection broke, or more came than the request.
    TooEarly,
}

async fn send_request(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    request: Request<'_>,
    count: &AtomicU64,
    activity: &Activity,
) -> Sent {
    let mut end = BodyEnd::new(request.body);
    if to.write_all(request.head).await.is_err() {
        return Sent::TooEarly;
    }
    count.fetch_add(request.head.len() as u64, Ordering::Relaxed);
    let mut piece = vec![0; PIECE];
    let mut bytes = request.early.len();
    let mut early = Some(request.early);
    loop {
        let source = early.take().unwrap_or(&piece[..bytes]);
        let Ok(taken) = end.take(source) else { return Sent::Badly };
        if to.write_all(&source[..taken]).await.is_err() || taken < source.len() {
            return Sent::TooEarly;
        }
        count.fetch_add(taken as u64, Ordering::Relaxed);
        activity.mark();
        bytes = match from.read(&mut piece).await {
            // A client that has sent its request may close its side and still read the answer.
            Ok(0) if end.is_reached() => std::future::pending().await,
            Ok(0) | Err(_) => return Sent::TooEarly,
            Ok(bytes) => bytes,
        };
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
    activity: &Activity,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let bytes = from.read(&mut piece).await?;
        if bytes == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..bytes]).await?;
        count.fetch_add(bytes as u64, Ordering::Relaxed);
        activity.mark();
    }
}
