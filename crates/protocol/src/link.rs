//! What is attached to a connection: a task that reads and one that writes.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bowline_wire::{Line, Lines};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::connection::{Connection, Link, data_of, within};
use crate::ends::{Sink, Source};
use crate::error::{Ending, Error};
use crate::fan_out::KeepReading;
use crate::generated::{
    ApprovalStyle, Event, GetStateCommand, SetClientCapabilitiesCommand, SetHostToolsCommand,
    SetHostUriSchemesCommand,
};
use crate::line::{Command, encode};
use crate::pending::{Failed, Outcome};

/// How many lines wait to be written.
const WRITTEN_AHEAD: usize = 64;

/// What every record has.
#[derive(Deserialize)]
struct Head<'line> {
    #[serde(borrow, default)]
    r#type: Cow<'line, str>,
}

/// A response to a command.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    data: Option<Box<RawValue>>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: String,
}

/// What the agent is told of the client before anything else: its tools, its addresses, how it is asked for approvals.
#[derive(Debug)]
#[must_use = "the agent may refuse what the client has"]
pub struct Introduction {
    commands: Vec<(&'static str, oneshot::Receiver<Outcome>)>,
    limit: Option<Duration>,
    /// The responses arrive, whoever is slow to read events.
    _reading: KeepReading,
}

impl Introduction {
    /// Waits until the agent has accepted it. Fails if it has not, if it takes too long, or if it has ended.
    pub async fn accepted(self) -> Result<(), Error> {
        for (command, outcome) in self.commands {
            let outcome = within(command, self.limit, outcome).await?;
            data_of(command, outcome.unwrap_or_else(|_| Err(Failed::Ended(Arc::default()))))?;
        }
        Ok(())
    }
}

impl Connection {
    /// Attaches an agent: from now on its lines are read and lines are sent to it, in tasks of the current runtime.
    ///
    /// When its output ends, `ending` is waited for, which knows why. Commands that wait fail with that. The task ends then, and
    /// another agent may be attached.
    pub fn attach(
        &self,
        source: impl Source,
        sink: impl Sink,
        ending: impl Future<Output = Ending> + Send + 'static,
    ) -> Result<(Introduction, JoinHandle<()>), Error> {
        let (sender, lines) = mpsc::channel(WRITTEN_AHEAD);
        let introduction = self.introduce(&sender)?;
        self.inner.link.send_replace(Link::Attached(sender));
        tokio::spawn(write(lines, sink));
        let connection = self.clone();
        let reading = tokio::spawn(async move {
            connection.read(source).await;
            connection.conclude(ending.await);
        });
        Ok((introduction, reading))
    }

    /// Sends what the handlers make of the client, before anything else can be sent.
    fn introduce(&self, lines: &mpsc::Sender<Vec<u8>>) -> Result<Introduction, Error> {
        let mut sent = Vec::new();
        let handlers = &self.inner.handlers;
        if handlers.asks_for_approvals() {
            let approvals = Some(ApprovalStyle::Record);
            let command =
                SetClientCapabilitiesCommand { approvals, ..SetClientCapabilitiesCommand::default() };
            sent.push(self.send_first(lines, &command)?);
        }
        let tools = self.inner.tools.descriptions();
        if !tools.is_empty() {
            sent.push(self.send_first(lines, &SetHostToolsCommand { tools })?);
        }
        let schemes = handlers.schemes();
        if !schemes.is_empty() {
            sent.push(self.send_first(lines, &SetHostUriSchemesCommand { schemes })?);
        }
        for (kind, fields) in self.inner.lasting.commands() {
            sent.push(self.send_line(lines, kind, &fields)?);
        }
        let limit = self.inner.options.timeouts.limit(GetStateCommand::TYPE);
        Ok(Introduction { commands: sent, limit, _reading: self.keep_reading() })
    }

    fn send_first<Sent: Command>(
        &self,
        lines: &mpsc::Sender<Vec<u8>>,
        command: &Sent,
    ) -> Result<(&'static str, oneshot::Receiver<Outcome>), Error> {
        self.send_line(lines, Sent::TYPE, command)
    }

    fn send_line(
        &self,
        lines: &mpsc::Sender<Vec<u8>>,
        kind: &'static str,
        fields: &impl Serialize,
    ) -> Result<(&'static str, oneshot::Receiver<Outcome>), Error> {
        let (id, outcome) = self.inner.pending.add_first();
        // There is room: these are the first lines.
        let _ = lines.try_send(encode(Some(&id), kind, fields)?);
        Ok((kind, outcome))
    }

