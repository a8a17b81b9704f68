//! A run: everything from an accepted prompt to the one event that says it is over.

use std::sync::Arc;

use bowline_core::command::{Draft, Origin, Queue, QueueMode};
use bowline_core::event::{Event, QueueCause, RunOutcome};
use bowline_core::message::{Message, StopReason};
use bowline_core::policy::{AbortAnswer, IdleQueue};
use bowline_core::reply::Answer;
use bowline_core::stream::{FailureKind, StreamError};
use tokio_util::sync::CancellationToken;

use crate::answer::Answering;
use crate::compaction::Then;
use crate::engine::{Engine, Input};
use crate::images::Resizing;
use crate::recording::Recorded;
use crate::task::Task;
use crate::tool_batch::Batch;

/// What clients read when a retry was given up by hand.
const RETRY_CANCELLED: &str = "Retry cancelled";

/// A run that is under way.
#[derive(Debug)]
pub(crate) struct Run {
    pub phase: Phase,
    /// Cancels the tools of this run.
    pub cancel: CancellationToken,
    pub aborted: bool,
    /// The messages added since the last `RunStart`.
    pub messages: Vec<Arc<Message>>,
    /// How often the call that is under way was tried again.
    pub retries: u32,
    /// Why the session can no longer be written, if so.
    pub storage_failure: Option<String>,
    /// Whether room was made since the last message of the user because the conversation was too long.
    pub overflow_handled: bool,
    /// The prompt that is answered when the run is over, where the policy says so.
    prompt: Option<Origin>,
    /// The abort commands that are answered when the run is over.
    pub aborts: Vec<Origin>,
}

/// What a run is waiting for.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Images of its prompt, before which nothing can be told of it.
    Images(Resizing),
    /// Nothing: the engine is just deciding how the run goes on.
    Deciding,
    /// The model.
    Answering(Box<Answering>),
    /// The tools that the model called.
    Tools(Batch),
    /// A summary of what was said so far.
    Compacting,
    /// The time for another try.
    Backoff { number: u64, _timer: Task },
}

impl Run {
    pub(crate) fn new(phase: Phase, prompt: Option<Origin>) -> Self {
        Self {
            phase,
            cancel: CancellationToken::new(),
            aborted: false,
            messages: Vec::new(),
            retries: 0,
            storage_failure: None,
            overflow_handled: false,
            prompt,
            aborts: Vec::new(),
        }
    }
}

impl Engine {
    /// Opens a run with the message that was accepted for it. `origin` is answered when the run is over.
    pub(crate) fn start_run(&mut self, prompt: &Recorded, origin: Option<Origin>) {
        let mut run = Run::new(Phase::Deciding, origin);
        run.messages.push(Arc::clone(&prompt.message));
        self.run = Some(run);
        self.emit(Event::RunStart);
        self.emit(Event::TurnStart);
        self.announce(prompt);
        if self.policy.idle_queue != IdleQueue::WaitsForTurn {
            self.deliver(Queue::Steering);
        }
        self.call_model();
    }

    /// Closes a turn and decides how the run goes on.
    pub(crate) fn end_turn(&mut self, message: Arc<Message>, tool_results: Vec<Arc<Message>>) {
        let called_tools = !tool_results.is_empty();
        let was_cut_off = self.was_cut_off(&message);
        self.emit(Event::TurnEnd { message, tool_results });
        self.record_finished_shells();
        let Some(run) = &self.run else { return };
        if run.storage_failure.is_some() {
            self.emit(Event::TurnStart);
            return self.fail_for_storage();
        }
        if run.aborted {
            return self.end_run(RunOutcome::Aborted);
        }
        if self.next_queue(called_tools).is_none() && !called_tools {
            if was_cut_off && self.compact_for_cut_off() {
                return;
            }
            return self.end_run(RunOutcome::Done);
        }
        if let Err(Then::NextTurn { called_tools }) = self.compact_if_full(Then::NextTurn { called_tools }) {
            self.next_turn(called_tools);
        }
    }

