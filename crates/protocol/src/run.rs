//! A prompt and everything that follows from it.

use std::time::Duration;

use serde_json::Value;

use crate::connection::Connection;
use crate::error::Error;
use crate::events::Events;
use crate::generated::{
    AgentSettledRecord, AssistantContent, Disposition, Entry, ErrorKind, Event, FollowUpCommand, Message,
    PromptCommand, SteerCommand, Usage,
};

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub outcome: Outcome,
    /// The text of the last model response that has any.
    pub text: String,
    /// The messages of the run, the prompt included. Without responses that were retried.
    pub messages: Vec<Message>,
    /// The tokens of all model responses of the run, with their cost.
    pub usage: Option<Usage>,
    /// The value that the prompt asked for with `output_schema`.
    pub output: Option<Value>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model said what it had to say.
    Done,
    /// Somebody aborted it.
    Aborted,
    /// It took longer than [`Connection::prompt_and_wait_within`] allows, and was aborted for that.
    TimedOut,
    /// It failed, for this reason.
    Failed { message: String, kind: Option<ErrorKind> },
    /// An extension dealt with the prompt, and there was no run.
    Handled,
}

/// A run in progress: its events, one after the other.
///
/// When it is dropped, the run goes on; [`Connection::abort`] ends it.
#[derive(Debug)]
#[must_use = "the run goes on, and nobody sees how it ends"]
pub struct ActiveRun {
    connection: Connection,
    events: Events,
    run: Run,
    /// For each message, its entry in the session file.
    entries: Vec<Option<String>>,
    is_over: bool,
}

impl Connection {
    /// Sends a prompt, and returns its run once it is accepted.
    ///
    /// A prompt that is queued belongs to the run in progress. Fails if the prompt is refused or the agent dies.
    pub async fn run(&self, prompt: impl Into<PromptCommand>) -> Result<ActiveRun, Error> {
        self.start_run(prompt.into(), |_| true).await
    }

    /// Sends a prompt and waits until its run is over.
    ///
    /// A prompt that is queued waits for the end of the run in progress. Cancelling this does not abort the run:
    /// [`abort`](Connection::abort) does. Fails if the prompt is refused or the agent dies; a run that fails is an
    /// [`Outcome`].
    pub async fn prompt_and_wait(&self, prompt: impl Into<PromptCommand>) -> Result<Run, Error> {
        let wanted = |kind: &str| matches!(kind, "message_end" | "entry_appended" | "agent_settled");
        self.start_run(prompt.into(), wanted).await?.finish().await
    }

    /// Sends a prompt and waits until its run is over, but aborts it when it takes too long. What there is of it then has
    /// [`Outcome::TimedOut`].
    pub async fn prompt_and_wait_within(
        &self,
        prompt: impl Into<PromptCommand>,
        limit: Duration,
    ) -> Result<Run, Error> {
        let mut waiting = Box::pin(self.prompt_and_wait(prompt));
        if let Ok(run) = tokio::time::timeout(limit, &mut waiting).await {
            return run;
        }
        self.abort().await?;
        let run = waiting.await?;
        let outcome = if run.outcome == Outcome::Aborted { Outcome::TimedOut } else { run.outcome };
        Ok(Run { outcome, ..run })
    }

    async fn start_run(&self, prompt: PromptCommand, filter: fn(&str) -> bool) -> Result<ActiveRun, Error> {
        let events = self.events_of(filter);
        let is_over = self.call(prompt).await?.disposition == Disposition::Handled;
        let run = Run {
            outcome: Outcome::Handled,
            text: String::new(),
            messages: Vec::new(),
            usage: None,
            output: None,
        };
        Ok(ActiveRun { connection: self.clone(), events, run, entries: Vec::new(), is_over })
    }
}

impl ActiveRun {
    /// Returns the next event of the run; none after its last one, [`Event::AgentSettled`]. Can be cancelled without losing
    /// an event. Fails if the agent dies.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let Some(event) = self.events.next().await? else {
            return Err(Error::Ended(self.connection.ended().await));
        };
        match &event {
            Event::MessageEnd(record) => {
                self.entries.push(record.entry_id.clone());
                self.run.add(&record.message);
            }
            Event::EntryAppended(record) => self.edit(&record.entry),
            Event::AgentSettled(record) => {
                self.is_over = true;
                self.run.output = record.output.clone();
                self.run.outcome = record.clone().into();
            }
            _ => {}
        }
        Ok(Some(event))
    }

    /// Takes what is left of the events, and returns what the run came to.
    pub async fn finish(mut self) -> Result<Run, Error> {
        // The stream of somebody else may be full, and this one must go on.
        let _reading = self.connection.keep_reading();
        while self.next().await?.is_some() {}
        Ok(self.run)
    }

    /// Removes a response that is retried, as the agent does.
    fn edit(&mut self, entry: &Entry) {
        if entry.kind != "context_edit" || entry.further.get("replacement") != Some(&Value::Null) {
            return;
        }
        let Some(target) = entry.further.get("targetId").and_then(Value::as_str) else { return };
        if let Some(index) = self.entries.iter().position(|id| id.as_deref() == Some(target)) {
            self.entries.remove(index);
            self.run.messages.remove(index);
        }
    }
}

impl Run {
    fn add(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            let texts = answer.content.iter().filter_map(|block| match block {
                AssistantContent::Text(block) => Some(block.text.as_str()),
                _ => None,
            });
            let text: String = texts.collect();
            if !text.trim().is_empty() {
                self.text = text;
            }
            match &mut self.usage {
                Some(usage) => usage.add(&answer.usage),
                None => self.usage = Some(answer.usage.clone()),
            }
        }
        self.messages.push(message.clone());
    }
}

impl Usage {
    /// Adds what another response used.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total_tokens += other.total_tokens;
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
        if let Some(more) = other.reasoning {
            self.reasoning = Some(self.reasoning.unwrap_or(0) + more);
        }
    }
}

impl From<AgentSettledRecord> for Outcome {
    fn from(record: AgentSettledRecord) -> Self {
        match record.error {
            _ if record.aborted => Self::Aborted,
            Some(message) => Self::Failed { message, kind: record.error_kind },
            None => Self::Done,
        }
    }
}

/// Makes a command of a text.
macro_rules! from_text {
    ($($command:ident)*) => {$(
        impl From<&str> for $command {
            fn from(message: &str) -> Self {
                Self::new(message)
            }
        }

        impl From<String> for $command {
            fn from(message: String) -> Self {
                Self::new(message)
            }
        }
    )*};
}

from_text!(PromptCommand SteerCommand FollowUpCommand);
