//! The agent's side of a connection in memory.

use std::time::Duration;

use bowline_protocol::{Connection, Ending, Handlers, Introduction, Options, Polled};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long anything may take on a busy machine.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// How much is in transit in each direction.
pub(crate) const CAPACITY: usize = 64 * 1024;

/// What the test says and reads as the agent.
pub(crate) struct Agent {
    lines: Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
    ending: oneshot::Sender<Ending>,
    pub over: JoinHandle<()>,
}

pub(crate) fn connection(handlers: Handlers) -> (Connection, Agent) {
    connection_with(handlers, Options::default())
}

pub(crate) fn connection_with(handlers: Handlers, options: Options) -> (Connection, Agent) {
    let connection = Connection::new(options, handlers);
    let (agent, introduction) = attach(&connection);
    drop(introduction);
    (connection, agent)
}

/// Attaches an agent.
pub(crate) fn attach(connection: &Connection) -> (Agent, Introduction) {
    let (input, lines) = duplex(CAPACITY);
    let (output, source) = duplex(CAPACITY);
    let (ending, ended) = oneshot::channel();
    let ended = async { ended.await.unwrap_or_default() };
    let (introduction, over) = connection.attach(Polled(source), Polled(input), ended).unwrap();
    let lines = BufReader::new(lines).lines();
    (Agent { lines, output, ending, over }, introduction)
}

impl Agent {
    /// Returns the next line of the client; `None` at the end.
    pub async fn try_next(&mut self) -> Option<Value> {
        let line = timeout(WAIT, self.lines.next_line()).await.expect("a line of the client").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Returns the next line of the client.
    pub async fn next(&mut self) -> Value {
        self.try_next().await.expect("a line of the client before its end")
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        timeout(WAIT, self.output.write_all(bytes)).await.expect("the client reads").unwrap();
    }

    pub async fn send(&mut self, record: Value) {
        self.write(format!("{record}\n").as_bytes()).await;
    }

    /// Answers the next line, which has to be a command of this type, and returns it.
    pub async fn answer(&mut self, kind: &str, data: Value) -> Value {
        let command = self.next().await;
        assert_eq!(command["type"], kind);
        self.respond(&command, data).await;
        command
    }

    pub async fn respond(&mut self, command: &Value, data: Value) {
        let (id, name) = (&command["id"], &command["type"]);
        self.send(json!({ "type": "response", "id": id, "command": name, "success": true, "data": data }))
            .await;
    }

    /// Ends its output, for this reason.
    pub async fn end(self, ending: Ending) {
        let _ = self.ending.send(ending);
        drop(self.output);
        timeout(WAIT, self.over).await.expect("the client notices").unwrap();
    }
}

/// Returns an ending with a reason.
pub(crate) fn ending(reason: &str, will_restart: bool) -> Ending {
    Ending { reason: reason.to_owned(), will_restart, ..Ending::default() }
}

/// Returns the events that have a name as names, as far as they have come, up to the end of a run.
pub(crate) fn named(name: &str) -> Value {
    json!({ "type": "session_info_changed", "name": name })
}
