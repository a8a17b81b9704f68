//! What happens once something that was waited for is over.

use bowline_core::command::Origin;
use bowline_core::event::RunOutcome;
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use super::Session;
use super::prompting::Submission;
use super::routing::RoutedCall;
use crate::run::TurnEnd;
use crate::transcript::RemovedAnswer;

/// How things go on after a wait.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// Nothing waited for it.
    Nothing,
    /// The command that caused it is replied to.
    Reply(Origin),
    /// The prompt that had to wait for it is admitted.
    Admit(Submission),
    /// The run takes its next turn.
    NextTurn(TurnEnd),
    /// The model is called again. If it cannot be, the run ends as `otherwise` says, and the answer that was removed
    /// for the call is restored.
    CallAgain { otherwise: RunOutcome, removed: Option<RemovedAnswer> },
    /// The request that had to wait for it is sent to the model that was chosen for it.
    CallRouted(Box<RoutedCall>),
    /// The run is over.
    Settle(RunOutcome),
}

impl Session {
    /// Goes on after a wait that ended with `outcome`.
    pub(super) fn proceed(&mut self, then: Continuation, outcome: Result<Answer, Refusal>) {
        match then {
            Continuation::Nothing => {}
            Continuation::Reply(origin) => self.reply(origin, outcome),
            Continuation::Admit(submission) => self.admit(submission),
            Continuation::NextTurn(end) => self.next_turn(end),
            Continuation::Settle(run_outcome) => self.settle(run_outcome),
            Continuation::CallAgain { otherwise, removed } if outcome.is_err() => {
                self.restore_answer(removed);
                self.settle(otherwise);
            }
            Continuation::CallAgain { .. } => self.start_attempt(),
            // What could not be made smaller may fit all the same.
            Continuation::CallRouted(call) => self.request_now(*call),
        }
    }

    /// Gives up what waited for something that was aborted; `what` names it in the refusal.
    pub(super) fn abandon(&mut self, then: Continuation, what: &str) {
        match then {
            Continuation::Nothing => {}
            Continuation::Reply(origin) | Continuation::Admit(Submission { origin, .. }) => {
                let refusal = Refusal::new(RefusalCode::Cancelled, format!("{what} cancelled"));
                self.reply(origin, Err(refusal));
            }
            Continuation::NextTurn(_) => self.end_stopped_run(),
            Continuation::CallRouted(call) => self.answer_aborted(call.answering),
            Continuation::CallAgain { removed, .. } => {
                self.restore_answer(removed);
                self.end_stopped_run();
            }
            // The run was over: if it was not the user who stopped it, it ends as it would have.
            Continuation::Settle(outcome) if self.run().is_some_and(|run| run.stop_failure().is_some()) => {
                self.settle(outcome);
            }
            Continuation::Settle(_) => self.settle(RunOutcome::Aborted),
        }
    }
}
