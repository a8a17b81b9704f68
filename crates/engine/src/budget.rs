//! What a run and a session may spend, and what they have spent: cost, tokens, turns, tool calls, time.
//!
//! A limit stops what would come next. An answer that leaves nothing to do ends its run well, whatever it cost.

use std::time::{Duration, Instant};

use bowline_core::ErrorKind;
use bowline_core::ask::AskId;
use bowline_core::event::{CompactionOutcome, Event, Failure};
use bowline_core::limits::{
    LimitChange, LimitScope, LimitSet, LimitWarning, Limited, LimitsReport, ScopeReport, Spent,
};
use bowline_core::usage::Usage;
use bowline_session::{Clock, Statistics};

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

/// The time that runs take, without that in which the user is asked something.
#[derive(Debug)]
struct Stopwatch {
    clock: Clock,
    is_running: bool,
    since: Instant,
    run: Duration,
    session: Duration,
    questions: Vec<AskId>,
}

impl Stopwatch {
    fn is_going(&self) -> bool {
        self.is_running && self.questions.is_empty()
    }

    /// Returns the time since the last stop.
    fn lap(&self) -> Duration {
        if self.is_going() { self.clock.since(self.since) } else { Duration::ZERO }
    }

    /// Changes what decides whether time is counted.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let lap = self.lap();
        self.run += lap;
        self.session += lap;
        change(self);
        self.since = Instant::now();
    }
}

