//! A run: everything from an accepted prompt to the one event that ends it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::command::Origin;
use bowline_core::event::{Event, Failure};
use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_llm::Assembly;
use tokio_util::sync::CancellationToken;

use crate::activity::Summarizing;
use crate::expected_output::ExpectedOutput;
use crate::pending::PendingId;
use crate::todo_progress::TodoProgress;
use crate::tool_call_states::Batch;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    phase: Phase,
    /// The model of the current call. A change of model takes effect with the next call.
    model: Arc<Model>,
    /// Cancels the tools of this run.
    cancel: CancellationToken,
    aborted: bool,
    /// What the run fails for when it has stopped, if it was not the user who stopped it.
    stop_failure: Option<Failure>,
    /// The messages added since the last `RunStart`.
    messages: Vec<Arc<Message>>,
    shown: Shown,
    /// How often the current call was retried.
    retries: u32,
    /// The answer that failed, if the call is made again for that.
    failed_answer: Option<Arc<Message>>,
    /// Why the session can no longer be written, if so.
    storage_failure: Option<String>,
    /// Whether the conversation was compacted for being too long since the user's last message.
    overflow_handled: bool,
    /// How many turns have started.
    started_turns: u32,
    /// Whether an extension wants the run to end with this turn.
    stopped: bool,
    /// The prompt that is replied to when the run is over, where the policy says so.
    prompt: Option<Origin>,
    /// The abort commands that are replied to when the run is over.
    aborts: Vec<Origin>,
    /// What the prompt that the run works on asks for.
    output: Option<ExpectedOutput>,
    /// What counts for reminders of the list of tasks.
    pub todos: TodoProgress,
}

/// What a run is waiting for.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Nothing: the session is just deciding how the run goes on.
    Deciding,
    /// The model's answer.
    Answering(Box<Answering>),
    /// The tools that the model called.
    Tools(Batch),
    /// A summary of the conversation.
    Summarizing(Box<Summarizing>),
    /// The time for a retry.
    Backoff(PendingId),
}

/// An answer that is being streamed.
#[derive(Debug)]
pub(crate) struct Answering {
    pub id: PendingId,
    pub assembly: Assembly,
    pub asked: Instant,
    pub first_piece: Option<Duration>,
    /// Whether clients were told that the message began.
    pub is_announced: bool,
}

/// What a turn ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// The results of tools, which the model has yet to see.
    ToolResults,
    /// An answer that leaves nothing to do.
    Answer,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterAttempt {
    /// Another attempt, without a message of the user.
    Retry,
    /// The end of the run, unless messages are queued.
    RunEnd,
}

/// What clients have seen begin and not end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    pub attempt: bool,
    pub turn: bool,
    pub message: bool,
}

/// Who is to be replied to when a run is over.
#[derive(Debug, Default)]
pub(crate) struct RunWaiters {
    pub prompt: Option<Origin>,
    pub aborts: Vec<Origin>,
}

