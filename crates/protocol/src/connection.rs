//! One end of a connection: commands and their responses, events, answers.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::error::{Ending, Error};
use crate::events::Events;
use crate::fan_out::{Bounds, FanOut, KeepReading};
use crate::generated::State;
use crate::handlers::{Handlers, Running};
use crate::lasting::Lasting;
use crate::line::{Answer, Command, encode, encode_value};
use crate::pending::{Failed, Outcome, Pending};
use crate::timeouts::Timeouts;
use crate::tool::{Tool, Tools};

/// The longest line that is accepted from the agent: beyond it, something other than an agent is writing.
const LINE_LIMIT: usize = 512 * 1024 * 1024;

/// The commands after which the session, its model or its thinking level may be another one.
const CHANGES_SESSION: [&str; 6] =
    ["new_session", "switch_session", "fork", "clone", "cycle_model", "cycle_thinking_level"];

/// How a connection behaves.
#[derive(Debug, Clone)]
pub struct Options {
    pub timeouts: Timeouts,
    /// How many bytes of events may wait for whoever reads them.
    pub bounds: Bounds,
    /// The longest line that is accepted from the agent. A longer one arrives as an unknown event without its content.
    pub line_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeouts: Timeouts::default(), bounds: Bounds::default(), line_limit: LINE_LIMIT }
    }
}

/// A connection to an agent. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub options: Options,
    pub handlers: Handlers,
    pub tools: Tools,
    pub pending: Pending,
    pub fan_out: Arc<FanOut>,
    pub running: Running,
    pub lasting: Lasting,
    pub link: watch::Sender<Link>,
    /// Counts the commands that have changed the session.
    pub sessions: watch::Sender<u64>,
}

/// Where lines are sent to.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    /// Nothing is attached yet, or what was attached has ended and is being replaced.
    Awaited,
    Attached(mpsc::Sender<Vec<u8>>),
    Over(Arc<Ending>),
}

