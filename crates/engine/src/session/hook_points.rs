//! The moments that wait for extensions, and how each goes on.

use std::sync::Arc;
use std::time::Instant;

use bowline_core::command::{Origin, Queue, Request, SummaryInstructions};
use bowline_core::event::RunOutcome;
use bowline_core::hook::HookEvent;
use bowline_core::message::{Message, StopReason, ToolCall};

use super::Session;
use super::message_preparation::Incoming;
use super::prompting::Submission;
use crate::hook_chain::HookOutcome;
use crate::run::TurnEnd;

/// What waits for extensions.
#[derive(Debug)]
pub(crate) enum HookPoint {
    /// A message of the user arrived.
    Input(Incoming),
    /// A prompt is about to start its run.
    Start(Submission),
    /// The messages of a prompt are about to be recorded; the first one is the user's.
    PromptMessages { submission: Submission, messages: Vec<Message> },
    /// The model's answer is complete.
    Answer(FinishedAnswer),
    /// A tool is about to run.
    Call { index: usize, started: Instant },
    /// A tool has run.
    CallResult { index: usize, started: Instant, ends_run: bool },
    /// The results of all tools are about to be recorded.
    CallMessages,
    /// Queued messages are about to be delivered.
    Delivery { queue: Queue },
    /// A turn is over.
    TurnEnd { end: TurnEnd },
    /// A run is about to end.
    Settle { outcome: RunOutcome },
    /// The user runs a shell command.
    Shell { origin: Origin, command: String, exclude_from_context: bool },
    /// The client changes to another session.
    SessionChange(Request),
    /// The conversation is about to be compacted.
    Compaction { instructions: Option<String> },
    /// The conversation is about to move to another entry.
    Navigation { summarize: bool, instructions: Option<SummaryInstructions> },
    /// A session has started.
    Resources,
    /// An event is shown to extensions before anybody else sees it.
    Shown,
}

/// A complete answer that is not recorded yet.
#[derive(Debug)]
pub(crate) struct FinishedAnswer {
    pub message: Arc<Message>,
    pub calls: Vec<ToolCall>,
    pub refusals: Vec<Option<String>>,
    pub reason: StopReason,
}

impl HookPoint {
    /// Tells whether it belongs to the run in progress.
    pub fn is_of_run(&self) -> bool {
        match self {
            Self::Answer(_)
            | Self::Call { .. }
            | Self::CallResult { .. }
            | Self::CallMessages
            | Self::Delivery { .. }
            | Self::TurnEnd { .. }
            | Self::Settle { .. } => true,
            Self::Input(_)
            | Self::Start(_)
            | Self::PromptMessages { .. }
            | Self::Shell { .. }
            | Self::SessionChange(_)
            | Self::Compaction { .. }
            | Self::Navigation { .. }
            | Self::Resources
            | Self::Shown => false,
        }
    }

    /// Tells whether later commands wait for it, so that messages and changes of session keep their order.
    pub fn is_exclusive(&self) -> bool {
        matches!(self, Self::Input(_) | Self::SessionChange(_))
    }
}

impl Session {
    /// Goes on after a hook.
    pub(super) fn hook_done(&mut self, point: HookPoint, outcome: HookOutcome) {
        match point {
            HookPoint::Input(incoming) => self.input_hooked(incoming, outcome),
            HookPoint::Start(submission) => self.start_hooked(submission, outcome),
            HookPoint::PromptMessages { submission, messages } => {
                self.prompt_messages_hooked(submission, messages, outcome);
            }
            HookPoint::Answer(answer) => {
                let message = message_of(outcome.event, answer.message.clone());
                self.answer_hooked(FinishedAnswer { message, ..answer });
            }
            HookPoint::Call { index, started } => self.call_hooked(index, started, outcome),
            HookPoint::CallResult { index, started, ends_run } => {
                self.call_result_hooked(index, started, ends_run, outcome);
            }
            HookPoint::CallMessages => self.call_messages_hooked(outcome),
            HookPoint::Delivery { queue } => self.delivery_hooked(queue, outcome),
            HookPoint::TurnEnd { end } => self.turn_end_hooked(end, outcome),
            HookPoint::Settle { outcome: run_outcome } => self.settle_hooked(run_outcome, outcome),
            HookPoint::Shell { origin, command, exclude_from_context } => {
                self.shell_hooked(origin, command, exclude_from_context, outcome);
            }
            HookPoint::SessionChange(request) => self.session_change_hooked(request, &outcome),
            HookPoint::Compaction { instructions } => self.compaction_hooked(instructions, outcome),
            HookPoint::Navigation { summarize, instructions } => {
                self.navigation_hooked(summarize, instructions, outcome);
            }
            HookPoint::Resources => self.resources_hooked(outcome),
            HookPoint::Shown => {}
        }
    }
}

/// Returns the message that a hook left.
pub(super) fn message_of(event: HookEvent, otherwise: Arc<Message>) -> Arc<Message> {
    if let HookEvent::MessageEnd(message) = event { message } else { otherwise }
}
