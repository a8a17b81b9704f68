//! The course of a run: turns follow one another until there is nothing left to do, and one event ends it.

use std::sync::Arc;

use bowline_core::ErrorKind;
use bowline_core::command::{Origin, Queue};
use bowline_core::event::{Event, Failure, RunOutcome};
use bowline_core::hook::HookKind;
use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::policy::IdleQueue;
use bowline_core::reply::Answer;

use super::{Continuation, Session};
use crate::activity::Activity;
use crate::expected_output::ExpectedOutput;
use crate::hook_lane::AfterLane;
use crate::run::{AfterAttempt, Run, TurnEnd};
use crate::transcript::Recorded;

impl Session {
    /// Starts a run with the message that was accepted for it. `waiter` is replied to when the run is over.
    pub(super) fn start_run(
        &mut self,
        model: Arc<Model>,
        prompt: &[Recorded],
        waiter: Option<Origin>,
        output: Option<ExpectedOutput>,
    ) {
        let messages = prompt.iter().map(|recorded| Arc::clone(&recorded.message)).collect();
        let mut run = Run::new(model, messages, waiter);
        run.expect_output(output);
        self.activity = Activity::Running(Box::new(run));
        self.budget.start_run();
        self.spent();
        self.begin_file_changes();
        self.emit(Event::RunStart);
        self.emit(Event::TurnStart);
        for recorded in prompt {
            self.announce_hooked(recorded);
        }
        // A compaction before the run may have spent what was left.
        if let Some(failure) = self.budget.refuse_model() {
            return self.fail_turn(&failure);
        }
        if self.agent.policy().idle_queue != IdleQueue::WaitsForTurn && !self.queues.is_empty(Queue::Steering)
        {
            return self.deliver_and_call(Queue::Steering);
        }
        self.call_model();
    }

    /// Announces a run that has failed before it could begin: nothing of it becomes part of the conversation.
    pub(super) fn announce_failed_run(&mut self, failure: Failure) {
        self.emit(Event::RunStart);
        self.emit(Event::TurnStart);
        let message = self.failed_answer(&failure);
        self.announce(&Recorded { message: Arc::clone(&message), entry: None });
        self.emit(Event::TurnEnd { message: Arc::clone(&message), tool_results: Vec::new() });
        let conversation = self.transcript.messages().to_vec();
        self.emit(Event::RunEnd { messages: vec![message], conversation, will_retry: false });
        self.emit(Event::Settled { outcome: RunOutcome::Failed(failure), output: None });
    }

    /// Ends a turn and decides how the run goes on.
    pub(super) fn end_turn(&mut self, message: Arc<Message>, tool_results: Vec<Arc<Message>>) {
        let end = if tool_results.is_empty() { TurnEnd::Answer } else { TurnEnd::ToolResults };
        if self.is_hooked(HookKind::TurnEnd) {
            return self.hook_turn_end(end, message, tool_results);
        }
        self.emit_unobserved(Event::TurnEnd { message: Arc::clone(&message), tool_results });
        self.turn_over(end, &message, false);
    }

    /// Decides how the run goes on after a turn; `continues` if an extension wants another one.
    pub(super) fn turn_over(&mut self, end: TurnEnd, message: &Message, continues: bool) {
        let was_truncated = self.was_truncated_by_window(message);
        self.rules.count_turn();
        self.record_held_commands();
        self.add_held_custom_messages();
        let Some(run) = self.run() else { return };
        if run.storage_failure().is_some() {
            self.emit(Event::TurnStart);
            return self.fail_for_storage();
        }
        if run.is_aborted() {
            return self.end_stopped_run();
        }
        if run.is_stopped() {
            return self.end_run(RunOutcome::Done);
        }
        let has_mentioned_rules = self.mention_rules();
        if end == TurnEnd::ToolResults {
            self.nudge_about_todos();
        }
        // Steering messages change what the answer is to be about, follow-ups wait until it is right.
        let queue = self.next_queue(end);
        let is_checked = end == TurnEnd::Answer && queue != Some(Queue::Steering) && self.expects_output();
        if end == TurnEnd::ToolResults || (queue.is_some() && !is_checked) {
            self.compact_if_full(Continuation::NextTurn(end));
        } else if continues || has_mentioned_rules {
            self.compact_if_full(Continuation::NextTurn(TurnEnd::ToolResults));
        } else if was_truncated && self.can_recover_from_truncation() {
            self.recover_from_truncation();
        } else if self.remind_of_todos() {
            // The run goes on.
        } else if is_checked {
            self.check_output(message);
        } else {
            self.end_run(RunOutcome::Done);
        }
    }

