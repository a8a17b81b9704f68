//! Which messages are accepted, and what becomes of them.

use bowline_core::command::{Draft, Origin, Queue};
use bowline_core::event::QueueCause;
use bowline_core::message::Message;
use bowline_core::policy::{IdleQueue, PromptAnswer};
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode};

use crate::compaction::Then;
use crate::engine::Engine;

/// Clients match this text, so it is that of pi.
const BUSY: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// This one too.
const COMPACTING: &str =
    "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.";

impl Engine {
    /// Starts a run with a message, queues it, or refuses it. The message is on disk before it is accepted.
    pub(crate) fn prompt(&mut self, origin: Origin, message: Draft, when_busy: Option<Queue>) {
        if self.run.is_some() {
            let result = match when_busy {
                Some(queue) => Ok(self.enqueue(message, queue)),
                None => Err(Refusal::new(RefusalCode::Busy, BUSY)),
            };
            return match result {
                Ok(answer) => self.accept_prompt(origin, answer),
                Err(refusal) => self.reply(origin, Err(refusal)),
            };
        }
        if self.is_occupied() {
            return self.reply(origin, Err(Refusal::new(RefusalCode::Compacting, COMPACTING)));
        }
        if let Err(refusal) = self.check_model() {
            return self.refuse_with_advice(origin, refusal);
        }
        if let Err(Then::Prompt { origin, message }) = self.compact_if_full(Then::Prompt { origin, message })
        {
            self.admit(origin, message);
        }
    }

    /// Accepts a message for which there is nothing in the way any more, unless its images are.
    pub(crate) fn admit(&mut self, origin: Origin, message: Draft) {
        if self.settings.resize_images && !message.images.iter().all(bowline_tools::image_fits) {
            return self.resize_images(origin, message);
        }
        self.begin(origin, message);
    }

    /// Starts a run with a message.
    pub(crate) fn begin(&mut self, origin: Origin, message: Draft) {
        let message = Message::user(message.text, message.images, self.now());
        self.futile_compaction = None;
        match self.store(message) {
            Ok(recorded) => {
                let waits_for_end = self.policy.prompt_answer == PromptAnswer::OnSettled;
                if !waits_for_end {
                    self.accept_prompt(origin.clone(), Answer::Accepted(Disposition::Started));
                }
                self.start_run(&recorded, waits_for_end.then_some(origin));
            }
            Err(refusal) => self.reply(origin, Err(refusal)),
        }
    }

    /// Answers a prompt that was accepted, unless it was answered when it arrived.
    fn accept_prompt(&mut self, origin: Origin, answer: Answer) {
        if self.policy.prompt_answer != PromptAnswer::OnReceipt {
            self.reply(origin, Ok(answer));
        }
    }

    /// Starts a run in a conversation that has begun.
    pub(crate) fn continue_conversation(&mut self, origin: Origin, message: Draft) {
        if self.run.is_none() && self.conversation.messages().is_empty() {
            let text = "there is no conversation to continue; use prompt";
            return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
        }
        self.prompt(origin, message, None);
    }

    /// Queues a message, or starts a run with it where the policy says so and nothing is running.
    pub(crate) fn steer(&mut self, origin: Origin, message: Draft, queue: Queue) {
        let is_idle = self.run.is_none() && !self.is_occupied();
        if is_idle && self.policy.idle_queue == IdleQueue::StartsRun {
            self.answer_on_receipt(&origin);
            return self.prompt(origin, message, None);
        }
        let answer = self.enqueue(message, queue);
        self.reply(origin, Ok(answer));
    }

    /// Puts a message into a queue, where the next call of the model or the end of the run finds it.
    fn enqueue(&mut self, message: Draft, queue: Queue) -> Answer {
        self.queues.push(queue, message);
        let changed = self.queues.changed(QueueCause::Queued);
        self.emit(changed);
        Answer::Accepted(Disposition::Queued)
    }

    pub(crate) fn clear_queue(&mut self) -> Answer {
        let (steering, follow_up) = self.queues.clear();
        let changed = self.queues.changed(QueueCause::Cleared);
        self.emit(changed);
        Answer::Cleared { steering, follow_up }
    }

    /// Says no, and what to do about it, when there is no model to talk to.
    pub(crate) fn check_model(&self) -> Result<(), Refusal> {
        let Some(model) = &self.model else {
            return Err(Refusal::new(
                RefusalCode::NoModel,
                "No model selected. Set a provider's key (for example ANTHROPIC_API_KEY), or store one (bowline auth set), or describe a provider in models.json, or try --model scripted/demo, which needs neither a key nor a network; then choose the model with --model provider/id or set_model.",
            ));
        };
        self.providers
            .check_credentials(model)
            .map_err(|error| Refusal::new(RefusalCode::NoCredentials, error.message))
    }
}
