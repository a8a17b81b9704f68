//! Runs that end with JSON of a certain form.

use bowline_core::ErrorKind;
use bowline_core::command::{Command, Draft, Queue, QueueMode};
use bowline_core::event::{Event, RunOutcome};
use bowline_core::output::OutputRequest;
use bowline_engine::{Output, TaskTool};
use bowline_testkit::{Gate, Reply};
use serde_json::{Value, json};

use crate::driver::{Driver, course, draft};
use crate::setup::{NEARLY_FULL, Setup, long};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

fn asking(text: &str, retries: u32) -> Draft {
    Draft { output: Some(OutputRequest { schema: schema(), retries }), ..draft(text) }
}

fn prompt(driver: &mut Driver, message: Draft, when_busy: Option<Queue>) {
    driver.send("p", Command::Prompt { message, when_busy });
}

/// Returns the text of the instructions of a request.
fn system(driver: &Driver, index: usize) -> String {
    driver.requests()[index]["system"].to_string()
}

fn settled_kind(driver: &Driver) -> Option<ErrorKind> {
    driver.outputs().iter().rev().find_map(|output| match output {
        Output::Event(Event::Settled { outcome: RunOutcome::Failed(failure), .. }) => Some(failure.kind),
        _ => None,
    })
}

#[tokio::test]
async fn run_ends_with_the_value_and_only_its_requests_ask_for_it() {
    let replies = [
        Reply::new().tool("bash", json!({"command": "true"})),
        Reply::text("```json\n{\"n\": 1}\n```"),
        Reply::text("plain"),
    ];
    let mut driver = Setup::new().replies(replies).start();
    prompt(&mut driver, asking("go", 2), None);
    let settled = driver.until_settled().await;
    assert_eq!(settled["output"], json!({"n": 1}));
    let checked =
        json!({"type": "output_checked", "valid": true, "output": {"n": 1}, "attempt": 1, "maxAttempts": 3});
    assert_eq!(driver.of_type("output_checked"), [checked]);
    assert!(system(&driver, 0).contains("output_schema") && system(&driver, 1).contains("output_schema"));
    let records = driver.run("and now?").await;
    assert!(records.iter().all(|record| record["type"] != "output_checked"));
    assert!(records.last().unwrap().get("output").is_none(), "{records:?}");
    assert!(!system(&driver, 2).contains("output_schema"), "the next prompt asks for nothing");
    driver.finish();
}

#[tokio::test]
async fn model_is_told_what_is_wrong_and_asked_again() {
    let replies = [Reply::text("Sure!"), Reply::text("{\"n\": \"1\"}"), Reply::text("{\"n\": 1}")];
    let mut driver = Setup::new().replies(replies).start();
    prompt(&mut driver, asking("go", 2), None);
    let settled = driver.until_settled().await;
    assert_eq!((&settled["output"], &settled["error"]), (&json!({"n": 1}), &Value::Null));
    let problems: Vec<_> =
        driver.of_type("output_checked").iter().map(|record| record["problems"].clone()).collect();
    let expected = json!([{"path": "/n", "reason": "must be a whole number, but is \"1\""}]);
    assert_eq!((&problems[1], &problems[2]), (&expected, &Value::Null));
    assert!(problems[0][0]["reason"].as_str().unwrap().starts_with("is not JSON"), "{problems:?}");
    let conversation = driver.conversation();
    let corrections: Vec<_> = conversation.iter().filter(|text| text.starts_with("custom: ")).collect();
    assert!(
        corrections[0].contains("- the output is not JSON: expected value at line 1 column 1"),
        "{corrections:?}"
    );
    assert!(corrections[1].contains("- /n must be a whole number, but is \"1\"\n"), "{corrections:?}");
    assert!(corrections[1].contains("(Attempt 3 of 3)"), "{corrections:?}");
    let records = driver.records();
    let course = course(&records);
    let place = course.iter().position(|name| *name == "output_checked").unwrap();
    assert_eq!(
        course[place - 1..place + 5],
        ["turn_end", "output_checked", "agent_end", "entry_appended", "agent_start", "turn_start"]
    );
    driver.finish();
}

#[tokio::test]
async fn run_fails_with_a_kind_of_its_own_when_no_attempt_is_left() {
    let mut driver = Setup::new().replies([Reply::text("{}"), Reply::text("{}")]).start();
    prompt(&mut driver, asking("go", 1), None);
    let settled = driver.until_settled().await;
    assert_eq!((settled["errorKind"].as_str(), settled.get("output")), (Some("invalid_output"), None));
    let error = settled["error"].as_str().unwrap();
    assert!(error.contains("2 answers") && error.contains("- /n is missing"), "{error}");
    assert_eq!((settled_kind(&driver), driver.requests().len()), (Some(ErrorKind::InvalidOutput), 2));
    driver.finish();
}

