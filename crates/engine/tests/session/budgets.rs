//! Limits on what runs and sessions spend.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::ask::Decision;
use bowline_core::command::{Command, Queue};
use bowline_core::limits::{LimitChange, LimitScope, Limited, Limits, LimitsReport};
use bowline_core::policy::Questions;
use bowline_core::reply::Answer;
use bowline_engine::TaskTool;
use bowline_testkit::{Gate, Reply, Usage};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::driver::{Driver, course};
use crate::setup::{NEARLY_FULL, Setup, long, overloaded};
use crate::test_tools::{AskingGate, TestTool};

const HUNDRED: Usage = Usage { input: 90, output: 10, cache_read: 0, cache_write: 0 };
const SOON: f64 = 0.2;
const LATER: Duration = Duration::from_secs(3600);

/// Returns an agent whose runs have these limits.
fn limited(limits: Limits) -> Setup {
    let mut setup = Setup::new().tool(TestTool::quick("quick"));
    setup.settings.limits.run = limits;
    setup
}

fn seconds() -> Limits {
    Limits { seconds: Some(SOON), ..Limits::default() }
}

fn calling(tool: &str) -> Reply {
    Reply::new().tool(tool, json!({})).usage(HUNDRED)
}

#[track_caller]
fn assert_over_budget(settled: &Value, words: &str) {
    assert_eq!((&settled["errorKind"], &settled["aborted"]), (&json!("budget"), &json!(false)), "{settled}");
    assert!(settled["error"].as_str().unwrap().contains(words), "{settled}");
}

fn warnings(driver: &Driver) -> Vec<String> {
    let records = driver.of_type("limit_warning");
    let line = |record: &Value| {
        format!("{} {} {} of {}", record["scope"], record["limit"], record["used"], record["max"])
            .replace('"', "")
    };
    records.iter().map(line).collect()
}

async fn report(driver: &mut Driver) -> LimitsReport {
    let Answer::Limits(report) = driver.carry_out(Command::GetLimits).await else { panic!() };
    *report
}

fn change(scope: LimitScope, limited: Limited, limit: f64) -> Command {
    Command::SetLimits { changes: vec![LimitChange { scope, limited, limit }] }
}

#[tokio::test]
async fn run_ends_before_the_calls_of_an_answer_that_used_up_its_tokens() {
    let setup = limited(Limits { tokens: Some(250), ..Limits::default() });
    let mut driver = setup.replies([calling("quick"), calling("quick"), calling("quick")]).start();
    driver.prompt("p", "go");
    driver.enqueue("f", Queue::FollowUp, "and then");
    let settled = driver.until_settled().await;
    assert_over_budget(&settled, "limit of 250 tokens; it has used 300 tokens");
    assert_eq!(driver.requests().len(), 3);
    let results: Vec<_> =
        driver.of_type("tool_execution_end").iter().map(|end| end["isError"] == true).collect();
    assert_eq!(results, [false, false, true], "a call is not carried out when nothing is left");
    assert_eq!(warnings(&driver), ["run tokens 200 of 250"]);
    assert_eq!(driver.state().pending_message_count, 1, "what is queued stays queued");
    assert_eq!(report(&mut driver).await.session.used.tokens, 300);
    driver.finish();
}

#[tokio::test]
async fn answer_that_leaves_nothing_to_do_ends_its_run_well() {
    let setup = limited(Limits { tokens: Some(100), ..Limits::default() });
    let mut driver =
        setup.replies([Reply::text("done").usage(HUNDRED), Reply::text("again").usage(HUNDRED)]).start();
    for _ in 0..2 {
        let settled = driver.run("go").await.pop().unwrap();
        assert!(settled["error"].is_null(), "a run is limited, not the session: {settled}");
    }
    assert_eq!(warnings(&driver).len(), 2, "once in each run");
    driver.finish();
}