impl Budget {
    pub fn new(limits: LimitSet, clock: Clock) -> Self {
        let stopwatch = Stopwatch {
            clock,
            is_running: false,
            since: Instant::now(),
            run: Duration::ZERO,
            session: Duration::ZERO,
            questions: Vec::new(),
        };
        Self {
            configured: limits,
            limits,
            run: Spent::default(),
            session: Spent::default(),
            before: None,
            stopwatch,
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
        if (scope, limited) == (LimitScope::Run, Limited::Turns) {
            let text = format!(
                "The run was stopped after {limit} turns without a message of yours. Send another prompt to go on, or raise maxTurns in settings.json."
            );
            return Failure::new(ErrorKind::TooManyTurns, text);
        }
        let (amount, used) = (limited.with_unit(limit), limited.with_unit(self.spent(scope).get(limited)));
        let name = limited.as_str();
        let text = match scope {
            LimitScope::Run => format!(
                "The run was stopped at its limit of {amount}; it has used {used}. Send another prompt to go on, or raise limits.run.{name} in settings.json{}.",
                flag(limited)
            ),
            LimitScope::Session => format!(
                "The session has reached its limit of {amount}; it has used {used}. Start another session, or raise limits.session.{name} in settings.json."
            ),
        };
        Failure::new(ErrorKind::Budget, text)
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
                return Err(format!(
                    "{}.{} cannot exceed {}, which the user has set; a client can only make limits stricter unless bowline is started with --client-may-widen",
                    scope.as_str(),
                    limited.as_str(),
                    limited.with_unit(most)
                ));
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

/// Returns the flag that raises a limit of runs, as an alternative.
fn flag(limited: Limited) -> &'static str {
    match limited {
        Limited::Cost => ", or with --max-cost",
        Limited::Tokens => ", or with --max-tokens",
        Limited::Turns => ", or with --max-turns",
        Limited::ToolCalls => ", or with --max-tool-calls",
        Limited::Seconds => ", or with --max-time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::limits::Limits;
    use bowline_core::usage::Cost;

    fn budget(run: Limits, session: Limits) -> Budget {
        let mut budget = Budget::new(LimitSet { run, session }, Clock::System);
        budget.enter(Some(Spent::default()));
        budget.start_run();
        budget
    }

    fn usage(tokens: u64, cost: f64) -> Usage {
        let cost = Cost { total: cost, ..Cost::default() };
        Usage { total_tokens: tokens, cost, ..Usage::default() }
    }

    #[test]
    fn nothing_is_limited_without_limits() {
        let mut budget = budget(Limits::default(), Limits::default());
        budget.spend(&usage(u64::MAX, f64::MAX));
        budget.start_call();
        assert_eq!((budget.refuse_model(), budget.refuse_tool(), budget.refuse_run()), (None, None, None));
        assert_eq!((budget.warnings(), budget.time_left()), (Vec::new(), None));
    }

    #[test]
    fn run_and_session_are_limited_one_by_one() {
        let limits = Limits { tokens: Some(100), ..Limits::default() };
        let mut budget = budget(limits, Limits { tokens: Some(150), ..Limits::default() });
        budget.spend(&usage(100, 0.0));
        let failure = budget.refuse_model().unwrap();
        assert_eq!(failure.kind, ErrorKind::Budget);
        assert!(
            failure.text.contains("limit of 100 tokens") && failure.text.contains("--max-tokens"),
            "{}",
            failure.text
        );
        budget.end_run();
        assert_eq!(budget.refuse_run(), None);
        budget.start_run();
        assert_eq!(budget.refuse_model(), None);
        budget.spend(&usage(50, 0.0));
        assert!(budget.refuse_model().unwrap().text.contains("limits.session.tokens"));
        assert!(budget.refuse_run().is_some());
    }

    #[test]
    fn model_may_answer_after_the_last_tool_call() {
        let mut budget = budget(Limits { tool_calls: Some(1), ..Limits::default() }, Limits::default());
        assert_eq!(budget.refuse_tool(), None);
        budget.start_call();
        assert_eq!(budget.refuse_model(), None);
        assert!(budget.refuse_tool().is_some());
        assert!(budget.refuse_model().is_some(), "a call that was refused ends the run");
    }

    #[test]
    fn turns_are_counted_for_each_message() {
        let mut budget = budget(Limits { turns: Some(2), ..Limits::default() }, Limits::default());
        budget.take_turn();
        assert_eq!(budget.refuse_model(), None);
        budget.take_turn();
        assert_eq!(budget.refuse_model().unwrap().kind, ErrorKind::TooManyTurns);
        budget.renew_turns();
        assert_eq!(budget.refuse_model(), None);
    }

    #[test]
    fn warning_is_given_once_in_a_run() {
        let mut budget = budget(Limits { cost: Some(1.0), ..Limits::default() }, Limits::default());
        budget.spend(&usage(0, 0.79));
        assert_eq!(budget.warnings(), []);
        budget.spend(&usage(0, 0.02));
        let warnings = budget.warnings();
        assert_eq!((warnings.len(), warnings[0].limited, warnings[0].max), (1, Limited::Cost, 1.0));
        assert_eq!(budget.warnings(), []);
        budget.start_run();
        budget.spend(&usage(0, 0.9));
        assert_eq!(budget.warnings().len(), 1);
    }

    #[test]
    fn time_does_not_pass_while_the_user_is_asked() {
        let mut budget = budget(Limits { seconds: Some(100.0), ..Limits::default() }, Limits::default());
        assert!(budget.time_left().unwrap() <= Duration::from_secs(80));
        budget.stopwatch.questions.push(AskId(1));
        assert_eq!(budget.time_left(), None);
        budget.stopwatch.since -= Duration::from_secs(1000);
        assert_eq!(budget.time_is_up(), None);
        budget.stopwatch.change(|stopwatch| stopwatch.questions.clear());
        assert_eq!(budget.time_is_up(), None);
        budget.stopwatch.since -= Duration::from_secs(90);
        assert_eq!(budget.warnings().len(), 1);
        assert!(budget.time_left().unwrap() <= Duration::from_secs(10));
        budget.stopwatch.since -= Duration::from_secs(10);
        assert!(budget.time_is_up().unwrap().text.contains("limit of 100 seconds"));
        budget.end_run();
        assert_eq!(budget.time_left(), None);
        assert!(budget.report().session.used.seconds >= 100.0);
    }

    #[test]
    fn client_only_makes_limits_stricter() {
        let mut budget = budget(Limits { cost: Some(1.0), ..Limits::default() }, Limits::default());
        let cost = |limit| LimitChange { scope: LimitScope::Run, limited: Limited::Cost, limit };
        let tokens = LimitChange { scope: LimitScope::Session, limited: Limited::Tokens, limit: 5.0 };
        for wide in [1.1, 0.0] {
            let error = budget.change(&[tokens, cost(wide)], false).unwrap_err();
            assert!(error.contains("run.cost cannot exceed 1 US dollar,"), "{error}");
        }
        assert_eq!(budget.report().session.limits.tokens, None, "a change is made whole or not at all");
        budget.change(&[tokens, cost(0.5)], false).unwrap();
        budget.change(&[cost(0.9)], false).unwrap();
        assert_eq!(budget.report().run.limits.cost, Some(0.9));
        budget.change(&[cost(0.0)], true).unwrap();
        assert_eq!(budget.report().run.limits.cost, None);
    }

    #[test]
    fn what_a_file_has_counts_once() {
        let limits = Limits { tokens: Some(100), ..Limits::default() };
        let mut budget = Budget::new(LimitSet { session: limits, ..LimitSet::default() }, Clock::System);
        budget.enter(None);
        budget.start_run();
        budget.spend(&usage(30, 0.0));
        assert!(!budget.knows_before());
        let since = budget.since_opening();
        budget.spend(&usage(5, 0.0));
        budget.count_before(&Spent { tokens: 90, ..Spent::default() }, &since);
        assert_eq!(budget.report().session.used.tokens, 95);
    }

    #[test]
    fn client_keeps_its_stricter_limits_when_settings_are_read_again() {
        let run = Limits { tokens: Some(100), tool_calls: Some(10), ..Limits::default() };
        let mut budget = budget(run, Limits::default());
        let change = LimitChange { scope: LimitScope::Run, limited: Limited::Tokens, limit: 50.0 };
        budget.change(&[change], false).unwrap();
        let run = Limits { tokens: Some(200), tool_calls: Some(20), ..Limits::default() };
        budget.configure(LimitSet { run, session: Limits::default() });
        let limits = budget.report().run.limits;
        assert_eq!((limits.tokens, limits.tool_calls), (Some(50), Some(20)));
    }
}
