//! Which messages are accepted, and what becomes of them.

use bowline_core::command::{Draft, Origin, Queue};
use bowline_core::message::Message;
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode};

use crate::engine::Engine;

/// Clients match this text, so it is that of pi.
const BUSY: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

impl Engine {
    /// Starts a run with a message, queues it, or refuses it. The message is on disk before it is accepted.
    pub(crate) fn prompt(&mut self, origin: Origin, message: Draft, when_busy: Option<Queue>) {
        if self.run.is_some() {
            let result = match when_busy {
                Some(queue) => Ok(self.enqueue(message, queue)),
                None => Err(Refusal::new(RefusalCode::Busy, BUSY)),
            };
            return self.reply(origin, result);
        }
        if let Err(refusal) = self.check_model() {
            return self.refuse_with_advice(origin, refusal);
        }
        let message = Message::user(message.text, message.images, self.now());
        match self.store(message) {
            Ok(message) => {
                self.reply(origin, Ok(Answer::Accepted(Disposition::Started)));
                self.start_run(message);
            }
            Err(refusal) => self.reply(origin, Err(refusal)),
        }
    }

    /// Puts a message into a queue, where the next call of the model or the end of the run finds it.
    pub(crate) fn enqueue(&mut self, message: Draft, queue: Queue) -> Answer {
        self.queues.push(queue, message);
        let changed = self.queues.changed();
        self.emit(changed);
        Answer::Accepted(Disposition::Queued)
    }

    pub(crate) fn clear_queue(&mut self) -> Answer {
        let (steering, follow_up) = self.queues.clear();
        let changed = self.queues.changed();
        self.emit(changed);
        Answer::Cleared { steering, follow_up }
    }

    /// Says no, and what to do about it, when there is no model to talk to.
    fn check_model(&self) -> Result<(), Refusal> {
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
