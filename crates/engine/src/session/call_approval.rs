//! Questions to the user about tool calls. A call that is asked about waits; the others go on.

use std::sync::Arc;
use std::time::Instant;

use bowline_core::ask::{Approval, Ask, AskAnswer, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use bowline_core::hook::HookEvent;
use bowline_core::policy::Questions;
use bowline_core::ui::DialogAnswer;
use bowline_tools::Outcome;

use super::Session;
use crate::pending::{Awaited, PendingId};
use crate::tool_call_states::{Batch, CallState};

/// What the model reads of a call that the user did not allow.
const DENIED: &str = "The user rejected this call.";

/// What the model reads of a call that an abort overtook.
const ABORTED: &str = "Aborted while waiting for the user's decision.";

/// What extensions are told of the kind of the question.
const APPROVAL_KIND: &str = "confirm";

impl Session {
    /// Asks the user whether a call may run; where the client cannot be asked, it may not.
    pub(super) fn ask_about_call(&mut self, index: usize, reason: String, started: Instant) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        if self.agent.policy().questions == Questions::Assumed {
            let text =
                format!("This call needs the user's consent, and the client cannot ask for it: {reason}");
            return self.end_call(index, Outcome::error(text), started);
        }
        let approval = Approval {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: Arc::clone(&call.arguments),
            reason,
        };
        // Whoever calls the user to the screen needs to know of it, as of any dialog.
        let title = approval.reason.clone();
        self.tell_extensions(&HookEvent::UiPromptStart { kind: APPROVAL_KIND, title: title.clone() });
        let question = self.pending.ask(Awaited::Question { index, title });
        self.set_call_state(index, CallState::Asked { question, started });
        let token = self.agent.clock().token();
        self.emit(Event::Ask(Ask { id: question.into(), token, question: Question::Approval(approval) }));
    }

    /// Takes the user's answer. One that is late, unknown or given twice is ignored.
    pub(super) fn question_answered(&mut self, answer: AskAnswer) {
        let AskAnswer { id, decision } = answer;
        let id = PendingId::from(id);
        let index = match (self.pending.awaited(id), &decision) {
            (Some(&Awaited::Question { index, .. }), Decision::Allow | Decision::Deny { .. }) => index,
            (Some(Awaited::PassedOn(_)), _) => {
                return self.resolve_passed_on(id, decision, AskEnd::Answered);
            }
            (Some(Awaited::Dialog(_)), _) => {
                let answer =
                    if let Decision::Dialog(answer) = decision { answer } else { DialogAnswer::Cancelled };
                return self.close_dialog(id, answer, AskEnd::Answered);
            }
            _ => return,
        };
        let Some(started) = self.resolve_question(index, id, decision.clone(), AskEnd::Answered) else {
            return;
        };
        match decision {
            Decision::Dialog(_) => {}
            Decision::Allow => self.run_call(index, started),
            Decision::Deny { reason } => {
                let text = reason.map_or(DENIED.to_owned(), |reason| format!("{DENIED} {reason}"));
                self.end_call(index, Outcome::error(text), started);
            }
        }
        self.continue_batch();
    }

    /// Ends every call that waits for the user, because the run is aborted.
    pub(super) fn abort_questions(&mut self) {
        let denied = self.deny_questions();
        if denied.is_empty() {
            return;
        }
        for (index, started) in denied {
            self.end_call(index, Outcome::error(ABORTED), started);
        }
        self.continue_batch();
    }

    /// Closes every open question, because nobody can answer it any longer. Returns the calls with when they were taken
    /// up.
    pub(super) fn deny_questions(&mut self) -> Vec<(usize, Instant)> {
        let questions = self.batch().map(Batch::questions).unwrap_or_default();
        let denied = questions.into_iter().filter_map(|(index, id)| {
            let denied = Decision::Deny { reason: None };
            let started = self.resolve_question(index, id, denied, AskEnd::Withdrawn)?;
            Some((index, started))
        });
        denied.collect()
    }

    /// Closes a question and returns when its call was taken up.
    fn resolve_question(
        &mut self,
        index: usize,
        id: PendingId,
        decision: Decision,
        cause: AskEnd,
    ) -> Option<Instant> {
        let asked = self.pending.remove(id);
        let started = self.batch()?.call(index)?.started()?;
        self.emit(Event::AskResolved { id: AskId::from(id), decision, cause });
        if let Some(Awaited::Question { title, .. }) = asked {
            self.tell_extensions(&HookEvent::UiPromptEnd { kind: APPROVAL_KIND, title });
        }
        Some(started)
    }
}
