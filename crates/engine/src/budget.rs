//! What a run and a session may spend, and what they have spent: cost, tokens, turns, tool calls, time.
//!
//! A limit stops what would come next. An answer that leaves nothing to do ends its run well, whatever it cost.

mod limit_texts;
mod stopwatch;

use std::time::Duration;

use bowline_core::ErrorKind;
use bowline_core::event::{CompactionOutcome, Event, Failure};
use bowline_core::limits::{
    LimitChange, LimitScope, LimitSet, LimitWarning, Limited, LimitsReport, ScopeReport, Spent,
};
use bowline_core::usage::Usage;
use bowline_session::{Clock, Statistics};

use self::stopwatch::Stopwatch;

/// The part of a limit at which clients are warned.
const WARNING: f64 = 0.8;

const SCOPES: [LimitScope; 2] = [LimitScope::Run, LimitScope::Session];

/// What the model needs to be called.
const FOR_MODEL: &[Limited] = &[Limited::Cost, Limited::Tokens, Limited::Turns, Limited::Seconds];

/// What a tool needs to be called.
const FOR_TOOL: &[Limited] = &[Limited::Cost, Limited::Tokens, Limited::ToolCalls, Limited::Seconds];

/// What is spent, and how much of it there is.
#[derive(Debug)]
pub(crate) struct Budget {
    /// What the user has set. Clients cannot exceed it unless they may.
    configured: LimitSet,
    limits: LimitSet,
    run: Spent,
    /// What was spent since the session was opened.
    session: Spent,
    /// What had been spent before, by its file; none if nobody has looked yet.
    before: Option<Spent>,
    stopwatch: Stopwatch,
    /// What clients were warned of in this run.
    warned: Vec<(LimitScope, Limited)>,
    /// Why a tool was not called in this run, if so. The run ends for it.
    refused: Option<Failure>,
}

impl Budget {
    pub fn new(limits: LimitSet, clock: Clock) -> Self {
        Self {
            configured: limits,
            limits,
            run: Spent::default(),
            session: Spent::default(),
            before: None,
            stopwatch: Stopwatch::new(clock),
            warned: Vec::new(),
            refused: None,
        }
    }

    /// Begins to count for another session, which has spent this before.
    pub fn enter(&mut self, before: Option<Spent>) {
        self.run = Spent::default();
        self.session = Spent::default();
        self.before = before;
        self.stopwatch.run = Duration::ZERO;
        self.stopwatch.session = Duration::ZERO;
    }

    /// Uses limits that were configured anew. What the client has set holds as far as it is stricter.
    pub fn configure(&mut self, configured: LimitSet) {
        let previous = std::mem::replace(&mut self.configured, configured);
        for scope in SCOPES {
            for limited in Limited::ALL {
                let (current, new) =
                    (self.limits.of(scope).get(*limited), configured.of(scope).get(*limited));
                let is_own = current != previous.of(scope).get(*limited);
                let limit = if is_own { strictest(current, new) } else { new };
                self.limits.of_mut(scope).set(*limited, limit);
            }
        }
    }

    pub fn start_run(&mut self) {
        self.run = Spent { turns: 1, ..Spent::default() };
        self.warned.clear();
        self.refused = None;
        self.stopwatch.change(|stopwatch| stopwatch.is_running = true);
        self.stopwatch.run = Duration::ZERO;
    }

    pub fn end_run(&mut self) {
        self.stopwatch.change(|stopwatch| {
            stopwatch.is_running = false;
            stopwatch.questions.clear();
        });
    }

    /// Counts what an event says was spent. Returns whether anything has changed.
    pub fn observe(&mut self, event: &Event) -> bool {
        match event {
            Event::MessageEnd { message, entry } => {
                let Some(answer) = message.as_assistant() else { return false };
                // What says that a limit was reached is no answer of the model.
                let is_stop =
                    answer.content.is_empty() && answer.error_kind.is_some_and(ErrorKind::is_of_limit);
                self.session.turns += u64::from(entry.is_some() && !is_stop);
                self.spend(&answer.usage);
            }
            Event::ToolEnd { result, .. } => match &result.usage {
                Some(usage) => self.spend(usage),
                None => return false,
            },
            Event::CompactionEnd { outcome: CompactionOutcome::Done(result), .. } => {
                self.spend(&result.usage);
            }
            Event::Ask(ask) => self.stopwatch.change(|stopwatch| stopwatch.questions.push(ask.id)),
            Event::AskResolved { id, .. } => {
                self.stopwatch.change(|stopwatch| stopwatch.questions.retain(|open| open != id));
            }
            _ => return false,
        }
        true
    }

