use bowline_core::ErrorKind;
use bowline_core::ask::AskId;
use bowline_core::limits::Limits;
use bowline_core::usage::Cost;

use super::*;

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
    let failure = budget.refuse_model().unwrap();
    assert_eq!(failure.kind, ErrorKind::TooManyTurns);
    assert!(failure.text.starts_with("The run was stopped after 2 turns without"), "{}", failure.text);
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
        assert!(error.contains("run.cost cannot exceed 1 US dollar, the configured limit;"), "{error}");
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