    /// Ends the input of the agent once what was sent before is written. From now on commands fail.
    pub fn close(&self, reason: impl Into<String>) {
        let ending = Ending { reason: reason.into(), was_requested: true, ..Ending::default() };
        self.over(&Arc::new(ending));
    }

    /// Ends the input of an agent that is dying. From now on commands wait for how it ended.
    pub fn detach(&self) {
        self.inner.link.send_if_modified(|link| {
            let is_attached = matches!(link, Link::Attached(_));
            if is_attached {
                *link = Link::Awaited;
            }
            is_attached
        });
    }

    fn over(&self, ending: &Arc<Ending>) {
        self.inner.link.send_if_modified(|link| {
            let is_first = !matches!(link, Link::Over(_));
            if is_first {
                *link = Link::Over(Arc::clone(ending));
            }
            is_first
        });
    }

    /// Ends what waits for the agent that was attached, or for one that will not be.
    pub fn conclude(&self, ending: Ending) {
        let was_closed = matches!(&*self.inner.link.borrow(), Link::Over(ending) if ending.was_requested);
        let ending = Arc::new(Ending { was_requested: was_closed || ending.was_requested, ..ending });
        self.inner.running.stop_all();
        if ending.will_restart {
            self.inner.link.send_replace(Link::Awaited);
        } else {
            self.over(&ending);
        }
        self.inner.pending.end(&ending);
        if ending.was_requested {
            self.inner.fan_out.finish();
        } else {
            self.inner.fan_out.end(&ending);
        }
    }

    async fn read(&self, mut source: impl Source) {
        let mut lines = Lines::new(self.inner.options.line_limit);
        let mut buffer = Vec::new();
        loop {
            self.inner.fan_out.room().await;
            let has_ended = matches!(source.read(&mut buffer).await, Ok(0) | Err(_));
            lines.push(&buffer);
            buffer.clear();
            while let Some(line) = lines.next_line() {
                self.take(line);
            }
            if has_ended {
                // A record without its end was cut off when the agent died.
                return;
            }
        }
    }

    fn take(&self, line: Line) {
        let (line, length) = match line {
            Line::Text(line) => (Cow::from(line), None),
            Line::TooLong { limit } => (format!("a line of more than {limit} bytes").into(), Some(0)),
            Line::NotUtf8 => ("a line that is not UTF-8".into(), Some(0)),
        };
        let kind = match serde_json::from_str(&line) {
            Ok(Head { r#type }) if length.is_none() => r#type,
            _ => {
                let bytes = line.len();
                return self.publish("", Event::Unknown(Value::String(line.into_owned())), bytes);
            }
        };
        if kind == "response" {
            self.take_response(&line);
        } else if self.inner.handlers.handles(&kind) || self.inner.fan_out.is_wanted(&kind) {
            // Whatever is in an object, it is at least an unknown event.
            if let Ok(event) = serde_json::from_str::<Event>(&line) {
                self.handle(&kind, &event);
                self.publish(&kind, event, line.len());
            }
        }
    }

    fn take_response(&self, line: &str) {
        let Ok(response) = serde_json::from_str::<Response>(line) else { return self.publish_unknown(line) };
        let Value::String(id) = response.id else { return self.publish_unknown(line) };
        let outcome = if response.success {
            Ok(response.data)
        } else {
            Err(Failed::Refused { code: response.code, message: response.error })
        };
        self.inner.pending.finish(&id, outcome);
    }

    /// Shows a response to no command of ours, which reports a line that the agent could not read.
    fn publish_unknown(&self, line: &str) {
        if let Ok(value) = serde_json::from_str(line) {
            self.publish("response", Event::Unknown(value), line.len());
        }
    }

    fn publish(&self, kind: &str, event: Event, bytes: usize) {
        self.inner.fan_out.publish(kind, event, bytes);
    }
}

/// Writes lines until there are no more, and drops the sink, which ends the agent's input.
async fn write(mut lines: mpsc::Receiver<Vec<u8>>, mut sink: impl Sink) {
    while let Some(line) = lines.recv().await {
        // Why it cannot be written is known when the output ends.
        if sink.write(&line).await.is_err() {
            return;
        }
    }
}