    /// Counts what a call of a model used.
    pub fn spend(&mut self, usage: &Usage) {
        self.spend_elsewhere(&Spent {
            cost: usage.cost.total,
            tokens: usage.total_tokens,
            ..Spent::default()
        });
    }

    /// Counts what a subagent spent.
    pub fn spend_elsewhere(&mut self, spent: &Spent) {
        self.run.add(spent);
        self.session.add(spent);
    }

    /// Returns what the run has spent that counts for the session that it is a part of. Turns are limited one by one.
    pub fn spent_for_parent(&self) -> Spent {
        Spent { turns: 0, seconds: 0.0, ..self.session }
    }

    /// Counts a turn that follows without a message of the user.
    pub fn take_turn(&mut self) {
        self.run.turns += 1;
    }

    /// Counts the turns of the run anew, because the user sent another message.
    pub fn renew_turns(&mut self) {
        self.run.turns = 1;
    }

    /// Counts a tool call.
    pub fn start_call(&mut self) {
        self.run.tool_calls += 1;
        self.session.tool_calls += 1;
    }

    /// Returns why the model is not called again in this run, if so. The turn that follows is counted already.
    pub fn refuse_model(&self) -> Option<Failure> {
        let refused = self.refused.clone().filter(|_| self.stopwatch.is_running);
        refused.or_else(|| self.reached(FOR_MODEL))
    }

    /// Returns why a tool is not called, if so. The run ends for it.
    pub fn refuse_tool(&mut self) -> Option<Failure> {
        let failure = self.reached(FOR_TOOL)?;
        Some(self.refused.get_or_insert(failure).clone())
    }

    /// Returns why no run is started, if so: what the session may spend is used up.
    pub fn refuse_run(&self) -> Option<Failure> {
        let used_up = |limited: &&Limited| self.is_reached(LimitScope::Session, **limited);
        let limited = Limited::ALL.iter().find(used_up)?;
        Some(self.failure(LimitScope::Session, *limited))
    }

    /// Returns why the run is to end now, because its time is up.
    pub fn time_is_up(&self) -> Option<Failure> {
        self.reached(&[Limited::Seconds])
    }

    /// Returns why subagents may not go on, if so. What they call has been counted already.
    pub fn refuse_subagents(&self) -> Option<Failure> {
        let more_calls = |scope: &LimitScope| {
            let limit = self.limits.of(*scope).get(Limited::ToolCalls);
            limit.is_some_and(|limit| self.spent(*scope).get(Limited::ToolCalls) > limit)
        };
        let calls =
            || SCOPES.into_iter().find(more_calls).map(|scope| self.failure(scope, Limited::ToolCalls));
        self.reached(&[Limited::Cost, Limited::Tokens]).or_else(calls)
    }

    fn reached(&self, needed: &[Limited]) -> Option<Failure> {
        // What the last run spent does not matter to the next.
        let scopes =
            SCOPES.iter().filter(|scope| **scope == LimitScope::Session || self.stopwatch.is_running);
        let all = scopes.flat_map(|scope| needed.iter().map(|limited| (*scope, *limited)));
        let (scope, limited) = all.into_iter().find(|(scope, limited)| self.is_reached(*scope, *limited))?;
        Some(self.failure(scope, limited))
    }

    fn is_reached(&self, scope: LimitScope, limited: Limited) -> bool {
        let Some(limit) = self.limits.of(scope).get(limited) else { return false };
        let spent = self.spent(scope).get(limited);
        match (scope, limited) {
            // The turn that is about to begin is counted already.
            (LimitScope::Run, Limited::Turns) => spent > limit,
            _ => spent >= limit,
        }
    }

