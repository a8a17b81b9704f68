//! An HTTP/1.1 server on the loopback interface that answers with scripted replies.
//!
//! Each connection has a thread. While a stream waits, at a gate, in a delay or forever, its thread watches whether
//! the client has disconnected, so that a test can check that an abort closes the connection.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::reply::{Frame, Kind, Reply};
use super::request::Request;
use super::{anthropic_messages, openai_completions};

/// How often a waiting stream checks whether its client is still connected.
const GLANCE: Duration = Duration::from_millis(10);

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n\
                           Transfer-Encoding: chunked\r\n\r\n";

const LAST_CHUNK: &str = "0\r\n\r\n";

/// A scripted model that keeps every request. Stops when dropped.
#[derive(Debug)]
pub struct ModelServer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    replies: VecDeque<Reply>,
    /// Replies in conversations whose first message contains a text.
    replies_in: Vec<(String, Reply)>,
    default_reply: Reply,
    requests: Vec<Request>,
    /// Streams whose client disconnected before their end.
    hang_ups: usize,
    is_stopping: bool,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1. Its default reply is `ok`.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                replies: VecDeque::new(),
                replies_in: Vec::new(),
                default_reply: Reply::text("ok"),
                requests: Vec::new(),
                hang_ups: 0,
                is_stopping: false,
            }),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.lock().is_stopping {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || connection.and_then(|connection| shared.serve(&connection)));
            }
        });
        Self { shared, address }
    }

    /// Returns the URL to put in `baseUrl`, for both APIs.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply to the script; requests get the replies in order.
    pub fn reply(&self, reply: Reply) {
        self.shared.lock().replies.push_back(reply);
    }

    /// Adds a reply to the script of one conversation: that whose first message contains `text`. Conversations that go on
    /// at the same time need one each, because nobody knows whose request comes first.
    pub fn reply_in(&self, text: &str, reply: Reply) {
        self.shared.lock().replies_in.push((text.to_owned(), reply));
    }

    /// Sets the reply for requests after the end of the script.
    pub fn default_reply(&self, reply: Reply) {
        self.shared.lock().default_reply = reply;
    }

    /// Returns how many replies of the script are left.
    pub fn replies_left(&self) -> usize {
        self.shared.lock().replies.len()
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Blocks until there are at least `count` requests, and returns all of them.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, timeout: Duration) -> Vec<Request> {
        self.wait(timeout, "requests", count, |state| state.requests.len());
        self.requests()
    }

    /// Blocks until clients have disconnected from at least `count` streams before their end.
    #[track_caller]
    pub fn wait_for_hang_ups(&self, count: usize, timeout: Duration) {
        self.wait(timeout, "hang-ups", count, |state| state.hang_ups);
    }

    #[track_caller]
    fn wait(&self, timeout: Duration, what: &str, count: usize, get: impl Fn(&State) -> usize) {
        let state = self.shared.lock();
        let (state, result) = self
            .shared
            .changed
            .wait_timeout_while(state, timeout, |state| get(state) < count)
            .expect("the server's lock");
        assert!(
            !result.timed_out(),
            "the model saw {} of {count} {what} within {timeout:?}; the requests so far: {:#?}",
            get(&state),
            state.requests
        );
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.lock().is_stopping = true;
        // Wakes the accepting thread; if it cannot be reached it has already ended.
        let _ = TcpStream::connect(self.address);
    }
}

