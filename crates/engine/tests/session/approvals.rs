//! What a gate may say about a call, questions about hosts, and what consent grants.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_core::ask::{ApprovalKind, Decision, Question, ReasonCode, Remembered};
use bowline_core::command::Command;
use bowline_core::policy::Questions;
use bowline_core::sandbox::Grants;
use bowline_engine::{Asking, CallGate, Check, Consent, GatedCall, HostName, Remembering, TaskTool, Verdict};
use bowline_testkit::Reply;
use bowline_tools::{HostAnswer, HostGate as _, Outcome};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::test_tools::TestTool;

/// A gate that looks for a while, and then asks about calls of `risky` and about every host but one.
#[derive(Debug)]
struct SlowGate {
    /// How many calls may be decided about.
    permits: Arc<Semaphore>,
    remembered: Arc<Mutex<Vec<(String, Remembered)>>>,
}

impl SlowGate {
    /// Returns a gate that decides about this many calls.
    fn new(calls: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(calls)), remembered: Arc::default() }
    }
}

impl CallGate for SlowGate {
    fn check(&self, call: &GatedCall<'_>) -> Check {
        let (permits, is_risky) = (Arc::clone(&self.permits), call.tool == "risky");
        Check::Later(Box::pin(async move {
            permits.acquire().await.unwrap().forget();
            let grants = Grants { paths: vec!["/granted".into()], ..Grants::default() };
            if is_risky {
                let (code, reason) = (ReasonCode::Path, "it writes elsewhere".to_owned());
                return Verdict::Ask(Box::new(Asking { code, reason, grants, ..Asking::default() }));
            }
            Verdict::run()
        }))
    }

    fn check_host(&self, host: &HostName<'_>) -> Verdict {
        if host.host == "known.example" {
            return Verdict::run();
        }
        let (code, reason) = (ReasonCode::Network, format!("{} is not known", host.host));
        let rule = Some(json!({ "host": host.host, "then": "allow" }));
        Verdict::Ask(Box::new(Asking { code, reason, rule, ..Asking::default() }))
    }

    fn remember(&self, consent: &Consent<'_>, remembered: Remembered) -> Option<Remembering> {
        self.remembered.lock().unwrap().push((consent.digest.to_owned(), remembered));
        None
    }
}

fn setup(gate: SlowGate) -> Setup {
    Setup::new().policy(|policy| policy.questions = Questions::Asked).gate(gate)
}

fn granted(seen: &Arc<Mutex<Vec<Grants>>>) -> TestTool {
    let seen = Arc::clone(seen);
    TestTool::new("risky", move |context, _| {
        seen.lock().unwrap().push(context.grants);
        async { Outcome::text("risky") }
    })
}

#[tokio::test]
async fn consent_grants_what_was_shown_to_this_call_only() {
    let (gate, seen) = (SlowGate::new(10), Arc::default());
    let replies =
        [Reply::new().tool("risky", json!({})).tool("risky", json!({ "a": 1 })), Reply::text("done")];
    let mut driver = setup(gate).tool(granted(&seen)).replies(replies).start();
    driver.prompt("p", "go");
    for decision in [Decision::Allow, Decision::Deny { reason: None }] {
        let ask = driver.until_asked().await;
        let Question::Approval(approval) = &ask.question else { panic!("{ask:?}") };
        assert_eq!(approval.terms.grants.paths, [std::path::PathBuf::from("/granted")]);
        driver.answer(ask.id, decision);
    }
    driver.until_settled().await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [Grants { paths: vec!["/granted".into()], ..Grants::default() }]);
    driver.finish();
}

#[tokio::test]
async fn abort_does_not_wait_for_the_gate() {
    let replies = [Reply::new().tool("quick", json!({})).tool("quick", json!({}))];
    let mut driver = setup(SlowGate::new(0)).tool(TestTool::quick("quick")).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"), "nothing is left to wait for");
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert!(driver.conversation()[2].contains("aborted"), "{:?}", driver.conversation());
    driver.finish();
}

#[tokio::test]
async fn what_was_not_offered_is_a_no_and_session_is_remembered() {
    for (decision, runs, remembers) in [
        (Decision::AllowFor(Remembered::Session), true, 1),
        (Decision::AllowFor(Remembered::Project), false, 0),
        (Decision::Expired, false, 0),
    ] {
        let (gate, seen) = (SlowGate::new(10), Arc::default());
        let remembered = Arc::clone(&gate.remembered);
        let replies = [Reply::new().tool("risky", json!({})), Reply::text("done")];
        let mut driver = setup(gate).tool(granted(&seen)).replies(replies).start();
        driver.prompt("p", "go");
        let ask = driver.until_asked().await;
        driver.answer(ask.id, decision);
        driver.until_settled().await;
        assert_eq!((!seen.lock().unwrap().is_empty(), remembered.lock().unwrap().len()), (runs, remembers));
        driver.finish();
    }
}

