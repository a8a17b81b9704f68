//! A client of a connection with several sessions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bowline_server::{Connection, Interruption};
use bowline_testkit::assert_well_formed;
use bowline_wire::memory;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

/// How long the agent may take to send what a test waits for.
const LIMIT: Duration = Duration::from_secs(10);

/// How many records a failing test shows, and how much of each.
const SHOWN_RECORDS: usize = 30;
const SHOWN_LENGTH: usize = 200;

/// A client, and what it has sent and received. A test ends with [`Client::finish`].
pub struct Client {
    pipe: memory::Client,
    serving: JoinHandle<u8>,
    interrupt: UnboundedSender<Interruption>,
    buffer: Vec<u8>,
    /// What was received, and whether a test has waited for it.
    received: Vec<(Value, bool)>,
    sent: Vec<(u64, Value)>,
}

/// Runs a test as the client of a connection, on one thread with it.
pub async fn serve<F: Future<Output = ()>>(connection: Connection, test: impl FnOnce(Client) -> F) {
    serve_over(connection, 1 << 20, test).await;
}

/// Runs a test over pipes that hold `capacity` bytes.
pub async fn serve_over<F: Future<Output = ()>>(
    connection: Connection,
    capacity: usize,
    test: impl FnOnce(Client) -> F,
) {
    let local = LocalSet::new();
    let test = async {
        let (input, output, pipe) = memory::pair(capacity);
        let (interrupt, interruptions) = unbounded_channel();
        let serving = tokio::task::spawn_local(connection.serve(input, output, interruptions));
        test(Client { pipe, serving, interrupt, buffer: Vec::new(), received: Vec::new(), sent: Vec::new() })
            .await;
    };
    local.run_until(test).await;
}

impl Client {
    /// Sends lines in one write.
    pub async fn send_all(&mut self, lines: impl IntoIterator<Item = Value>) {
        let mut bytes = Vec::new();
        for line in lines {
            let id = line.get("id").or_else(|| line["command"].get("id")).cloned();
            self.sent.extend(id.map(|id| (line["session"].as_u64().unwrap_or(0), id)));
            bytes.extend(format!("{line}\n").into_bytes());
        }
        timeout(LIMIT, self.pipe.send(&bytes)).await.expect("the agent reads").unwrap();
    }

    pub async fn send(&mut self, line: Value) {
        self.send_all([line]).await;
    }

    /// Sends a prompt to a session.
    pub async fn prompt(&mut self, session: u64, id: &str, text: &str) {
        self.send(prompt(session, id, text)).await;
    }

    /// Sends a prompt and waits for the end of its run.
    pub async fn run(&mut self, session: u64, id: &str, text: &str) -> Value {
        self.prompt(session, id, text).await;
        self.until_type(session, "agent_settled").await
    }

    /// Opens a further session and returns the response.
    pub async fn open(&mut self, session: u64, directory: &Path) -> Value {
        let id = format!("open-{session}-{}", self.sent.len());
        self.send(open(session, &id, directory, None)).await;
        self.response(session, &id).await
    }

    /// Sends a command without arguments and returns the response.
    pub async fn ask(&mut self, session: u64, command: &str) -> Value {
        let id = format!("ask-{}", self.sent.len());
        self.send(json!({ "session": session, "command": { "id": id, "type": command } })).await;
        self.response(session, &id).await
    }

