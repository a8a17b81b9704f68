//! Accepting prompts: each starts a run, is queued, or is refused.

use bowline_core::ErrorKind;
use bowline_core::command::{Draft, Origin, Queue};
use bowline_core::event::{Event, Failure, LocalEvent};
use bowline_core::hook::{InputSource, StartAdditions};
use bowline_core::message::Message;
use bowline_core::policy::{Advice, IdleQueue, PromptAnswer, WhileCompacting};
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode};

use super::message_preparation::{Destination, Incoming};
use super::output::unusable_schema;
use super::{Continuation, Session};
use crate::expected_output::ExpectedOutput;

/// Clients match this text, so it is that of pi.
const BUSY: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// The same for clients that cannot queue messages.
const BUSY_WITHOUT_QUEUE: &str = "Agent is already processing. Wait until it has ended, or abort it.";

/// Clients match this one too.
const COMPACTING: &str =
    "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.";

/// A message that is to start a run.
#[derive(Debug)]
pub(crate) struct Submission {
    pub origin: Origin,
    pub message: Draft,
    pub receipt: Receipt,
    /// What extensions add to the run that it starts.
    pub additions: Vec<StartAdditions>,
    /// The message of an extension that starts the run in place of `message`, which only has its text then.
    pub of_extension: Option<Box<Message>>,
}

impl Submission {
    pub fn new(origin: Origin, message: Draft, receipt: Receipt) -> Self {
        Self { origin, message, receipt, additions: Vec::new(), of_extension: None }
    }
}

/// Whether a message was replied to when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receipt {
    Replied,
    Due,
}

impl Session {
    /// Starts a run with a message, queues it, or refuses it. The message is on disk before it is accepted.
    pub(super) fn prompt(&mut self, submission: Submission, when_busy: Option<Queue>) {
        let counts_as_running = self.activity.is_admitting()
            && self.agent.policy().while_compacting != WhileCompacting::PromptsRefused;
        if self.activity.is_running() || counts_as_running {
            return match when_busy {
                Some(Queue::Steering) if submission.message.output.is_some() => {
                    self.reply(submission.origin, Err(steering_with_output()));
                }
                Some(queue) if self.needs_resizing(&submission.message) => {
                    self.resize_queued_images(submission, queue, IdleQueue::StartsRun);
                }
                Some(queue) => {
                    let answer = self.enqueue(submission.message, queue);
                    self.reply_accepted(submission.origin, submission.receipt, answer);
                }
                None => self.reply(submission.origin, Err(self.busy())),
            };
        }
        if self.activity.is_summarizing() {
            return self.reply(submission.origin, Err(Refusal::new(RefusalCode::Compacting, COMPACTING)));
        }
        if let Err(refusal) = self.check_model() {
            return self.refuse_with_advice(submission.origin, refusal);
        }
        if let Err(refusal) = self.check_budget() {
            return self.reply(submission.origin, Err(refusal));
        }
        self.compact_if_full(Continuation::Admit(submission));
    }

    /// Starts a run with a message of an extension, queues it, or refuses it.
    pub(super) fn submit_from_extension(
        &mut self,
        submission: Submission,
        queue: Option<Queue>,
        expands: bool,
    ) {
        let destination = Destination::Run { when_busy: queue };
        self.take_message(Incoming { submission, destination, source: InputSource::Extension, expands });
    }

    /// Starts a run with the message of a command that stopped the run before.
    pub(super) fn prompt_after_abort(&mut self, origin: Origin, message: Draft) {
        let receipt = self.reply_on_receipt(&origin);
        self.take_prompt(Submission::new(origin, message, receipt));
    }

    /// Starts a run in a conversation that has begun. Without one, the command is accepted and its run fails at once:
    /// that is where its clients look for errors.
    pub(super) fn continue_conversation(&mut self, origin: Origin, message: Draft) {
        let has_model = self.check_model().is_ok();
        if has_model && self.activity.is_idle() && self.transcript.messages().is_empty() {
            self.reply(origin, Ok(Answer::Accepted(Disposition::Started)));
            let text = "there is no conversation to continue; use prompt";
            return self.announce_failed_run(Failure::new(ErrorKind::NoConversation, text));
        }
        self.take_prompt(Submission::new(origin, message, Receipt::Due));
    }

    /// Prepares a prompt of the client that is refused during a run.
    fn take_prompt(&mut self, submission: Submission) {
        let destination = Destination::Run { when_busy: None };
        self.take_message(Incoming { submission, destination, source: InputSource::Rpc, expands: true });
    }