/// A gate that asks about every call until the user has agreed to more than one. It decides at once and says so later.
#[derive(Debug)]
struct RememberingGate {
    permits: Arc<Semaphore>,
    revision: Arc<AtomicU64>,
    /// Why a call that the user has agreed to does not run, if so.
    forbids: Option<&'static str>,
}

impl RememberingGate {
    fn with_permits(permits: usize) -> Self {
        let permits = Arc::new(Semaphore::new(permits));
        Self { permits, revision: Arc::default(), forbids: None }
    }
}

impl CallGate for RememberingGate {
    fn check(&self, call: &GatedCall<'_>) -> Check {
        let verdict = if self.revision() > 0 || call.tool == "task" {
            Verdict::run()
        } else {
            let (code, reason) = (ReasonCode::Rule, "it may be risky".to_owned());
            Verdict::Ask(Box::new(Asking { code, reason, ..Asking::default() }))
        };
        let permits = Arc::clone(&self.permits);
        Check::Later(Box::pin(async move {
            permits.acquire().await.unwrap().forget();
            verdict
        }))
    }

    fn check_again(&self, _call: &GatedCall<'_>, _target: Option<&std::path::Path>) -> Check {
        self.forbids.map_or_else(Verdict::run, Verdict::refused).into()
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    fn remember(&self, _consent: &Consent<'_>, _remembered: Remembered) -> Option<Remembering> {
        self.revision.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// Has the model make these calls of `quick`.
fn asked_about(gate: RememberingGate, calls: u64) -> Driver {
    let calls = (0..calls).fold(Reply::new(), |reply, number| reply.tool("quick", json!({ "n": number })));
    let setup = Setup::new().policy(|policy| policy.questions = Questions::Asked).gate(gate);
    let mut driver = setup.tool(TestTool::quick("quick")).replies([calls, Reply::text("done")]).start();
    driver.prompt("p", "go");
    driver
}

fn questions(driver: &Driver) -> usize {
    let is_question = |output: &&bowline_engine::Output| {
        matches!(output, bowline_engine::Output::Event(bowline_core::Event::Ask(_)))
    };
    driver.outputs().iter().filter(is_question).count()
}

#[track_caller]
fn assert_all_ran(driver: &Driver, calls: usize) {
    let ends = driver.of_type("tool_execution_end");
    assert_eq!(ends.iter().filter(|end| end["isError"] == false).count(), calls, "{ends:?}");
}

#[tokio::test]
async fn verdict_from_before_an_answer_is_not_asked_about() {
    let gate = RememberingGate::with_permits(1);
    let permits = Arc::clone(&gate.permits);
    let mut driver = asked_about(gate, 3);
    let ask = driver.until_asked().await;
    // The gate has decided about the second call, and its verdict is on the way.
    driver.answer(ask.id, Decision::AllowFor(Remembered::Session));
    permits.add_permits(10);
    driver.until_settled().await;
    assert_eq!(questions(&driver), 1);
    assert_all_ran(&driver, 3);
    driver.finish();
}

#[tokio::test]
async fn questions_that_wait_are_judged_again_after_an_answer_for_more() {
    let mut driver = asked_about(RememberingGate::with_permits(100), 4);
    let ask = driver.until_asked().await;
    while driver.of_type("tool_execution_start").len() < 4 {
        driver.step().await;
    }
    let _ = tokio::time::timeout(Duration::from_millis(50), driver.step()).await;
    driver.answer(ask.id, Decision::AllowFor(Remembered::Session));
    driver.until_settled().await;
    assert_eq!(questions(&driver), 1);
    assert_all_ran(&driver, 4);
    let file = std::fs::read_to_string(driver.file()).unwrap();
    assert_eq!(file.matches(r#""by":"remembered""#).count(), 3, "{file}");
    driver.finish();
}

#[tokio::test]
async fn answer_for_more_holds_for_the_questions_of_other_subagents() {
    let gate = RememberingGate::with_permits(100);
    let setup = Setup::new().policy(|policy| policy.questions = Questions::Asked).gate(gate);
    let setup = setup.tool(TestTool::quick("quick")).tool(TaskTool::default());
    for (task, number) in [("one", 1), ("two", 1), ("three", 2)] {
        setup.server.reply_in(task, Reply::new().tool("quick", json!({ "n": number })));
        setup.server.reply_in(task, Reply::text("done"));
    }
    let tasks = json!({ "tasks": [{ "task": "one" }, { "task": "two" }, { "task": "three" }] });
    let mut driver = setup.replies([Reply::new().tool("task", tasks), Reply::text("done")]).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    // By then the others wait, too.
    let _ = tokio::time::timeout(Duration::from_millis(300), driver.until_settled()).await;
    driver.answer(ask.id, Decision::AllowFor(Remembered::Session));
    driver.until_settled().await;
    assert_eq!(questions(&driver), 1);
    assert_eq!(driver.requests().len(), 2 + 6, "every subagent goes on");
    driver.finish();
}

#[tokio::test]
async fn what_is_forbidden_by_now_does_not_run_although_the_user_agreed() {
    let gate = RememberingGate { forbids: Some("it leads elsewhere"), ..RememberingGate::with_permits(10) };
    let mut driver = asked_about(gate, 1);
    let ask = driver.until_asked().await;
    driver.answer(ask.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2], "toolResult: it leads elsewhere");
    driver.finish();
}

#[tokio::test]
async fn end_of_input_is_a_no_to_all_questions_and_to_later_ones() {
    let mut driver = asked_about(RememberingGate::with_permits(3), 4);
    driver.until_asked().await;
    while driver.of_type("tool_execution_start").len() < 4 {
        driver.step().await;
    }
    driver.handle(bowline_engine::Input::InputEnded);
    assert_eq!(driver.of_type("tool_execution_end").len(), 3, "the gate still looks at one");
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    let ends = driver.of_type("tool_execution_end");
    assert!(ends[0].to_string().contains("the client is gone: it may be risky Go on without it"), "{ends:?}");
    assert_eq!(questions(&driver), 1);
    driver.finish();
}

/// Starts a run with a call that goes on until the semaphore has a permit.
async fn running() -> (Driver, Arc<Semaphore>) {
    let (permits, started) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let replies = [Reply::new().tool("gated", json!({ "command": "fetch" })), Reply::text("done")];
    let (until, begun) = (Arc::clone(&permits), Arc::clone(&started));
    let tool = TestTool::new("gated", move |context, _| {
        begun.add_permits(1);
        let until = Arc::clone(&until);
        async move {
            tokio::select! {
                permit = until.acquire() => permit.unwrap().forget(),
                () = context.cancel.cancelled() => {}
            }
            Outcome::text("gated")
        }
    });
    let mut driver = setup(SlowGate::new(10)).tool(tool).replies(replies).start();
    driver.prompt("p", "go");
    while started.try_acquire().is_err() {
        // A tool that starts reports nothing.
        let _ = tokio::time::timeout(Duration::from_millis(10), driver.step()).await;
    }
    (driver, permits)
}

/// Handles reports until a question is decided.
async fn decided(driver: &mut Driver, mut question: JoinHandle<HostAnswer>) -> HostAnswer {
    loop {
        tokio::select! {
            answer = &mut question => return answer.unwrap(),
            () = driver.step() => {}
        }
    }
}

#[tokio::test]
async fn host_is_asked_about_once_in_a_turn_and_names_the_call() {
    for (decision, expected) in [
        (Decision::Allow, HostAnswer::Allowed),
        (Decision::Deny { reason: None }, HostAnswer::Declined),
        (Decision::Expired, HostAnswer::Unanswered),
    ] {
        let (mut driver, permits) = running().await;
        let questions = driver.host_questions();
        let known = tokio::spawn(questions.ask("known.example", 443));
        assert_eq!(decided(&mut driver, known).await, HostAnswer::Allowed);
        let first = tokio::spawn(questions.ask("new.example", 443));
        let ask = driver.until_asked().await;
        let Question::Approval(approval) = &ask.question else { panic!("{ask:?}") };
        assert_eq!((&*approval.tool, approval.terms.kind), ("gated", ApprovalKind::Network));
        assert!(!approval.call_id.is_empty());
        driver.answer(ask.id, decision);
        assert_eq!(decided(&mut driver, first).await, expected);
        let second = tokio::spawn(questions.ask("new.example", 443));
        assert_eq!(decided(&mut driver, second).await, expected, "it is not asked again in this turn");
        permits.add_permits(1);
        driver.until_settled().await;
        driver.finish();
    }
}

#[tokio::test]
async fn host_is_denied_outside_of_a_run_at_an_abort_and_after_the_end() {
    let (mut driver, _permits) = running().await;
    let questions = driver.host_questions();
    let open = tokio::spawn(questions.ask("new.example", 443));
    driver.until_asked().await;
    driver.send("a", Command::Abort);
    assert_eq!(decided(&mut driver, open).await, HostAnswer::Declined);
    driver.until_settled().await;
    let idle = tokio::spawn(questions.ask("new.example", 443));
    assert_eq!(decided(&mut driver, idle).await, HostAnswer::NotAsked);
    driver.finish();
    assert_eq!(questions.ask("new.example", 443).await, HostAnswer::NotAsked, "the session has ended");
}

#[tokio::test]
async fn question_of_whoever_gave_up_is_withdrawn() {
    let (mut driver, permits) = running().await;
    let questions = driver.host_questions();
    let given_up = tokio::spawn(questions.ask("new.example", 443));
    driver.until_asked().await;
    given_up.abort();
    let _ = given_up.await;
    let is_resolved = |output: &bowline_engine::Output| {
        matches!(output, bowline_engine::Output::Event(bowline_core::Event::AskResolved { .. }))
    };
    tokio::time::timeout(Duration::from_secs(5), driver.until(is_resolved)).await.unwrap();
    permits.add_permits(1);
    driver.until_settled().await;
    driver.finish();
}