impl Run {
    /// Returns a run that starts with these messages. `prompt` is replied to when the run is over.
    pub fn new(model: Arc<Model>, messages: Vec<Arc<Message>>, prompt: Option<Origin>) -> Self {
        Self {
            phase: Phase::Deciding,
            model,
            cancel: CancellationToken::new(),
            aborted: false,
            stop_failure: None,
            messages,
            shown: Shown::default(),
            retries: 0,
            failed_answer: None,
            storage_failure: None,
            overflow_handled: false,
            started_turns: 0,
            stopped: false,
            prompt,
            aborts: Vec::new(),
            output: None,
            todos: TodoProgress::default(),
        }
    }

    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    pub fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Takes the phase out; the run is deciding until another one is set.
    pub fn take_phase(&mut self) -> Phase {
        std::mem::replace(&mut self.phase, Phase::Deciding)
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Sets the model for the call that is made next.
    pub fn set_model(&mut self, model: Arc<Model>) {
        self.model = model;
    }

    /// Notes that clients see an event.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::RunStart => self.shown.attempt = true,
            Event::RunEnd { .. } => self.shown.attempt = false,
            Event::TurnStart => {
                self.shown.turn = true;
                self.started_turns = self.started_turns.saturating_add(1);
            }
            Event::TurnEnd { .. } => self.shown.turn = false,
            Event::MessageStart(_) => self.shown.message = true,
            Event::MessageEnd { .. } => self.shown.message = false,
            _ => {}
        }
    }

    pub fn shown(&self) -> Shown {
        self.shown
    }

    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Marks the run as aborted and tells its tools to stop.
    pub fn abort(&mut self) {
        self.aborted = true;
        self.cancel.cancel();
    }

    /// Has the run fail for this when it has stopped.
    pub fn fail_when_stopped(&mut self, failure: Failure) {
        self.stop_failure = Some(failure);
    }

    pub fn stop_failure(&self) -> Option<&Failure> {
        self.stop_failure.as_ref()
    }

    /// Has the run end with this turn.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns the number of the current turn, from 0.
    pub fn turn_index(&self) -> u32 {
        self.started_turns.saturating_sub(1)
    }

    pub fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Adds a message to the current attempt.
    pub fn add_message(&mut self, message: Arc<Message>) {
        self.messages.push(message);
    }

    /// Returns the messages of the attempt that ends; the next one starts without any.
    pub fn take_messages(&mut self) -> Vec<Arc<Message>> {
        std::mem::take(&mut self.messages)
    }

    pub fn retries(&self) -> u32 {
        self.retries
    }

    pub fn set_retries(&mut self, retries: u32) {
        self.retries = retries;
    }

    /// Ends a series of retries and returns how many there were.
    pub fn take_retries(&mut self) -> u32 {
        std::mem::take(&mut self.retries)
    }

    /// Notes the answer for whose failure the call is made again.
    pub fn set_failed_answer(&mut self, answer: Option<Arc<Message>>) {
        self.failed_answer = answer;
    }

    pub fn failed_answer(&self) -> Option<&Arc<Message>> {
        self.failed_answer.as_ref()
    }

    pub fn storage_failure(&self) -> Option<&str> {
        self.storage_failure.as_deref()
    }

    /// Notes that the session cannot be written. The first reason counts.
    pub fn fail_storage(&mut self, reason: String) {
        self.storage_failure.get_or_insert(reason);
    }

    /// Notes that the conversation is compacted for being too long; returns whether it was already.
    pub fn handle_overflow(&mut self) -> bool {
        std::mem::replace(&mut self.overflow_handled, true)
    }

    pub fn is_overflow_handled(&self) -> bool {
        self.overflow_handled
    }

    /// Notes that the user sent another message, for which the conversation may be compacted again.
    pub fn renew_for_message(&mut self) {
        self.overflow_handled = false;
    }

    /// Has the work on the current prompt end with this.
    pub fn expect_output(&mut self, expected: Option<ExpectedOutput>) {
        self.output = expected;
    }

    pub fn output(&self) -> Option<&ExpectedOutput> {
        self.output.as_ref()
    }

    pub fn output_mut(&mut self) -> Option<&mut ExpectedOutput> {
        self.output.as_mut()
    }

    /// Has an abort command replied to when the run is over.
    pub fn add_abort(&mut self, origin: Origin) {
        self.aborts.push(origin);
    }

    /// Ends the run and returns who waits for that.
    pub fn into_waiters(self) -> RunWaiters {
        RunWaiters { prompt: self.prompt, aborts: self.aborts }
    }

    pub fn batch(&self) -> Option<&Batch> {
        match &self.phase {
            Phase::Tools(batch) => Some(batch),
            _ => None,
        }
    }

    pub fn batch_mut(&mut self) -> Option<&mut Batch> {
        match &mut self.phase {
            Phase::Tools(batch) => Some(batch),
            _ => None,
        }
    }

    pub fn summarizing_mut(&mut self) -> Option<&mut Summarizing> {
        match &mut self.phase {
            Phase::Summarizing(summarizing) => Some(summarizing),
            _ => None,
        }
    }

    pub fn take_summarizing(&mut self) -> Option<Summarizing> {
        match self.take_phase() {
            Phase::Summarizing(summarizing) => Some(*summarizing),
            other => {
                self.phase = other;
                None
            }
        }
    }

    pub fn take_answering(&mut self) -> Option<Answering> {
        match self.take_phase() {
            Phase::Answering(answering) => Some(*answering),
            other => {
                self.phase = other;
                None
            }
        }
    }
}