    /// Starts a run with a message that nothing stands in the way of, once its images are small enough.
    pub(super) fn admit(&mut self, submission: Submission) {
        if self.needs_resizing(&submission.message) {
            return self.resize_images(submission);
        }
        self.prepare_start(submission);
    }

    /// Starts a run with messages that were accepted for it; the first one is the user's, or that of an extension. They are on disk before the
    /// prompt is replied to.
    pub(super) fn begin(&mut self, submission: Submission, messages: Vec<Message>) {
        let Submission { origin, message, receipt, additions, .. } = submission;
        self.futile_compaction = None;
        // The model may have become unusable while the prompt waited for its images or for extensions.
        let Some(model) = self.models.current().cloned() else {
            return self.reply(origin, Err(self.no_model()));
        };
        let output = match message.output.as_ref().map(ExpectedOutput::new).transpose() {
            Ok(output) => output,
            Err(error) => return self.reply(origin, Err(unusable_schema(&error))),
        };
        if let Err(refusal) = self.record_selection() {
            return self.reply(origin, Err(refusal));
        }
        let mut stored = Vec::new();
        for message in messages {
            match self.store(message) {
                Ok(recorded) => stored.push(recorded),
                Err(refusal) => return self.reply(origin, Err(refusal)),
            }
        }
        let waiter = if self.agent.policy().prompt_answer == PromptAnswer::OnSettled {
            Some(origin)
        } else {
            self.reply_accepted(origin, receipt, Answer::Accepted(Disposition::Started));
            None
        };
        self.instructions.set_run_additions(additions);
        self.start_run(model, &stored, waiter, output);
    }

    /// Replies to a prompt before anything is known of it, where the policy says so.
    pub(super) fn reply_on_receipt(&mut self, origin: &Origin) -> Receipt {
        if self.agent.policy().prompt_answer != PromptAnswer::OnReceipt {
            return Receipt::Due;
        }
        self.reply(origin.clone(), Ok(Answer::Accepted(Disposition::Started)));
        Receipt::Replied
    }

    /// Returns whether the command `prompt` was replied to when it arrived.
    pub(super) fn prompt_receipt(&self) -> Receipt {
        match self.agent.policy().prompt_answer {
            PromptAnswer::OnReceipt => Receipt::Replied,
            PromptAnswer::OnAdmission | PromptAnswer::OnSettled => Receipt::Due,
        }
    }

    /// Replies to a message that was accepted. If it was replied to on receipt, the client only learns when it starts no
    /// run.
    pub(super) fn reply_accepted(&mut self, origin: Origin, receipt: Receipt, answer: Answer) {
        match (receipt, &answer) {
            (Receipt::Due, _) => self.reply(origin, Ok(answer)),
            (Receipt::Replied, Answer::Accepted(Disposition::Handled)) => {
                self.emit(Event::Local(LocalEvent::Handled { origin }));
            }
            (Receipt::Replied, _) => {}
        }
    }

    /// Returns a refusal that says what to do when there is no usable model.
    pub(super) fn check_model(&self) -> Result<(), Refusal> {
        let model = self.models.current().ok_or_else(|| self.no_model())?;
        let checked = self.agent.providers().check_credentials(model);
        checked.map_err(|error| Refusal::new(RefusalCode::NoCredentials, error.message))
    }

    fn busy(&self) -> Refusal {
        let text = match self.agent.policy().advice {
            Advice::WithCommands => BUSY,
            Advice::WithoutCommands => BUSY_WITHOUT_QUEUE,
        };
        Refusal::new(RefusalCode::Busy, text)
    }

    fn no_model(&self) -> Refusal {
        if let Some(text) = self.models.missing() {
            return Refusal::new(RefusalCode::NoModel, text);
        }
        let or_command = or_set_model(self.agent.policy().advice);
        let text = format!(
            "No model selected. Set a provider's key (for example ANTHROPIC_API_KEY, or: bowline auth set --provider anthropic), or use a model server on this machine (bowline --list-models --local), or try --model scripted/demo, which needs neither a key nor a network. --model provider/id{or_command} chooses a model; bowline doctor says what is missing."
        );
        Refusal::new(RefusalCode::NoModel, text)
    }
}

/// Returns the refusal of a message that would change the form of the answer in the middle of the work on another.
fn steering_with_output() -> Refusal {
    let text = "A steering message cannot have an outputSchema: the run keeps that of its prompt. Use streamingBehavior 'followUp'.";
    Refusal::new(RefusalCode::InvalidArgument, text)
}

/// Returns the alternative to `--model`, if the client has it.
pub(super) fn or_set_model(advice: Advice) -> &'static str {
    match advice {
        Advice::WithCommands => " or set_model",
        Advice::WithoutCommands => "",
    }
}
