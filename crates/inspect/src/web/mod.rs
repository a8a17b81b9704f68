//! The page's server: on loopback, for whoever knows the token.
//!
//! A page asks for rows and waits for further ones, so nothing is kept for a page that is slow or gone. Every request must
//! have the token in its path and the address of this server in `Host`, because a page from elsewhere can send requests
//! here under a name of its own. What changes something also needs the token in a header, which no form can send.

mod answer;
mod connection;
mod request;
mod token;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_http_head::Head;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::Error;
use crate::page;
use crate::pass_through::{Input, Refused};
use crate::protocol::Protocols;
use crate::store::Store;
use answer::Answer;
use request::{Request, Wanted};
use token::Token;

/// How many connections there may be at a time.
const MOST_CONNECTIONS: usize = 32;

/// How long a request for further rows waits for them.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// How many rows one answer has.
const MOST_ROWS_AT_ONCE: usize = 1000;

/// What is served, and to whom.
pub(crate) struct Site {
    listener: TcpListener,
    port: u16,
    token: Token,
    store: Arc<Store>,
    protocols: Arc<Protocols>,
    input: Option<Arc<Input>>,
    connections: Arc<Semaphore>,
    /// How many rows the page has that is furthest.
    delivered: watch::Sender<Delivered>,
    /// When a page has asked for rows.
    last_seen: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Delivered {
    rows: usize,
    /// Whether the page knows that nothing follows.
    is_over: bool,
}

impl Site {
    /// Opens a port on loopback.
    pub async fn open(
        store: Arc<Store>,
        protocols: Arc<Protocols>,
        input: Option<Arc<Input>>,
    ) -> Result<Arc<Self>, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Error::Listen)?;
        let port = listener.local_addr().map_err(Error::Listen)?.port();
        Ok(Arc::new(Self {
            listener,
            port,
            token: Token::random()?,
            store,
            protocols,
            input,
            connections: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            delivered: watch::Sender::new(Delivered::default()),
            last_seen: Mutex::default(),
        }))
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.as_str())
    }

    /// Serves connections for ever.
    pub async fn serve_shared(self: Arc<Self>) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Too many open files, for example, which passes.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            match Arc::clone(&self.connections).try_acquire_owned() {
                Ok(permit) => {
                    let site = Arc::clone(&self);
                    tokio::spawn(async move {
                        connection::serve(stream, &site).await;
                        drop(permit);
                    });
                }
                Err(_) => connection::turn_away(&stream),
            }
        }
    }

    /// Serves connections for ever.
    pub async fn serve(self: &Arc<Self>) {
        Arc::clone(self).serve_shared().await;
    }

    /// Waits until a page that is open has the last rows.
    pub async fn farewell(&self) {
        let last_seen = *self.last_seen.lock().unwrap_or_else(PoisonError::into_inner);
        if last_seen.is_none_or(|time| time.elapsed() > 2 * LONGEST_WAIT) {
            return;
        }
        let mut delivered = self.delivered.subscribe();
        let rows = self.store.progress().rows;
        let _ = delivered.wait_for(|delivered| delivered.is_over && delivered.rows >= rows).await;
    }

    /// Reads the head of a request. The answer to one that is refused is the error.
    fn admit(&self, head: &Head<'_>) -> Result<Request, Answer> {
        request::admit(head, self.port, &self.token)
    }

    /// Answers a request.
    async fn answer(&self, request: Request, body: Vec<u8>) -> Answer {
        match request.wanted {
            Wanted::Page => {
                Answer::page(page::live(self.token.as_str(), self.input.is_some()), page::live_policy())
            }
            Wanted::Records { from } => self.records(from).await,
            Wanted::Record { number } => self.record(number).await,
            Wanted::Commands => self.commands(),
            Wanted::Send => self.send(body),
        }
    }

    async fn records(&self, from: usize) -> Answer {
        *self.last_seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let mut watch = self.store.watch();
        let more = watch.wait_for(|progress| progress.rows > from || progress.is_over);
        let _ = timeout(LONGEST_WAIT, more).await;
        let progress = self.store.progress();
        let (store, protocols) = (Arc::clone(&self.store), Arc::clone(&self.protocols));
        let rows = move || page::rows(&store, &protocols, from, MOST_ROWS_AT_ONCE);
        let rows = match tokio::task::spawn_blocking(rows).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => return Answer::failure("500 Internal Server Error", &error.to_string()),
            Err(_) => return Answer::failure("500 Internal Server Error", "the rows could not be read"),
        };
        let next = from + rows.len();
        let is_over = progress.is_over && next >= progress.rows;
        self.delivered.send_modify(|delivered| {
            delivered.rows = delivered.rows.max(next);
            delivered.is_over |= is_over;
        });
        let about = json!({
            "next": next,
            "rows": progress.rows.max(next),
            "isOver": is_over,
            "dialect": self.protocols.chosen().map(|protocol| protocol.name),
            "header": self.store.header(),
        });
        let mut text = about.to_string();
        for row in rows {
            text.push('\n');
            text.push_str(&row);
        }
        Answer::json_lines(text)
    }

    /// Answers with one row, as it was recorded.
    async fn record(&self, number: usize) -> Answer {
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || store.read(number, 1, u64::MAX)).await;
        match read.ok().and_then(Result::ok).and_then(|mut rows| rows.pop()) {
            Some(row) => Answer::json_lines(row),
            None => Answer::failure("404 Not Found", "there is no such record"),
        }
    }

    fn commands(&self) -> Answer {
        let commands = self.protocols.chosen().map(|protocol| protocol.commands()).unwrap_or_default();
        Answer::json_lines(serde_json::to_string(&commands).unwrap_or_default())
    }

    /// Sends a line of the page to the command.
    fn send(&self, body: Vec<u8>) -> Answer {
        let Some(input) = &self.input else {
            return Answer::failure(
                "409 Conflict",
                "this is a recording: there is nobody to send commands to",
            );
        };
        if body.contains(&b'\n') || std::str::from_utf8(&body).is_err() {
            return Answer::failure("400 Bad Request", "a command is one line of UTF-8");
        }
        match input.add_line(body) {
            Ok(()) => {
                let input = Arc::clone(input);
                // The command may not be reading.
                tokio::task::spawn_blocking(move || input.write_pending());
                Answer::json_lines("{}".to_owned())
            }
            Err(Refused::Closed) => Answer::failure("409 Conflict", "the command's stdin is closed"),
            Err(Refused::Full) => {
                Answer::failure("503 Service Unavailable", "the command does not read its stdin")
            }
        }
    }
}
