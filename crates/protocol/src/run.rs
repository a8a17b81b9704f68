//! A prompt and everything that follows from it.

use crate::connection::Connection;
use crate::error::Error;
use crate::generated::{
    AgentSettledRecord, AssistantContent, Disposition, ErrorKind, Event, FollowUpCommand, Message,
    PromptCommand, SteerCommand, Usage,
};

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub outcome: Outcome,
    /// The text of the last model response.
    pub text: String,
    /// The messages of the run, the prompt included.
    pub messages: Vec<Message>,
    /// The tokens of all model responses of the run, with their cost.
    pub usage: Option<Usage>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model said what it had to say.
    Done,
    /// Somebody aborted it.
    Aborted,
    /// It failed, for this reason.
    Failed { message: String, kind: Option<ErrorKind> },
    /// An extension dealt with the prompt, and there was no run.
    Handled,
}

impl Connection {
    /// Sends a prompt and waits until its run is over.
    ///
    /// A prompt that is queued waits for the end of the run in progress. Cancelling this does not abort the run:
    /// [`abort`](Connection::abort) does. Fails if the prompt is refused or the agent dies; a run that fails is an
    /// [`Outcome`].
    pub async fn prompt_and_wait(&self, prompt: impl Into<PromptCommand>) -> Result<Run, Error> {
        let mut events = self.events_of(|kind| matches!(kind, "message_end" | "agent_settled"));
        // The stream of somebody else may be full, and this one must go on.
        let _reading = self.keep_reading();
        let mut run =
            Run { outcome: Outcome::Handled, text: String::new(), messages: Vec::new(), usage: None };
        if self.call(prompt.into()).await?.disposition == Disposition::Handled {
            return Ok(run);
        }
        while let Some(event) = events.next().await? {
            match event {
                Event::MessageEnd(record) => run.add(record.message),
                Event::AgentSettled(record) => {
                    run.outcome = record.into();
                    return Ok(run);
                }
                _ => {}
            }
        }
        Err(Error::Ended(self.ended().await))
    }
}

impl Run {
    fn add(&mut self, message: Message) {
        if let Message::Assistant(answer) = &message {
            let texts = answer.content.iter().filter_map(|block| match block {
                AssistantContent::Text(block) => Some(block.text.as_str()),
                _ => None,
            });
            self.text = texts.collect();
            match &mut self.usage {
                Some(usage) => usage.add(&answer.usage),
                None => self.usage = Some(answer.usage.clone()),
            }
        }
        self.messages.push(message);
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