    /// Goes on with the messages that wait for it and another call of the model.
    pub(crate) fn next_turn(&mut self, called_tools: bool) {
        let queue = self.next_queue(called_tools);
        if let Some(queue) = queue {
            self.emit(Event::Delivering { queue, texts: self.queues.due(queue) });
        }
        self.emit(Event::TurnStart);
        if let Some(queue) = queue {
            self.deliver(queue);
        }
        self.call_model();
    }

    /// Returns the queue that the next turn takes from: steering first, and follow-ups when there is nothing else.
    fn next_queue(&self, called_tools: bool) -> Option<Queue> {
        if !self.queues.is_empty(Queue::Steering) {
            Some(Queue::Steering)
        } else if !called_tools && !self.queues.is_empty(Queue::FollowUp) {
            Some(Queue::FollowUp)
        } else {
            None
        }
    }

    /// Puts the messages of a queue, one or all as its mode says, into the conversation.
    fn deliver(&mut self, queue: Queue) {
        while let Some(Draft { text, images }) = self.queues.pop(queue) {
            let changed = self.queues.changed(QueueCause::Delivered);
            self.emit(changed);
            let recorded = self.record(Message::user(text, images, self.now()));
            self.announce(&recorded);
            if let Some(run) = &mut self.run {
                run.overflow_handled = false;
            }
            if self.queues.mode(queue) == QueueMode::OneAtATime {
                break;
            }
        }
    }

