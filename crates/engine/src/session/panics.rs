//! Panics. One in a task, or in the handling of an input, ends what it was for with an internal error; the process and
//! its other sessions go on. The panic itself is reported on stderr by the panic hook.

use bowline_core::ErrorKind;
use bowline_core::event::{AskEnd, CompactionOutcome, Event, Failure, RunOutcome};
use bowline_core::message::StopReason;
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::ui::DialogAnswer;
use bowline_extension::Expansion;
use bowline_tools::Outcome;

use super::{Continuation, Session};
use crate::activity::{Activity, Summarizing, SummarySubject};
use crate::call_gate::Verdict;
use crate::host::HostCallEnd;
use crate::pending::{Awaited, PendingId, panic_message};
use crate::run::{Phase, Run, Shown};

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
            Some(Awaited::Hook(_)) => self.give_up_hook(id),
            Some(Awaited::ExtensionCommand(_)) => self.extension_command_done(id, Err(text(message))),
            Some(Awaited::PassedOn(_)) => self.withdraw_passed_on(id),
            Some(Awaited::Dialog(_)) => self.close_dialog(id, DialogAnswer::Cancelled, AskEnd::Withdrawn),
            Some(Awaited::HostCall(_)) => self.cancel_host_call(id, HostCallEnd::Aborted),
            Some(Awaited::Backoff) => self.backoff_over(id),
            Some(Awaited::Deadline) => self.deadline_reached(id),
            Some(Awaited::Counting(_)) => self.counted(id, Err(refusal(&text(message)))),
            Some(Awaited::Images { .. }) => self.refuse_preparing(&refusal(&text(message))),
            Some(Awaited::QueuedImages(_)) => self.refuse_queued_images(id, refusal(&text(message))),
            Some(Awaited::Summary) => self.summarized(Err(error())),
            Some(Awaited::SessionChange) => self.session_ready(id, Err(refusal(&text(message)))),
            Some(Awaited::State { .. }) => self.state_unavailable(id, refusal(&text(message))),
            Some(Awaited::Job { .. }) => self.job_done(id, Err(refusal(&text(message)))),
            Some(Awaited::FileChanges(_)) => self.files_changed(id, None),
            Some(Awaited::UserCommand(_)) => self.command_done(id, Err(text(message))),
            Some(Awaited::Expansion(_)) => self.expanded(id, Expansion::Unchanged),
            Some(Awaited::ExtensionsStopped) => drop(self.pending.remove(id)),
            Some(Awaited::HostsStopped) => self.hosts_stopped(id, None),
            Some(Awaited::Verdict(_)) => self.verdict_ready(id, Verdict::refused(text(message))),
            Some(Awaited::Review { .. }) => self.review_done(id, &Verdict::refused(text(message))),
            Some(Awaited::Question(_)) => self.question_over(id, AskEnd::Withdrawn),
            Some(Awaited::Remembered) => self.remembered(id, Err(text(message))),
            None => {}
        }
    }

    /// Ends everything in progress after [`Session::handle`] panicked, so that the session can be used again. Requests
    /// that have waited so far are carried out.
    pub fn recover_from_panic(&mut self, panic: &(dyn std::any::Any + Send)) {
        let error = text(&panic_message(panic));
        self.stop_showing();
        self.deny_questions();
        self.withdraw_host_questions();
        self.pending.remove_all();
        self.approvals.clear();
        self.recover_attachment();
        self.local_commands.clear();
        // What is in memory may have lost step with the file, which holds whatever was announced.
        let _ = self.transcript.reload();
        match &self.activity {
            Activity::Idle => {}
            Activity::Running(_) => self.fail_run(&error),
            Activity::Preparing(_) => self.refuse_preparing(&refusal(&error)),
            Activity::Summarizing(_) => {
                if let Some(summarizing) = self.activity.take_summarizing() {
                    self.fail_summary(summarizing, &error);
                }
            }
            Activity::ChangingSession(_) => drop(self.activity.take_session_change()),
        }
        self.record_held_commands();
        self.refuse_unanswered(&refusal(&error));
        self.work_off_backlog();
    }

    /// Ends the run with an internal error. Whatever clients have seen begin is ended first.
    fn fail_run(&mut self, error: &str) {
        let Some(run) = self.run_mut() else { return };
        match run.take_phase() {
            Phase::Answering(answering) => {
                let message = self.interrupt(*answering, StopReason::Error, internal(error));
                self.emit(Event::TurnEnd { message, tool_results: Vec::new() });
                return self.end_run(RunOutcome::Failed(internal(error)));
            }
            phase @ Phase::Tools(_) => {
                run.set_phase(phase);
                self.fail_batch(error);
            }
            Phase::Summarizing(summarizing) => match self.fail_summary(*summarizing, error) {
                // The run has an error that clients know, and was only waiting for a way around it.
                Continuation::CallAgain { otherwise: outcome @ RunOutcome::Failed(_), .. } => {
                    return self.settle(outcome);
                }
                Continuation::CallAgain { removed, .. } => self.restore_answer(removed),
                _ => {}
            },
            Phase::Backoff(_) | Phase::Deciding => {}
        }
        self.fail_turn(&internal(error));
    }

    /// Ends the run with an answer that carries the error, since that is where clients look for it.
    pub(super) fn fail_turn(&mut self, failure: &Failure) {
        let Shown { attempt, turn, message } = self.run().map(Run::shown).unwrap_or_default();
        if !attempt {
            self.emit(Event::RunStart);
        }
        if !turn {
            self.emit(Event::TurnStart);
        }
        let answer = self.failed_answer(failure);
        let recorded = self.record((*answer).clone());
        if message {
            self.announce_end(&recorded);
        } else {
            self.announce(&recorded);
        }
        self.emit(Event::TurnEnd { message: recorded.message, tool_results: Vec::new() });
        self.end_run(RunOutcome::Failed(failure.clone()));
    }

    /// Announces that a summary failed, and returns what waited for it.
    fn fail_summary(&mut self, summarizing: Summarizing, error: &str) -> Continuation {
        let Summarizing { subject, then, is_retrying, .. } = summarizing;
        if is_retrying {
            self.emit(Event::SummaryRetryEnd);
        }
        if let SummarySubject::Compaction { reason, .. } = subject {
            let outcome = CompactionOutcome::Failed(error.to_owned());
            self.emit(Event::CompactionEnd { reason, outcome, will_retry: false });
        }
        then
    }

    /// Refuses every request that nothing in progress will reply to any longer; those in the backlog still get their turn.
    fn refuse_unanswered(&mut self, refusal: &Refusal) {
        let mut waiting: Vec<_> = self.backlog.iter().map(|request| request.origin.clone()).collect();
        for origin in self.unanswered.clone() {
            match waiting.iter().position(|waiting| *waiting == origin) {
                Some(index) => drop(waiting.swap_remove(index)),
                None => self.reply(origin, Err(refusal.clone())),
            }
        }
    }
}

fn refusal(text: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, text)
}

fn internal(text: &str) -> Failure {
    Failure::new(ErrorKind::Internal, text)
}

fn text(message: &str) -> String {
    format!("Internal error: {message}. Please report it with what stderr shows.")
}