    /// Takes the messages that wait for the next turn and calls the model again.
    pub(super) fn next_turn(&mut self, end: TurnEnd) {
        let queue = self.next_queue(end);
        match queue {
            Some(_) => self.budget.renew_turns(),
            None => self.budget.take_turn(),
        }
        self.spent();
        // What is queued stays so.
        if let Some(failure) = self.budget.refuse_model() {
            return self.fail_turn(&failure);
        }
        if let Some(queue) = queue {
            self.announce_delivery(queue);
        }
        self.emit(Event::TurnStart);
        match queue {
            Some(queue) => self.deliver_and_call(queue),
            None => self.call_model(),
        }
    }

    /// Starts another attempt of the run: the model is called again without a new message.
    pub(super) fn start_attempt(&mut self) {
        // An answer that failed is one.
        self.budget.take_turn();
        self.spent();
        if let Some(failure) = self.budget.refuse_model() {
            return self.fail_turn(&failure);
        }
        self.emit(Event::RunStart);
        self.emit(Event::TurnStart);
        self.call_model();
    }

    /// Ends the attempt since the last `RunStart`.
    pub(super) fn end_attempt(&mut self, after: AfterAttempt) {
        let messages = self.run_mut().map(Run::take_messages).unwrap_or_default();
        let conversation = self.transcript.messages().to_vec();
        let will_retry = after == AfterAttempt::Retry;
        self.emit(Event::RunEnd { messages, conversation, will_retry });
    }

    /// Ends an attempt and the run with it; a conversation that has become too long is compacted first.
    pub(super) fn end_run(&mut self, outcome: RunOutcome) {
        self.end_attempt(AfterAttempt::RunEnd);
        // An abort waits for nobody.
        if self.activity.is_stopping() {
            return self.end_run_now(outcome);
        }
        self.after_events_shown(AfterLane::EndRun(outcome));
    }

    /// Ends the run once extensions have seen the end of its last attempt.
    pub(super) fn end_run_now(&mut self, outcome: RunOutcome) {
        let Some(run) = self.run() else { return };
        if outcome == RunOutcome::Done && run.is_aborted() && run.stop_failure().is_none() {
            return self.settle(RunOutcome::Aborted);
        }
        match outcome {
            RunOutcome::Done => self.compact_if_full(Continuation::Settle(outcome)),
            RunOutcome::Aborted => self.settle(outcome),
            RunOutcome::Failed(failure) => {
                self.end_retries(&failure.text);
                self.settle(RunOutcome::Failed(failure));
            }
        }
    }

    /// Ends the run because the session cannot be written. The open turn gets an answer with the reason, since that is
    /// where clients look for it.
    pub(super) fn fail_for_storage(&mut self) {
        let Some(run) = self.run() else { return };
        let failure = Failure::new(ErrorKind::Storage, run.storage_failure().unwrap_or_default());
        let message = self.failed_answer(&failure);
        self.announce(&Recorded { message: Arc::clone(&message), entry: None });
        self.emit(Event::TurnEnd { message: Arc::clone(&message), tool_results: Vec::new() });
        if let Some(run) = self.run_mut() {
            run.add_message(message);
        }
        self.end_run(RunOutcome::Failed(failure));
    }

    /// Ends the run: the one terminal event, then the replies to those who waited for it. Messages that were queued
    /// during a last compaction start another attempt instead.
    pub(super) fn settle_now(&mut self, outcome: RunOutcome) {
        if outcome == RunOutcome::Done && self.next_queue(TurnEnd::Answer).is_some() {
            self.emit(Event::RunStart);
            return self.next_turn(TurnEnd::Answer);
        }
        if self.waits_for_files(&outcome) {
            return;
        }
        self.cancel_retries();
        self.record_held_commands();
        self.add_held_custom_messages();
        let output = self.run().and_then(Run::output).and_then(ExpectedOutput::value);
        let output = output.filter(|_| outcome == RunOutcome::Done).cloned();
        self.emit(Event::Settled { outcome: outcome.clone(), output });
        self.end_budget_of_run();
        let Some(run) = self.activity.take_run() else { return };
        self.instructions.end_run();
        let waiters = run.into_waiters();
        if let Some(origin) = waiters.prompt {
            self.reply(origin, Ok(Answer::RunOver(outcome)));
        }
        for origin in waiters.aborts {
            self.reply(origin, Ok(Answer::Done));
        }
    }
}