    /// Ends a turn in which the model failed, and with it the run, unless the call is to be tried again.
    pub(crate) fn turn_failed(&mut self, message: &Arc<Message>, error: &StreamError) {
        self.emit(Event::TurnEnd { message: Arc::clone(message), tool_results: Vec::new() });
        let overflowed = error.kind == FailureKind::ContextOverflow;
        if overflowed && self.settings.auto_compaction && !self.storage_has_failed() {
            return self.compact_for_overflow(error.message.clone());
        }
        let Some(run) = &mut self.run else { return };
        let attempt = run.retries + 1;
        let stored = run.storage_failure.is_none();
        let delay = self.settings.retry.delay(error, attempt, self.clock.chance());
        let Some(delay) = delay.filter(|_| stored) else {
            return self.end_run(RunOutcome::Failed(error.message.clone()));
        };
        run.retries = attempt;
        self.end_stretch(true);
        let max_attempts = self.settings.retry.max_retries;
        self.emit(Event::RetryStart { attempt, max_attempts, delay, error: error.message.clone() });
        self.forget_failed_answer();
        self.record_finished_shells();
        let number = self.next_number();
        let inputs = self.inputs.clone();
        let timer = Task::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = inputs.send(Input::RetryDue { number }).await;
        });
        self.set_phase(Phase::Backoff { number, _timer: timer });
    }

    /// Makes another try, if the timer that rang is the one the run waits for.
    pub(crate) fn retry_due(&mut self, due: u64) {
        let waiting = self.run.as_ref().map(|run| &run.phase);
        if !matches!(waiting, Some(Phase::Backoff { number, .. }) if *number == due) {
            return;
        }
        self.set_phase(Phase::Deciding);
        self.emit(Event::RunStart);
        self.emit(Event::TurnStart);
        self.call_model();
    }

    /// Ends the turn and the run because the session cannot be written. The open turn gets an answer that says so,
    /// since that is where clients look for what went wrong.
    pub(crate) fn fail_for_storage(&mut self) {
        let Some(run) = &self.run else { return };
        let text = run.storage_failure.clone().unwrap_or_default();
        let message = self.empty_answer(StopReason::Error, &text);
        self.announce(&Recorded { message: Arc::clone(&message), entry: None });
        self.emit(Event::TurnEnd { message: Arc::clone(&message), tool_results: Vec::new() });
        if let Some(run) = &mut self.run {
            run.messages.push(message);
        }
        self.end_run(RunOutcome::Failed(text));
    }

    /// Stops the run. Answers from the model stop at once; tools get the time to die.
    pub(crate) fn abort_run(&mut self) {
        let Some(run) = &mut self.run else { return };
        run.aborted = true;
        run.cancel.cancel();
        match std::mem::replace(&mut run.phase, Phase::Deciding) {
            Phase::Answering(answering) => self.answer_aborted(*answering),
            Phase::Backoff { .. } => self.settle(RunOutcome::Aborted),
            Phase::Compacting => self.abort_compaction(),
            Phase::Images(resizing) => self.images_aborted(resizing),
            waiting @ (Phase::Tools(_) | Phase::Deciding) => run.phase = waiting,
        }
    }

    /// Tells whether a run was aborted and its tools are still dying.
    pub(crate) fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.aborted)
    }

    /// Aborts what is under way and answers `origin` when it is over, or at once where the policy says so.
    pub(crate) fn abort(&mut self, origin: Origin) {
        match &mut self.run {
            Some(run) if self.policy.abort_answer == AbortAnswer::OnSettled => {
                run.aborts.push(origin);
                self.abort_run();
            }
            Some(_) => {
                self.reply(origin, Ok(Answer::Done));
                self.abort_run();
            }
            None => {
                self.abort_summaries();
                self.reply(origin, Ok(Answer::Done));
            }
        }
    }

    /// Stops what works on a summary without a run.
    pub(crate) fn abort_summaries(&mut self) {
        self.abort_compaction();
        self.abort_navigation();
    }

    /// Tells whether something other than a run keeps the conversation from being added to.
    pub(crate) fn is_occupied(&self) -> bool {
        self.is_compacting() || self.is_navigating()
    }

    /// Gives up a retry that waits for its time. The run is over then.
    pub(crate) fn abort_retry(&mut self, origin: Origin) {
        let Some(run) = &mut self.run else { return self.reply(origin, Ok(Answer::Done)) };
        if !matches!(run.phase, Phase::Backoff { .. }) {
            return self.reply(origin, Ok(Answer::Done));
        }
        run.phase = Phase::Deciding;
        self.end_retries();
        self.reply(origin, Ok(Answer::Done));
        self.settle(RunOutcome::Aborted);
    }

    /// Ends a stretch and the run with it; a conversation that has become too long is compacted first.
    pub(crate) fn end_run(&mut self, outcome: RunOutcome) {
        self.end_stretch(false);
        if let RunOutcome::Failed(error) = &outcome {
            let error = error.clone();
            self.end_retries_with(error);
        }
        if outcome != RunOutcome::Done {
            return self.settle(outcome);
        }
        if let Err(Then::Settle(outcome)) = self.compact_if_full(Then::Settle(outcome)) {
            self.settle(outcome);
        }
    }

    /// Closes the stretch of the run since the last `RunStart`.
    pub(crate) fn end_stretch(&mut self, will_retry: bool) {
        let messages = self.run.as_mut().map(|run| std::mem::take(&mut run.messages)).unwrap_or_default();
        let conversation = self.conversation.messages().to_vec();
        self.emit(Event::RunEnd { messages, conversation, will_retry });
    }

    /// Says that the run is over: the one terminal event, then the answers of those who waited for it. What was
    /// queued while a last compaction ran starts the next stretch instead.
    pub(crate) fn settle(&mut self, outcome: RunOutcome) {
        if outcome == RunOutcome::Done && self.next_queue(false).is_some() {
            self.emit(Event::RunStart);
            return self.next_turn(false);
        }
        self.end_retries();
        self.record_finished_shells();
        self.emit(Event::Settled(outcome.clone()));
        let Some(run) = self.run.take() else { return };
        if let Some(origin) = run.prompt {
            self.reply(origin, Ok(Answer::RunOver(outcome)));
        }
        for origin in run.aborts {
            self.reply(origin, Ok(Answer::Done));
        }
    }

    fn end_retries(&mut self) {
        self.end_retries_with(RETRY_CANCELLED.to_owned());
    }

    /// Closes a series of retries that did not succeed, if one is open.
    fn end_retries_with(&mut self, error: String) {
        let Some(run) = &mut self.run else { return };
        let attempt = std::mem::take(&mut run.retries);
        if attempt > 0 {
            self.emit(Event::RetryEnd { success: false, attempt, final_error: Some(error) });
        }
    }

    pub(crate) fn set_phase(&mut self, phase: Phase) {
        if let Some(run) = &mut self.run {
            run.phase = phase;
        }
    }
}
