//! Stopping what is in progress. Aborting never waits: the model's answer and summaries stop at once, tools get a
//! moment to stop by themselves.

use bowline_core::command::Origin;
use bowline_core::policy::AbortAnswer;
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use super::Session;
use crate::activity::{Activity, ChangeKind};
use crate::run::Phase;

impl Session {
    /// Aborts what is in progress and replies when it is over, or at once where the policy says so.
    pub(super) fn abort(&mut self, origin: Origin) {
        let replies_at_once = self.agent.policy().abort_answer == AbortAnswer::AtOnce;
        match &mut self.activity {
            Activity::Running(run) if !replies_at_once => {
                run.add_abort(origin);
                self.abort_run();
            }
            Activity::Preparing(preparing) if !replies_at_once => {
                preparing.aborts.push(origin);
                self.abort_run();
            }
            Activity::Running(_) | Activity::Preparing(_) => {
                self.reply(origin, Ok(Answer::Done));
                self.abort_run();
            }
            Activity::Summarizing(_) | Activity::ChangingSession(_) | Activity::Idle => {
                self.stop();
                self.reply(origin, Ok(Answer::Done));
            }
        }
    }

    /// Stops the run, the summary or the opening of a session that is in progress.
    pub(super) fn stop(&mut self) {
        match &self.activity {
            Activity::Running(_) | Activity::Preparing(_) => self.abort_run(),
            Activity::Summarizing(_) => self.abort_summary(),
            Activity::ChangingSession(change) if change.kind != ChangeKind::Copy => {
                let change = self.activity.take_session_change();
                if let Some(change) = change {
                    self.pending.remove(change.id);
                    let refusal = Refusal::new(RefusalCode::Cancelled, "Opening the session was aborted");
                    self.reply(change.origin, Err(refusal));
                }
            }
            // A copy holds the session's file; it is over soon.
            Activity::ChangingSession(_) | Activity::Idle => {}
        }
    }

    /// Stops the run.
    pub(super) fn abort_run(&mut self) {
        if matches!(self.activity, Activity::Preparing(_)) {
            return self.images_aborted();
        }
        let Some(run) = self.run_mut() else { return };
        run.abort();
        self.withdraw_dialogs();
        self.stop_showing();
        let Some(run) = self.run_mut() else { return };
        match run.take_phase() {
            Phase::Answering(answering) => self.answer_aborted(*answering),
            Phase::Backoff(id) => {
                self.pending.remove(id);
                self.end_stopped_run();
            }
            phase @ Phase::Summarizing(_) => {
                run.set_phase(phase);
                self.abort_summary();
            }
            phase @ Phase::Tools(_) => {
                run.set_phase(phase);
                self.abort_questions();
                self.abort_checks();
            }
            Phase::Deciding => {}
        }
        self.give_up_hooks();
        self.stop_waiting_for_files();
    }

    /// Stops everything. What is due is still emitted; whoever drives the session waits until it is idle.
    pub(super) fn shut_down(&mut self) {
        self.shutting_down = true;
        // The commands that came before the end are for the session that is being opened or copied.
        if !self.activity.is_changing_session() {
            self.stop();
        }
        self.abort_commands();
        self.stop_extensions();
    }
}