impl Connection {
    /// Returns a connection to which nothing is attached yet: commands wait for that.
    pub fn new(options: Options, handlers: Handlers) -> Self {
        let fan_out = Arc::new(FanOut::new(options.bounds));
        let inner = Inner {
            options,
            tools: Tools::new(handlers.tools()),
            handlers,
            pending: Pending::default(),
            fan_out,
            running: Running::default(),
            lasting: Lasting::default(),
            link: watch::Sender::new(Link::Awaited),
            sessions: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sends a command and returns the data of its response.
    ///
    /// Cancelling it, or running out of time, does not undo the command.
    pub async fn call<Sent: Command>(&self, command: Sent) -> Result<Sent::Data, Error> {
        let limit = self.inner.options.timeouts.limit(Sent::TYPE);
        self.call_within(command, limit).await
    }

    /// Sends a command and returns the data of its response, if that arrives in time. Without a limit, waits for ever.
    pub async fn call_within<Sent: Command>(
        &self,
        command: Sent,
        limit: Option<Duration>,
    ) -> Result<Sent::Data, Error> {
        let id = self.inner.pending.new_id();
        let line = encode(Some(&id), Sent::TYPE, &command)?;
        let lasting =
            Lasting::includes(Sent::TYPE).then(|| serde_json::to_value(&command).unwrap_or_default());
        drop(command);
        let data = self.respond(Sent::TYPE, &id, line, limit).await?;
        if let Some(fields) = lasting {
            self.inner.lasting.remember(Sent::TYPE, fields);
        }
        decode(Sent::TYPE, data.as_deref().filter(|_| Sent::HAS_DATA))
    }

    /// Sends a command that this version does not know, as an object with a `type`, and returns the data of its response.
    /// Its `id` is replaced.
    pub async fn request(&self, command: Value) -> Result<Value, Error> {
        let id = self.inner.pending.new_id();
        let (kind, line) = encode_value(&id, &command)?;
        let limit = self.inner.options.timeouts.limit(&kind);
        let data = self.respond(&kind, &id, line, limit).await?;
        self.inner.lasting.remember(&kind, command);
        decode(&kind, data.as_deref())
    }

    /// Sends a line that answers a record of the agent. Handlers do that by themselves.
    pub async fn answer<Sent: Answer>(&self, answer: Sent) -> Result<(), Error> {
        let line = encode(None, Sent::TYPE, &answer)?;
        drop(answer);
        let _reading = self.keep_reading();
        let (_, room) = self.room().await?;
        room.send(line);
        Ok(())
    }

    /// Replaces the tools that the model can call, from its next turn on. A call in progress goes on.
    pub async fn set_tools(&self, tools: Vec<Tool>) -> Result<(), Error> {
        let descriptions = tools.iter().map(Tool::description).collect();
        let replacing = self.inner.tools.replace(tools);
        self.set_host_tools(descriptions).await?;
        replacing.finish();
        Ok(())
    }

    /// Subscribes to all events from now on.
    pub fn events(&self) -> Events {
        self.events_of(|_| true)
    }

    /// Subscribes to the events of some types from now on. What nobody wants is not decoded.
    pub fn events_of(&self, filter: fn(&str) -> bool) -> Events {
        let number = self.inner.fan_out.subscribe(filter);
        Events::new(Arc::clone(&self.inner.fan_out), number)
    }

    /// Has the connection read on, whoever is slow to read events, until the result is dropped. Commands do so by themselves.
    pub fn keep_reading(&self) -> KeepReading {
        self.inner.fan_out.keep_reading()
    }

    /// Returns a counter that changes with every command that may have changed which session, model or thinking level is in
    /// use.
    pub fn session_changes(&self) -> watch::Receiver<u64> {
        self.inner.sessions.subscribe()
    }

    /// Remembers the model and the thinking level of a state for the agent that takes over after a crash.
    pub fn remember_state(&self, state: &State) {
        self.inner.lasting.remember_state(state);
    }

    /// Returns how the connection ended, once it has and nothing takes over.
    pub async fn ended(&self) -> Arc<Ending> {
        let mut link = self.inner.link.subscribe();
        loop {
            if let Link::Over(ending) = &*link.borrow_and_update() {
                return Arc::clone(ending);
            }
            if link.changed().await.is_err() {
                return Arc::default();
            }
        }
    }

    async fn respond(
        &self,
        kind: &str,
        id: &str,
        line: Vec<u8>,
        limit: Option<Duration>,
    ) -> Result<Option<Box<RawValue>>, Error> {
        let _reading = self.keep_reading();
        let exchange = async {
            let (link, room) = self.room().await?;
            let mut entry = self.inner.pending.add(id, link)?;
            room.send(line);
            let outcome = (&mut entry.outcome).await;
            let data = data_of(kind, outcome.unwrap_or_else(|_| Err(Failed::Ended(Arc::default()))))?;
            if CHANGES_SESSION.contains(&kind) {
                self.inner.sessions.send_modify(|count| *count += 1);
            }
            Ok(data)
        };
        within(kind, limit, exchange).await?
    }

    /// Waits for room to send a line, and returns it with the number of the link.
    async fn room(&self) -> Result<(u64, mpsc::OwnedPermit<Vec<u8>>), Error> {
        let mut link = self.inner.link.subscribe();
        loop {
            let number = self.inner.pending.link();
            let current = link.borrow_and_update().clone();
            match current {
                Link::Over(ending) => return Err(Error::Ended(ending)),
                Link::Attached(sender) => {
                    if let Ok(permit) = sender.reserve_owned().await {
                        return Ok((number, permit));
                    }
                }
                Link::Awaited => {}
            }
            // The agent takes no lines any more. Why is known once its output has ended, too.
            if link.changed().await.is_err() {
                return Err(Error::Ended(Arc::default()));
            }
        }
    }
}

/// Returns the data of a command's response, or the error that it is.
pub(crate) fn data_of(command: &str, outcome: Outcome) -> Result<Option<Box<RawValue>>, Error> {
    outcome.map_err(|failed| match failed {
        Failed::Refused { code, message } => Error::Refused { command: command.to_owned(), code, message },
        Failed::Ended(ending) => Error::Ended(ending),
    })
}

/// Waits for what becomes of a command, but not longer than the limit.
pub(crate) async fn within<Waited: Future>(
    command: &str,
    limit: Option<Duration>,
    waited: Waited,
) -> Result<Waited::Output, Error> {
    let Some(limit) = limit else { return Ok(waited.await) };
    let late = |_| Error::TimedOut { command: command.to_owned(), limit };
    tokio::time::timeout(limit, waited).await.map_err(late)
}

fn decode<Data: DeserializeOwned>(command: &str, data: Option<&RawValue>) -> Result<Data, Error> {
    serde_json::from_str(data.map_or("null", RawValue::get))
        .map_err(|error| Error::Unreadable { command: command.to_owned(), problem: error.to_string() })
}
