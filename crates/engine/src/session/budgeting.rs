//! Limits on what runs and the session spend: they are checked before the model and tools are called, and a timer ends a
//! run whose time is up.

use bowline_core::command::Origin;
use bowline_core::event::{Event, Failure, RunOutcome};
use bowline_core::limits::{LimitChange, Spent};
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use super::Session;
use crate::agent::session_unavailable;
use crate::budget::spent_in;
use crate::input::{Output, Step};
use crate::pending::{Awaited, PendingId};
use crate::run::Run;

/// The size of a session up to which counting what it has spent does not hold up the loop, in bytes.
const COUNTED_AT_ONCE: u64 = 256 * 1024;

/// What a client wants to know or to change of the limits, while it is counted what the session has spent.
#[derive(Debug)]
pub(crate) struct Counting {
    origin: Origin,
    changes: Vec<LimitChange>,
    /// What had been spent since the session was opened when the counting began.
    since_opening: Spent,
}

impl Session {
    /// Warns of limits that are nearly reached, now that something was spent or the time is to be measured anew.
    pub(super) fn spent(&mut self) {
        for warning in self.budget.warnings() {
            self.outputs.push(Output::Event(Event::LimitWarning(warning)));
        }
        self.set_deadline();
    }

    /// Has the session look at the time when the next thing is to happen because of it.
    fn set_deadline(&mut self) {
        let left = self.budget.time_left().filter(|_| self.run().is_some_and(|run| !run.is_aborted()));
        if let Some(id) = self.deadline.take() {
            self.pending.remove(id);
        }
        self.deadline = left.map(|left| {
            self.pending.start(Awaited::Deadline, |reporter| async move {
                tokio::time::sleep(left).await;
                reporter.send(Step::DeadlineReached).await;
            })
        });
    }

    /// Warns of the time, or ends the run for it.
    pub(super) fn deadline_reached(&mut self, id: PendingId) {
        self.pending.remove(id);
        self.deadline = None;
        match self.budget.time_is_up() {
            Some(failure) => self.stop_run_for(failure),
            None => self.spent(),
        }
    }

    pub(super) fn end_budget_of_run(&mut self) {
        self.budget.end_run();
        self.set_deadline();
    }

    /// Stops the run as an abort does, but with an outcome of its own.
    pub(super) fn stop_run_for(&mut self, failure: Failure) {
        let Some(run) = self.run_mut() else { return };
        if !run.is_aborted() {
            run.fail_when_stopped(failure);
            self.abort_run();
        }
    }

    /// Ends a run that was stopped: aborted, or failed for what it was stopped for.
    pub(super) fn end_stopped_run(&mut self) {
        match self.run().and_then(Run::stop_failure).cloned() {
            Some(failure) => self.fail_turn(&failure),
            None if self.run().is_some_and(|run| run.shown().attempt) => self.end_run(RunOutcome::Aborted),
            None => self.settle(RunOutcome::Aborted),
        }
    }

    /// Counts what a subagent has spent, and stops the run if that was the rest.
    pub(super) fn subagent_spent(&mut self, spent: &Spent) {
        self.budget.spend_elsewhere(spent);
        self.spent();
        if let Some(failure) = self.budget.refuse_subagents() {
            self.stop_run_for(failure);
        }
    }

    /// Returns what the session has spent that counts for the session that started it.
    pub(crate) fn spent_for_parent(&self) -> Spent {
        self.budget.spent_for_parent()
    }

    /// Refuses what would call the model, if the session has nothing left to spend.
    pub(super) fn check_budget(&self) -> Result<(), Refusal> {
        match self.budget.refuse_run() {
            Some(failure) => Err(Refusal::new(RefusalCode::Budget, failure.text)),
            None => Ok(()),
        }
    }

    /// Changes the limits, if there is anything to change, and replies with them once it is known what was spent.
    pub(super) fn limits(&mut self, origin: Origin, changes: Vec<LimitChange>) {
        let counting = Counting { origin, changes, since_opening: self.budget.since_opening() };
        let file = self.transcript.file();
        if self.budget.knows_before() {
            return self.change_limits(counting.origin, &counting.changes);
        }
        if file.has_statistics() || file.size() <= COUNTED_AT_ONCE {
            let counted = file.statistics().map(|statistics| spent_in(&statistics));
            return self.limits_counted(counting, counted.map_err(session_unavailable));
        }
        let reader = match file.reader() {
            Ok(reader) => reader,
            Err(error) => return self.reply(counting.origin, Err(session_unavailable(error))),
        };
        self.pending.start(Awaited::Counting(counting), |reporter| async move {
            let counting = tokio::task::spawn_blocking(move || reader.statistics()).await;
            let counted = match counting {
                Ok(counted) => counted.map_err(session_unavailable),
                Err(error) => Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}"))),
            };
            reporter.send(Step::Counted(counted.map(|statistics| spent_in(&statistics)))).await;
        });
    }

    /// Goes on with what a client wants of the limits.
    pub(super) fn counted(&mut self, id: PendingId, counted: Result<Spent, Refusal>) {
        if let Some(Awaited::Counting(counting)) = self.pending.remove(id) {
            self.limits_counted(counting, counted);
        }
    }

    fn limits_counted(&mut self, counting: Counting, counted: Result<Spent, Refusal>) {
        match counted {
            Ok(spent) => {
                self.budget.count_before(&spent, &counting.since_opening);
                self.change_limits(counting.origin, &counting.changes);
            }
            Err(refusal) => self.reply(counting.origin, Err(refusal)),
        }
    }

    fn change_limits(&mut self, origin: Origin, changes: &[LimitChange]) {
        let may_widen = self.agent.settings().client_may_widen;
        let changed = self.budget.change(changes, may_widen);
        let result = match changed {
            Ok(()) => Ok(Answer::Limits(Box::new(self.budget.report()))),
            Err(text) => Err(Refusal::new(RefusalCode::Forbidden, text)),
        };
        self.reply(origin, result);
        self.spent();
    }
}