#[tokio::test]
async fn unusable_schema_refuses_the_prompt_before_a_model_is_called() {
    let mut driver = Setup::new().start();
    for (schema, reason) in [
        (json!({"type": "object", "minLenght": 1}), "the keyword \"minLenght\" is not supported"),
        (json!({"$ref": "#"}), "refers to itself"),
        (
            json!({"properties": {"a": {"pattern": "("}}}),
            "at /properties/a/pattern: the pattern cannot be used",
        ),
    ] {
        let message = Draft { output: Some(OutputRequest { schema, retries: 0 }), ..draft("go") };
        driver.send(reason, Command::Prompt { message, when_busy: None });
        let refusal = driver.refusal(reason);
        assert!(
            refusal.starts_with("\"outputSchema\" cannot be used: ") && refusal.contains(reason),
            "{refusal}"
        );
    }
    assert!(driver.requests().is_empty() && driver.messages().is_empty());
    driver.finish();
}

#[tokio::test]
async fn follow_ups_have_their_own_schema_and_steering_keeps_that_of_the_prompt() {
    let gate = Gate::new();
    let replies = [
        Reply::text("waiting").gate(&gate),
        Reply::text("{\"n\": 1}"),
        Reply::text("no JSON at all"),
        Reply::text("{\"n\": 3}"),
    ];
    let mut driver = Setup::new().replies(replies).start();
    driver.send("mode", Command::SetQueueMode { queue: Queue::FollowUp, mode: QueueMode::All });
    prompt(&mut driver, asking("first", 0), None);
    driver.until_delta("waiting").await;
    driver.enqueue("plain", Queue::FollowUp, "second");
    driver.send("own", Command::Prompt { message: asking("third", 0), when_busy: Some(Queue::FollowUp) });
    driver.enqueue("steer", Queue::Steering, "rather so");
    driver.send("bad", Command::Prompt { message: asking("x", 0), when_busy: Some(Queue::Steering) });
    assert!(driver.refusal("bad").contains("steering message cannot have an outputSchema"));
    gate.open();
    let settled = driver.until_settled().await;
    assert_eq!(settled["output"], json!({"n": 3}));
    let outputs: Vec<_> =
        driver.of_type("output_checked").iter().map(|record| record["output"].clone()).collect();
    assert_eq!(outputs, [json!({"n": 1}), json!({"n": 3})]);
    let users: Vec<_> = driver.conversation().into_iter().filter(|text| text.starts_with("user")).collect();
    assert_eq!(users, ["user: first", "user: rather so", "user: second", "user: third"]);
    let asks: Vec<_> = (0..4).map(|index| system(&driver, index).contains("output_schema")).collect();
    assert_eq!(asks, [true, true, false, true]);
    driver.finish();
}

#[tokio::test]
async fn output_is_that_of_the_last_prompt_alone() {
    let gate = Gate::new();
    let mut driver =
        Setup::new().replies([Reply::text("{\"n\": 1}").gate(&gate), Reply::text("bye")]).start();
    prompt(&mut driver, asking("first", 0), None);
    driver.until_delta("{\"n\": 1}").await;
    driver.enqueue("f", Queue::FollowUp, "thanks");
    gate.open();
    let settled = driver.until_settled().await;
    assert_eq!((settled.get("output"), settled.get("error")), (None, None));
    assert_eq!(driver.of_type("output_checked")[0]["output"], json!({"n": 1}));
    driver.finish();
}

#[tokio::test]
async fn retries_and_compactions_keep_what_was_asked_for() {
    let replies = [
        Reply::text("one"),
        Reply::text("two"),
        Reply::status(529),
        Reply::new().tool("bash", json!({"command": "true"})).usage(NEARLY_FULL),
        Reply::text("the summary"),
        Reply::text("{\"n\": 2}"),
    ];
    let mut setup = Setup::new().replies(replies);
    setup.settings.retry.enabled = true;
    setup.settings.retry.base_delay = std::time::Duration::from_millis(1);
    let mut driver = setup.start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    prompt(&mut driver, asking("go", 0), None);
    let settled = driver.until_settled().await;
    assert_eq!(settled["output"], json!({"n": 2}), "{settled}");
    let asks: Vec<_> = (2..6).map(|index| system(&driver, index).contains("output_schema")).collect();
    assert_eq!(asks, [true, true, false, true], "the summary is no output");
    driver.finish();
}

#[tokio::test]
async fn subagents_answer_in_prose() {
    let setup = Setup::new().tool(TaskTool::default());
    let task = json!({"tasks": [{"agent": "explore", "task": "find the parser"}]});
    setup.server.reply_in("find the parser", Reply::text("It is in parse.rs."));
    let mut driver = setup.replies([Reply::new().tool("task", task), Reply::text("{\"n\": 1}")]).start();
    prompt(&mut driver, asking("go", 0), None);
    let settled = driver.until_settled().await;
    assert_eq!(settled["output"], json!({"n": 1}), "{settled}");
    let asks: Vec<_> = (0..3).map(|index| system(&driver, index).contains("output_schema")).collect();
    assert_eq!(asks, [true, false, true]);
    assert_eq!(driver.of_type("output_checked").len(), 1);
    driver.finish();
}

#[tokio::test]
async fn aborted_run_has_no_output() {
    let gate = Gate::new();
    let mut driver = Setup::new().replies([Reply::text("{\"n\": 1}").gate(&gate)]).start();
    prompt(&mut driver, asking("go", 2), None);
    driver.until_delta("{\"n\": 1}").await;
    driver.send("a", Command::Abort);
    let settled = driver.until_settled().await;
    assert_eq!((settled["aborted"].as_bool(), settled.get("output")), (Some(true), None));
    gate.open();
    driver.finish();
}
