//! Panics. One in a task, or in the handling of an input, ends what it was for with an internal error; the process and
//! its other sessions go on. The panic itself is reported on stderr by the panic hook.

use bowline_core::event::RunOutcome;
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_core::stream::{FailureKind, StreamError};
use bowline_tools::Outcome;

use super::Session;
use crate::activity::Activity;
use crate::pending::{Awaited, PendingId};
use crate::run::{AfterAttempt, Run};

impl Session {
    /// Ends what a task was for that panicked.
    pub(super) fn task_panicked(&mut self, id: PendingId, message: &str) {
        let error = || StreamError::new(FailureKind::Internal, text(message));
        match self.pending.awaited(id) {
            Some(Awaited::Answer) => {
                if let Some(answering) = self.run_mut().and_then(Run::take_answering) {
                    self.answer_failed(answering, error());
                }
            }
            Some(&Awaited::Call { index }) => self.tool_ended(index, Outcome::error(text(message))),
            Some(Awaited::Backoff) => self.backoff_over(id),
            Some(Awaited::Images) => self.refuse_preparing(&refusal(message)),
            Some(Awaited::Summary) => self.summarized(Err(error())),
            Some(Awaited::SessionChange) => self.session_ready(id, Err(refusal(message))),
            Some(Awaited::Job { .. }) => self.job_done(id, Err(refusal(message))),
            Some(Awaited::UserCommand(_)) => self.command_done(id, Err(text(message))),
            Some(Awaited::Question { .. }) | None => {}
        }
    }

    /// Ends everything in progress after [`Session::handle`] panicked, so that the session can be used again.
    pub fn recover_from_panic(&mut self, panic: &(dyn std::any::Any + Send)) {
        let message = crate::pending::panic_message(panic);
        for awaited in self.pending.remove_all() {
            if let Awaited::Job { origin }
            | Awaited::UserCommand(crate::pending::UserCommand { origin, .. }) = awaited
            {
                self.reply(origin, Err(refusal(&message)));
            }
        }
        // What is in memory may have lost step with the file, which holds whatever was announced.
        let _ = self.transcript.reload();
        match &self.activity {
            Activity::Idle => {}
            Activity::Running(_) => {
                self.end_attempt(AfterAttempt::RunEnd);
                self.settle(RunOutcome::Failed(text(&message)));
            }
            Activity::Preparing(_) => self.refuse_preparing(&refusal(&message)),
            Activity::Summarizing(_) => self.abort_summary(),
            Activity::ChangingSession(_) => {
                if let Some(change) = self.activity.take_session_change() {
                    self.reply(change.origin, Err(refusal(&message)));
                }
            }
        }
        self.work_off_backlog();
    }
}

fn refusal(message: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, text(message))
}

fn text(message: &str) -> String {
    format!("Internal error: {message}. Please report it with what stderr shows.")
}
