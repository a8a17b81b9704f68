//! Messages that reach a run in progress: the queues, and where a run takes from them.

use bowline_core::command::{Draft, InterruptMode, Origin, Queue, QueueMode};
use bowline_core::event::{Event, QueueCause};
use bowline_core::policy::IdleQueue;
use bowline_core::reply::{Answer, Disposition};

use super::Session;
use super::prompting::{Receipt, Submission};
use crate::run::TurnEnd;

impl Session {
    /// Queues a message, or starts a run with it where the policy says so and nothing is running.
    pub(super) fn steer(&mut self, origin: Origin, message: Draft, queue: Queue) {
        let idle_queue = self.agent.policy().idle_queue;
        let submission = Submission { origin, message, receipt: Receipt::Due };
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

    /// Moves the messages of a queue, one or all as its mode says, into the conversation.
    pub(super) fn deliver(&mut self, queue: Queue) {
        while let Some(message) = self.queues.pop(queue) {
            self.emit_queues(QueueCause::Delivered);
            let recorded = self.record(message.into_message(self.now()));
            self.announce(&recorded);
            if let Some(run) = self.run_mut() {
                run.renew_for_message();
            }
            if self.queues.mode(queue) == QueueMode::OneAtATime {
                break;
            }
        }
    }

    fn emit_queues(&mut self, cause: QueueCause) {
        let changed = self.queues.changed(cause);
        self.emit(changed);
    }
}