#[tokio::test]
async fn limit_in_the_middle_of_parallel_calls_refuses_the_rest() {
    let permits = Arc::new(Semaphore::new(0));
    let setup =
        limited(Limits { tool_calls: Some(2), ..Limits::default() }).tool(TestTool::gated("slow", &permits));
    let answer = (0..4).fold(Reply::new(), |reply, _| reply.tool("slow", json!({})));
    let mut driver = setup.replies([answer]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_end").await;
    permits.add_permits(4);
    assert_over_budget(&driver.until_settled().await, "limit of 2 tool calls");
    let conversation = driver.conversation();
    assert_eq!(conversation[2..4], ["toolResult: slow", "toolResult: slow"]);
    assert!(conversation[4].contains("This call was not carried out."), "{conversation:?}");
    assert_eq!((permits.available_permits(), driver.requests().len()), (2, 1));
    driver.finish();
}

#[tokio::test]
async fn model_may_answer_after_its_last_tool_call() {
    let setup = limited(Limits { tool_calls: Some(1), ..Limits::default() });
    let mut driver = setup.replies([calling("quick"), Reply::text("done")]).start();
    let settled = driver.run("go").await.pop().unwrap();
    assert!(settled["error"].is_null(), "{settled}");
    assert_eq!(warnings(&driver), ["run toolCalls 1 of 1"]);
    driver.finish();
}

#[tokio::test]
async fn session_that_is_used_up_takes_no_prompt_until_another_one_begins() {
    let mut setup = limited(Limits::default());
    setup.settings.limits.session.turns = Some(2);
    let replies = [Reply::text("one"), calling("quick"), Reply::text("two"), Reply::text("new")];
    let mut driver = setup.replies(replies).start();
    driver.run("one").await;
    let settled = driver.run("two").await.pop().unwrap();
    assert_over_budget(&settled, "The session has reached its limit of 2 turns");
    driver.prompt("p", "three");
    assert!(driver.refusal("p").contains("limits.session.turns"));
    driver.send("c", Command::Compact { instructions: None });
    assert!(driver.refusal("c").contains("limits.session.turns"));
    driver.carry_out(Command::NewSession { parent: None }).await;
    let settled = driver.run("four").await.pop().unwrap();
    assert!(settled["error"].is_null(), "{settled}");
    driver.finish();
}

#[tokio::test]
async fn reopened_session_counts_what_its_file_has() {
    let mut setup = limited(Limits::default());
    setup.settings.limits.session.tokens = Some(150);
    let mut driver =
        setup.replies([Reply::text("one").usage(HUNDRED), Reply::text("two").usage(HUNDRED)]).start();
    driver.run("one").await;
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    assert_eq!(report(&mut driver).await.session.used.tokens, 0);
    driver.carry_out(Command::SwitchSession { path: file }).await;
    assert_eq!(report(&mut driver).await.session.used.tokens, 100);
    driver.run("two").await;
    driver.prompt("p", "three");
    assert!(
        driver.refusal("p").contains("limit of 150 tokens; it has used 200 tokens"),
        "{}",
        driver.refusal("p")
    );
    driver.finish();
}

#[tokio::test]
async fn session_without_limits_is_counted_when_a_client_asks() {
    let mut driver = limited(Limits::default()).replies([Reply::text("one").usage(HUNDRED)]).start();
    driver.run("one").await;
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.carry_out(Command::SwitchSession { path: file }).await;
    driver.carry_out(change(LimitScope::Session, Limited::Tokens, 100.0)).await;
    driver.prompt("p", "two");
    assert!(driver.refusal("p").contains("limit of 100 tokens"));
    driver.finish();
}

#[tokio::test]
async fn time_ends_an_answer_that_streams() {
    let gate = Gate::new();
    let setup = limited(seconds());
    let mut driver = setup.replies([Reply::text("half").gate(&gate).then_text("lost")]).start();
    driver.prompt("p", "go");
    driver.until_delta("half").await;
    assert_over_budget(&driver.until_settled().await, "limit of 0.2 seconds");
    assert_eq!(driver.conversation()[1], "assistant: half", "what had arrived is kept");
    assert_eq!(warnings(&driver).len(), 1);
    gate.open();
    driver.finish();
}

#[tokio::test]
async fn time_ends_running_tools() {
    let permits = Arc::new(Semaphore::new(0));
    let setup = limited(seconds()).tool(TestTool::gated("slow", &permits));
    let answer = Reply::new().tool("slow", json!({})).tool("slow", json!({}));
    let mut driver = setup.replies([answer]).start();
    driver.prompt("p", "go");
    driver.enqueue("f", Queue::Steering, "and then");
    assert_over_budget(&driver.until_settled().await, "--max-time");
    let conversation = driver.conversation();
    assert_eq!(conversation[2..4], ["toolResult: stopped", "toolResult: stopped"]);
    assert_eq!(driver.state().pending_message_count, 1);
    driver.finish();
}

#[tokio::test]
async fn time_ends_a_retry_delay() {
    let mut driver = limited(seconds()).retry_after(LATER).replies([overloaded()]).start();
    driver.prompt("p", "go");
    assert_over_budget(&driver.until_settled().await, "limit of 0.2 seconds");
    let end = &driver.of_type("auto_retry_end")[0];
    assert!(end["success"] == false && end["finalError"].as_str().unwrap().contains("0.2 seconds"), "{end}");
    driver.finish();
}

#[tokio::test]
async fn time_ends_a_compaction_between_turns() {
    let full = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let setup = limited(seconds());
    let mut driver = setup.replies([Reply::text(&long("one")), full, Reply::mute()]).start();
    driver.run(&long("ONE")).await;
    driver.prompt("p", "two");
    assert_over_budget(&driver.until_settled().await, "limit of 0.2 seconds");
    assert_eq!(driver.of_type("compaction_end")[0]["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn nothing_is_spent_on_a_compaction_when_nothing_is_left() {
    let full = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let setup = limited(Limits { tokens: Some(1000), ..Limits::default() });
    let mut driver = setup.replies([Reply::text(&long("one")), full]).start();
    driver.run(&long("ONE")).await;
    assert_over_budget(&driver.run("two").await.pop().unwrap(), "limit of 1000 tokens");
    assert_eq!((driver.of_type("compaction_start").len(), driver.requests().len()), (0, 2));
    driver.finish();
}

#[tokio::test]
async fn what_a_run_spent_does_not_keep_the_next_from_compacting() {
    let full = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let setup = limited(Limits { tokens: Some(1000), ..Limits::default() });
    let replies = [Reply::text(&long("one")), full, Reply::text("SUMMARY"), Reply::text("three")];
    let mut driver = setup.replies(replies).start();
    driver.run(&long("ONE")).await;
    driver.run("two").await;
    let settled = driver.run("three").await.pop().unwrap();
    assert!(settled["error"].is_null(), "{settled}");
    assert_eq!(driver.of_type("compaction_end").len(), 1);
    driver.finish();
}

#[tokio::test]
async fn compaction_before_a_prompt_can_spend_the_rest() {
    let mut setup = limited(Limits::default());
    setup.settings.limits.session.tokens = Some(190_300);
    let full = Reply::text("two").usage(NEARLY_FULL);
    let replies = [Reply::text("one").usage(HUNDRED), full, Reply::text("SUMMARY").usage(NEARLY_FULL)];
    let mut driver = setup.replies(replies).start();
    driver.carry_out(Command::SetAutoCompaction { enabled: false }).await;
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.carry_out(Command::SetAutoCompaction { enabled: true }).await;
    driver.prompt("p", "three");
    assert_over_budget(&driver.until_settled().await, "The session has reached its limit of 190300 tokens");
    assert_eq!((driver.of_type("compaction_end").len(), driver.requests().len()), (1, 3));
    driver.finish();
}

#[tokio::test]
async fn compaction_counts() {
    let full = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let setup = limited(Limits { tokens: Some(190_050), ..Limits::default() });
    let replies = [Reply::text(&long("one")), full, Reply::text("SUMMARY").usage(HUNDRED)];
    let mut driver = setup.replies(replies).start();
    driver.run(&long("ONE")).await;
    assert_over_budget(&driver.run("two").await.pop().unwrap(), "it has used 190110 tokens");
    driver.finish();
}

#[tokio::test]
async fn waiting_for_the_user_takes_no_time() {
    let setup = limited(seconds()).policy(|policy| policy.questions = Questions::Asked);
    let setup = setup.gate(AskingGate::about("risky")).tool(TestTool::quick("risky"));
    let mut driver = setup.replies([calling("risky"), Reply::text("done")]).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    tokio::time::sleep(Duration::from_secs_f64(2.0 * SOON)).await;
    driver.answer(ask.id, Decision::Allow);
    let settled = driver.until_settled().await;
    assert!(settled["error"].is_null(), "{settled}");
    driver.finish();
}

#[tokio::test]
async fn abort_before_the_time_is_up_is_an_abort() {
    let setup = limited(seconds()).tool(TestTool::stuck("stuck"));
    let mut driver = setup.replies([calling("stuck")]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    // The tool does not stop before the time is up.
    let settled = driver.until_settled().await;
    assert_eq!((&settled["aborted"], &settled["errorKind"]), (&json!(true), &json!("aborted")));
    assert!(driver.until_reply("a").await.is_ok());
    driver.finish();
}

#[tokio::test]
async fn abort_after_the_time_is_up_waits_for_the_same_end() {
    let setup = limited(seconds()).tool(TestTool::stuck("stuck"));
    let mut driver = setup.replies([calling("stuck")]).start();
    driver.prompt("p", "go");
    driver.until_type("limit_warning").await;
    tokio::time::sleep(Duration::from_secs_f64(SOON)).await;
    driver.until_reports(1).await;
    driver.step().await;
    driver.send("a", Command::Abort);
    assert_over_budget(&driver.until_settled().await, "limit of 0.2 seconds");
    assert!(driver.until_reply("a").await.is_ok());
    driver.finish();
}

#[tokio::test]
async fn time_of_a_run_that_has_ended_does_not_end_the_next() {
    let mut driver = limited(seconds()).replies([Reply::text("one"), Reply::text("two")]).start();
    driver.run("one").await;
    assert!(driver.session.is_idle(), "no timer is left");
    tokio::time::sleep(Duration::from_secs_f64(SOON)).await;
    let settled = driver.run("two").await.pop().unwrap();
    assert!(settled["error"].is_null(), "{settled}");
    driver.finish();
}

#[tokio::test]
async fn subagents_spend_what_their_session_may() {
    let setup = limited(Limits { tokens: Some(250), ..Limits::default() }).tool(TaskTool::default());
    for _ in 0..10 {
        setup.server.reply_in("circle", Reply::new().tool("quick", json!({})).usage(HUNDRED));
    }
    let call = Reply::new().tool("task", json!({ "tasks": [{ "task": "circle" }] })).usage(HUNDRED);
    let mut driver = setup.replies([call]).start();
    driver.prompt("p", "go");
    assert_over_budget(&driver.until_settled().await, "limit of 250 tokens");
    assert!(driver.requests().len() <= 4, "{} requests", driver.requests().len());
    assert_eq!(warnings(&driver), ["run tokens 200 of 250"]);
    driver.finish();
}

#[tokio::test]
async fn what_subagents_spent_is_counted_once() {
    let setup = limited(Limits::default()).tool(TaskTool::default());
    setup.server.reply_in("look", Reply::new().tool("quick", json!({})).usage(HUNDRED));
    setup.server.reply_in("look", Reply::text("seen").usage(HUNDRED));
    let call = Reply::new().tool("task", json!({ "tasks": [{ "task": "look" }] })).usage(HUNDRED);
    let mut driver = setup.replies([call, Reply::text("done").usage(HUNDRED)]).start();
    driver.run("go").await;
    let used = report(&mut driver).await.run.used;
    assert_eq!((used.tokens, used.tool_calls, used.turns), (400, 2, 2));
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.carry_out(Command::SwitchSession { path: file }).await;
    assert_eq!(report(&mut driver).await.session.used.tokens, 400);
    driver.finish();
}

#[tokio::test]
async fn client_tightens_the_limits_of_the_run_in_progress() {
    let gate = Gate::new();
    let setup = limited(Limits { tokens: Some(1000), ..Limits::default() });
    let mut driver =
        setup.replies([Reply::new().gate(&gate).tool("quick", json!({})).usage(HUNDRED)]).start();
    driver.prompt("p", "go");
    driver.until_requests(1).await;
    driver.send("wide", change(LimitScope::Run, Limited::Tokens, 2000.0));
    assert!(driver.refusal("wide").contains("--client-may-widen"));
    driver.carry_out(change(LimitScope::Run, Limited::Tokens, 50.0)).await;
    gate.open();
    assert_over_budget(&driver.until_settled().await, "limit of 50 tokens");
    driver.finish();
}

#[tokio::test]
async fn client_that_may_widen_does() {
    let mut setup = limited(Limits { tokens: Some(50), ..Limits::default() });
    setup.settings.client_may_widen = true;
    let mut driver = setup.replies([calling("quick"), Reply::text("done")]).start();
    driver.carry_out(change(LimitScope::Run, Limited::Tokens, 0.0)).await;
    let settled = driver.run("go").await.pop().unwrap();
    assert!(settled["error"].is_null(), "{settled}");
    driver.finish();
}

#[tokio::test]
async fn panic_leaves_no_timer() {
    let gate = Gate::new();
    let mut setup = limited(seconds());
    setup.settings.limits.run.seconds = Some(3600.0);
    let mut driver = setup.replies([Reply::text("half").gate(&gate), Reply::text("two")]).start();
    driver.prompt("p", "go");
    driver.until_delta("half").await;
    driver.panic();
    driver.until_settled().await;
    assert!(driver.session.is_idle());
    driver.run("two").await;
    gate.open();
    driver.finish();
}

#[tokio::test]
async fn runs_without_limits_have_no_further_records() {
    let mut driver = Setup::new().replies([Reply::text("done").usage(HUNDRED)]).start();
    let records = driver.run("go").await;
    assert_eq!(
        course(&records),
        ["agent_start", "turn_start", "message_end", "message_end", "turn_end", "agent_end", "agent_settled"]
    );
    driver.finish();
}

#[tokio::test]
async fn calls_that_are_refused_use_up_nothing() {
    let setup = limited(Limits { tool_calls: Some(2), ..Limits::default() });
    let setup = setup.gate(AskingGate { asks_about: "asked", refuses: "refused" });
    let setup = setup.tool(TestTool::quick("asked")).tool(TestTool::quick("refused"));
    let setup = setup.policy(|policy| policy.questions = Questions::Asked);
    let calls = ["refused", "asked", "refused", "quick", "quick"];
    let replies = calls.into_iter().map(calling).chain([Reply::text("done")]);
    let mut driver = setup.replies(replies).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.answer(ask.id, Decision::Deny { reason: None });
    let settled = driver.until_settled().await;
    assert!(settled["error"].is_null(), "{settled}");
    assert_eq!(report(&mut driver).await.run.used.tool_calls, 2);
    driver.finish();
}

#[tokio::test]
async fn answers_that_fail_and_are_retried_are_turns() {
    let mut setup = limited(Limits { turns: Some(2), ..Limits::default() });
    setup.settings.limits.session.turns = Some(10);
    let replies = [overloaded(), overloaded(), overloaded(), Reply::text("late")];
    let mut driver = setup.retry_after(Duration::from_millis(1)).replies(replies).start();
    let settled = driver.run("go").await.pop().unwrap();
    assert_eq!(settled["errorKind"], "too_many_turns", "{settled}");
    assert_eq!(driver.requests().len(), 2);
    let report = report(&mut driver).await;
    assert_eq!(report.session.used.turns, 2, "what says that the run was stopped is no turn");
    driver.finish();
}

#[tokio::test]
async fn warning_says_what_was_really_used() {
    let setup = limited(Limits { tokens: Some(50), ..Limits::default() });
    let mut driver = setup.replies([Reply::text("done").usage(HUNDRED)]).start();
    driver.run("go").await;
    assert_eq!(warnings(&driver), ["run tokens 100 of 50"]);
    driver.finish();
}