/// Why a stream ended.
enum End {
    Complete,
    Cut,
    HungUp,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the server's lock")
    }

    /// Answers the requests of one connection.
    fn serve(&self, connection: &TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut source = BufReader::new(connection.try_clone()?);
        while let Some(request) = Request::read(&mut source)? {
            let end = self.answer(request, connection).unwrap_or(End::HungUp);
            if matches!(end, End::HungUp) {
                self.lock().hang_ups += 1;
                self.changed.notify_all();
            }
            if !matches!(end, End::Complete) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request, mut connection: &TcpStream) -> io::Result<End> {
        let path = request.path.split('?').next().unwrap_or_default();
        let render = match (&*request.method, path) {
            ("POST", path) if path.ends_with("/v1/messages") => anthropic_messages::frames,
            ("POST", path) if path.ends_with("/chat/completions") => openai_completions::frames,
            _ => {
                let body = format!("{} {path} is not served", request.method);
                self.keep(request);
                write_status(connection, 404, &[], &body)?;
                return Ok(End::Complete);
            }
        };
        let model = request.body["model"].as_str().unwrap_or_default().to_owned();
        let reply = {
            let mut state = self.lock();
            let first = request.first_message();
            match state.replies_in.iter().position(|(text, _)| first.contains(text)) {
                Some(index) => state.replies_in.remove(index).1,
                None => state.replies.pop_front().unwrap_or_else(|| state.default_reply.clone()),
            }
        };
        let number = self.keep(request);
        match &reply.kind {
            Kind::Mute => Ok(self.wait_for_ever(connection)),
            Kind::Closed => Ok(End::Cut),
            Kind::Status { code, headers, body } => {
                write_status(connection, *code, headers, body)?;
                Ok(End::Complete)
            }
            Kind::Stream(steps) => {
                connection.write_all(STREAM_HEAD.as_bytes())?;
                self.stream(&reply, render(&reply, steps, &model, number), connection)
            }
        }
    }

    /// Keeps a request for the test and returns its number.
    fn keep(&self, request: Request) -> usize {
        let mut state = self.lock();
        state.requests.push(request);
        self.changed.notify_all();
        state.requests.len()
    }

    fn stream(&self, reply: &Reply, frames: Vec<Frame>, mut connection: &TcpStream) -> io::Result<End> {
        let mut deltas = 0;
        let is_whole = reply.interrupt_after.is_none() && reply.hang_after.is_none();
        let last = frames.len().saturating_sub(1);
        for (index, frame) in frames.into_iter().enumerate() {
            if reply.interrupt_after == Some(deltas) {
                return Ok(End::Cut);
            }
            if reply.hang_after == Some(deltas) {
                return Ok(self.wait_for_ever(connection));
            }
            let text = match frame {
                Frame::Plain(text) => text,
                Frame::Delta(text) => {
                    deltas += 1;
                    let until = Instant::now() + reply.delay;
                    if !reply.delay.is_zero() && !self.wait_while(connection, || rest(until)) {
                        return Ok(End::HungUp);
                    }
                    text
                }
                Frame::Gate(gate) => {
                    gate.reach();
                    if !self.wait_while(connection, || !gate.is_open_within(GLANCE)) {
                        return Ok(End::HungUp);
                    }
                    continue;
                }
            };
            let mut chunk = format!("{:x}\r\n{text}\r\n", text.len());
            if is_whole && index == last {
                // In one write, so that a client that has read the answer can reuse the connection.
                chunk.push_str(LAST_CHUNK);
            }
            connection.write_all(chunk.as_bytes())?;
        }
        // A stream shorter than the mark is interrupted, or falls silent, instead of ending.
        if reply.interrupt_after.is_some() {
            return Ok(End::Cut);
        }
        if reply.hang_after.is_some() {
            return Ok(self.wait_for_ever(connection));
        }
        Ok(if reply.is_last { End::Cut } else { End::Complete })
    }

    fn wait_for_ever(&self, connection: &TcpStream) -> End {
        self.wait_while(connection, || {
            thread::sleep(GLANCE);
            true
        });
        End::HungUp
    }

    /// Repeats a short wait while it returns true; returns false if the client disconnects or the server stops.
    fn wait_while(&self, connection: &TcpStream, mut wait: impl FnMut() -> bool) -> bool {
        while wait() {
            if self.lock().is_stopping || !is_connected(connection) {
                return false;
            }
        }
        true
    }
}

/// Sleeps for a moment; returns whether the deadline is still ahead.
fn rest(until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    thread::sleep(left.min(GLANCE));
    !left.is_zero()
}

/// Returns whether the client still has its side open.
fn is_connected(connection: &TcpStream) -> bool {
    let mut byte = [0];
    let peeked = connection.set_nonblocking(true).and_then(|()| connection.peek(&mut byte));
    let restored = connection.set_nonblocking(false);
    match peeked {
        Ok(count) => count > 0 && restored.is_ok(),
        Err(error) => error.kind() == io::ErrorKind::WouldBlock && restored.is_ok(),
    }
}

fn write_status(
    mut connection: &TcpStream,
    code: u16,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {code} Scripted\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        head.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.write_all(format!("{head}\r\n{body}").as_bytes())
}