    /// Waits for a record that no test has waited for yet.
    pub async fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut looked_at = 0;
        loop {
            let mut fresh = self.received.iter_mut().skip(looked_at);
            if let Some((record, seen)) = fresh.find(|(record, seen)| !seen && is_wanted(record)) {
                *seen = true;
                return record.clone();
            }
            looked_at = self.received.len();
            assert!(self.read().await, "the connection has ended\n{}", self.transcript());
        }
    }

    pub async fn until_type(&mut self, session: u64, name: &str) -> Value {
        let record = self.until(|line| line["session"] == session && line["record"]["type"] == name).await;
        record["record"].clone()
    }

    pub async fn until_delta(&mut self, session: u64, text: &str) {
        self.until(|line| {
            line["session"] == session && line["record"]["assistantMessageEvent"]["delta"] == text
        })
        .await;
    }

    /// Waits for the response to a command.
    pub async fn response(&mut self, session: u64, id: &str) -> Value {
        let is_it = |line: &Value| {
            line["session"] == session && line["record"]["type"] == "response" && line["record"]["id"] == id
        };
        self.until(is_it).await["record"].clone()
    }

    /// Returns the roles and texts of a session's conversation.
    pub async fn conversation(&mut self, session: u64) -> Vec<String> {
        let response = self.ask(session, "get_messages").await;
        let messages = response["data"]["messages"].as_array().unwrap().clone();
        messages.iter().map(outline).collect()
    }

    /// Returns the records of a session so far.
    pub fn records(&self, session: u64) -> Vec<Value> {
        let of_session = self.received.iter().filter(|(line, _)| line["session"] == session);
        of_session.map(|(line, _)| line["record"].clone()).collect()
    }

    pub fn of_type(&self, session: u64, name: &str) -> Vec<Value> {
        self.records(session).into_iter().filter(|record| record["type"] == name).collect()
    }

    /// Has the connection end with an exit code, as a signal does.
    pub fn stop(&mut self, code: u8) {
        self.interrupt(Interruption::Stop(code));
    }

    pub fn interrupt(&mut self, interruption: Interruption) {
        self.interrupt.send(interruption).unwrap();
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.pipe.close();
    }

    /// Returns the bare pipe, for tests of a dialect with one session. The connection is served on.
    pub fn into_pipe(self) -> memory::Client {
        self.pipe
    }

    /// Ends the input, and checks what holds at the end of every test: each command was replied to once, and the events
    /// of each session form whole runs.
    pub async fn finish(self) {
        assert_eq!(self.end().await, 0);
    }

    /// Does the same and returns the exit code.
    pub async fn end(mut self) -> u8 {
        self.pipe.close();
        while self.read().await {}
        let code = timeout(LIMIT, &mut self.serving).await.expect("the connection ends").unwrap();
        let mut sessions: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for (line, _) in &self.received {
            sessions.entry(line["session"].as_u64().unwrap()).or_default().push(line["record"].clone());
        }
        sessions.values().for_each(|records| assert_well_formed(records));
        for (session, id) in &self.sent {
            let is_reply = |record: &&Value| record["type"] == "response" && record["id"] == *id;
            let count = sessions.get(session).map_or(0, |records| records.iter().filter(is_reply).count());
            assert_eq!(count, 1, "{id} of session {session}\n{}", self.transcript());
        }
        code
    }

    /// Reads more; returns whether there was more.
    async fn read(&mut self) -> bool {
        let before = self.buffer.len();
        let read = timeout(LIMIT, self.pipe.receive(&mut self.buffer)).await;
        let Ok(count) = read else { panic!("nothing more is sent\n{}", self.transcript()) };
        // Only the new bytes are searched: a long line comes in many pieces.
        let end = self.buffer[before..].iter().rposition(|byte| *byte == b'\n');
        let complete = end.map_or(0, |end| before + end + 1);
        for line in self.buffer.drain(..complete).as_slice().split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                self.received.push((serde_json::from_slice(line).unwrap(), false));
            }
        }
        count.unwrap() > 0
    }

    /// Returns the last records, a line each.
    fn transcript(&self) -> String {
        let last = self.received.len().saturating_sub(SHOWN_RECORDS);
        let short = |line: &Value| line.to_string().chars().take(SHOWN_LENGTH).collect::<String>();
        let lines = self.received[last..].iter().map(|(line, _)| short(line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

pub fn prompt(session: u64, id: &str, text: &str) -> Value {
    json!({ "session": session, "command": { "id": id, "type": "prompt", "message": text } })
}

pub fn command(session: u64, id: &str, name: &str) -> Value {
    json!({ "session": session, "command": { "id": id, "type": name } })
}

pub fn open(session: u64, id: &str, directory: &Path, file: Option<&Path>) -> Value {
    json!({ "session": session, "id": id, "open": { "directory": directory, "file": file } })
}

pub fn close(session: u64, id: &str) -> Value {
    json!({ "session": session, "id": id, "close": true })
}

/// Returns the role and the text of a message.
fn outline(message: &Value) -> String {
    let blocks = message["content"].as_array().into_iter().flatten();
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    format!("{}: {text}", message["role"].as_str().unwrap())
}
