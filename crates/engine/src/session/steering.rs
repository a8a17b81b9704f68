//! Messages that reach a run in progress: the queues, and where a run takes from them.

use std::sync::Arc;

use bowline_core::command::{Draft, InterruptMode, Queue};
use bowline_core::event::{Event, QueueCause};
use bowline_core::hook::{HookEvent, HookKind};
use bowline_core::message::Message;
use bowline_core::policy::IdleQueue;
use bowline_core::reply::{Answer, Disposition};

use super::Session;
use super::hook_points::HookPoint;
use super::prompting::Submission;
use crate::hook_chain::HookOutcome;
use crate::queues::Queued;
use crate::run::TurnEnd;

impl Session {
    /// Queues a message, or starts a run with it where the policy says so and nothing is running.
    pub(super) fn steer(&mut self, submission: Submission, queue: Queue, idle_queue: IdleQueue) {
        if self.activity.is_idle() && idle_queue == IdleQueue::StartsRun {
            return self.prompt(submission, None);
        }
        if self.needs_resizing(&submission.message) {
            return self.resize_queued_images(submission, queue, idle_queue);
        }
        let Submission { origin, message, .. } = submission;
        let answer = self.enqueue(message, queue);
        self.reply(origin, Ok(answer));
    }

    /// Puts a message into a queue.
    pub(super) fn enqueue(&mut self, message: Draft, queue: Queue) -> Answer {
        self.queues.push(queue, message);
        self.emit_queues(QueueCause::Queued);
        Answer::Accepted(Disposition::Queued)
    }

    pub(super) fn clear_queue(&mut self) -> Answer {
        let (steering, follow_up) = self.queues.clear();
        self.emit_queues(QueueCause::Cleared);
        Answer::Cleared { steering, follow_up }
    }

    /// Clears the queues because their session is left.
    pub(super) fn drop_queued(&mut self) {
        if self.queues.len() > 0 {
            self.queues.clear();
            self.emit_queues(QueueCause::Cleared);
        }
    }

    /// Tells whether a steering message interrupts the turn: tool calls that have not started are skipped.
    pub(super) fn is_interrupted(&self) -> bool {
        self.switches.interrupt_mode == InterruptMode::Immediate && !self.queues.is_empty(Queue::Steering)
    }

    /// Returns the queue that the next turn takes from: steering first, follow-ups when there is nothing else to do.
    pub(super) fn next_queue(&self, end: TurnEnd) -> Option<Queue> {
        if !self.queues.is_empty(Queue::Steering) {
            Some(Queue::Steering)
        } else if end == TurnEnd::Answer && !self.queues.is_empty(Queue::FollowUp) {
            Some(Queue::FollowUp)
        } else {
            None
        }
    }

    /// Announces the messages that the next turn takes from a queue.
    pub(super) fn announce_delivery(&mut self, queue: Queue) {
        self.emit(Event::Delivering { queue, texts: self.queues.due(queue) });
    }

    /// Moves the messages of a queue, one or all as its mode says, into the conversation, and calls the model. Extensions
    /// see the messages first.
    pub(super) fn deliver_and_call(&mut self, queue: Queue) {
        if !self.is_awaited(HookKind::MessageEnd, None) {
            self.deliver(queue, None);
            return self.call_model();
        }
        let now = self.now();
        let due = self.queues.due_messages(queue, now).into_iter().map(Arc::new).collect();
        self.hook_messages(due, HookPoint::Delivery { queue });
    }

    /// Delivers the messages that extensions have seen, and calls the model.
    pub(super) fn delivery_hooked(&mut self, queue: Queue, outcome: HookOutcome) {
        let HookEvent::Context(messages) = outcome.event else { return };
        self.deliver(queue, Some(messages));
        self.call_model();
    }

    /// Moves the messages of a queue into the conversation, as they are in `hooked` if extensions have seen them.
    fn deliver(&mut self, queue: Queue, hooked: Option<Vec<Arc<Message>>>) {
        let mut hooked = hooked.map(Vec::into_iter);
        for _ in 0..self.queues.due_count(queue) {
            let Some(message) = self.queues.pop(queue) else { break };
            if message.is_users() {
                self.emit_queues(QueueCause::Delivered);
            }
            if let Queued::User(draft) = &message
                && queue == Queue::FollowUp
            {
                self.expect_output_of(draft);
            }
            let message = match hooked.as_mut().and_then(Iterator::next) {
                Some(hooked) => Arc::unwrap_or_clone(hooked),
                None => message.into_message(self.now()),
            };
            let recorded = self.record(message);
            self.announce_hooked(&recorded);
            if let Some(run) = self.run_mut() {
                run.renew_for_message();
            }
            self.budget.renew_turns();
            if hooked.as_ref().is_some_and(|hooked| hooked.len() == 0) {
                break;
            }
        }
    }

    fn emit_queues(&mut self, cause: QueueCause) {
        let changed = self.queues.changed(cause);
        self.emit(changed);
    }
}