    /// Returns what was spent, with the time of the run in progress.
    fn spent(&self, scope: LimitScope) -> Spent {
        let lap = self.stopwatch.lap();
        let (mut spent, time) = match scope {
            LimitScope::Run => (self.run, self.stopwatch.run + lap),
            LimitScope::Session => {
                let mut spent = self.session;
                spent.add(&self.before.unwrap_or_default());
                (spent, self.stopwatch.session + lap)
            }
        };
        spent.seconds = (time.as_secs_f64() * 1000.0).round() / 1000.0;
        spent
    }

    fn failure(&self, scope: LimitScope, limited: Limited) -> Failure {
        let limit = self.limits.of(scope).get(limited).unwrap_or_default();
        limit_texts::failure(scope, limited, limit, self.spent(scope).get(limited))
    }

    /// Returns the limits that are nearly reached and that clients have not been warned of in this run.
    pub fn warnings(&mut self) -> Vec<LimitWarning> {
        let mut warnings = Vec::new();
        if !self.stopwatch.is_running {
            return warnings;
        }
        for scope in SCOPES {
            let spent = self.spent(scope);
            for limited in Limited::ALL {
                let Some(max) = self.limits.of(scope).get(*limited) else { continue };
                let used = spent.get(*limited);
                if used >= WARNING * max && !self.warned.contains(&(scope, *limited)) {
                    self.warned.push((scope, *limited));
                    warnings.push(LimitWarning { scope, limited: *limited, used, max });
                }
            }
        }
        warnings
    }

    /// Returns the time until something is to happen because of the time that has passed; none if nothing is.
    pub fn time_left(&self) -> Option<Duration> {
        if !self.stopwatch.is_going() {
            return None;
        }
        let left = SCOPES.iter().filter_map(|scope| {
            let limit = self.limits.of(*scope).get(Limited::Seconds)?;
            let is_warned = self.warned.contains(&(*scope, Limited::Seconds));
            let until = if is_warned { limit } else { WARNING * limit };
            let used = self.spent(*scope).seconds;
            // A timer that fires a little early would be set again and again.
            Some(Duration::try_from_secs_f64((until - used).max(0.001)).unwrap_or(Duration::MAX))
        });
        left.min()
    }

    /// Returns whether it is known what the session had spent before it was opened.
    pub fn knows_before(&self) -> bool {
        self.before.is_some()
    }

    /// Returns what was spent since the session was opened.
    pub fn since_opening(&self) -> Spent {
        self.session
    }

    /// Takes what the session's file says was spent in all, at a time when so much of it had been spent since it was
    /// opened.
    pub fn count_before(&mut self, in_all: &Spent, since_opening: &Spent) {
        self.before = Some(in_all.since(since_opening));
    }

    /// Changes limits as a client wants it: all of them, or none if one is refused.
    pub fn change(&mut self, changes: &[LimitChange], may_widen: bool) -> Result<(), String> {
        for LimitChange { scope, limited, limit } in changes {
            let configured = self.configured.of(*scope).get(*limited);
            if let Some(most) = configured
                && !may_widen
                && (*limit <= 0.0 || *limit > most)
            {
                return Err(limit_texts::widening(*scope, *limited, most));
            }
        }
        for LimitChange { scope, limited, limit } in changes {
            self.limits.of_mut(*scope).set(*limited, Some(*limit));
            self.warned.retain(|warned| *warned != (*scope, *limited));
        }
        Ok(())
    }

    pub fn report(&self) -> LimitsReport {
        let scope = |scope| ScopeReport { limits: *self.limits.of(scope), used: self.spent(scope) };
        LimitsReport { run: scope(LimitScope::Run), session: scope(LimitScope::Session) }
    }
}

/// Returns what the statistics of a file say was spent.
pub(crate) fn spent_in(statistics: &Statistics) -> Spent {
    Spent {
        cost: statistics.usage.cost.total,
        tokens: statistics.usage.total_tokens,
        turns: statistics.assistant_messages.saturating_sub(statistics.limit_stops),
        tool_calls: statistics.tool_calls,
        seconds: 0.0,
    }
}

fn strictest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
