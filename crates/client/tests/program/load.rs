//! Much at once: long records, many prompts, many clients, slow readers.

use std::fs;

use bowline_client::{Bounds, Event, Options, Outcome, Step};
use serde_json::json;
use tokio::task::JoinSet;

use crate::trial::Trial;

/// Returns the memory that this process uses, in KiB.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn record_of_20_megabytes_goes_both_ways() {
    const SIZE: usize = 20 * 1024 * 1024;
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).no_session().start().await.unwrap();
    let mut events = client.events_of(|kind| kind == "message_end");
    let run = client.prompt_and_wait("é\u{2028}".repeat(SIZE / 5)).await.unwrap();
    assert_eq!(run.outcome, Outcome::Done);
    let Some(Event::MessageEnd(record)) = events.next().await.unwrap() else { panic!("no message") };
    assert!(serde_json::to_string(&record.message).unwrap().contains(&"é\u{2028}".repeat(SIZE / 5)));
    client.stop().await;
}

#[tokio::test]
async fn thousand_prompts_leave_nothing_behind() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).no_session().start().await.unwrap();
    let (mut warm, mut files) = (0, 0);
    for number in 0..1000 {
        if number % 50 == 0 {
            // Otherwise the model would get ever longer conversations.
            client.new_session().await.unwrap();
        }
        assert_eq!(client.prompt_and_wait("hi").await.unwrap().outcome, Outcome::Done);
        if number == 200 {
            (warm, files) = (memory(), open_files());
        }
    }
    let grown = memory().saturating_sub(warm);
    assert!(grown < 2048, "800 prompts took {grown} KiB");
    assert_eq!(open_files(), files);
    client.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_clients_at_once() {
    let trial = Trial::new();
    let mut clients = JoinSet::new();
    let builders: Vec<_> = (0..50).map(|_| trial.client(&[json!({ "text": "ok" })]).no_session()).collect();
    for (number, builder) in builders.into_iter().enumerate() {
        clients.spawn(async move {
            let client = builder.start().await.unwrap();
            let run = client.prompt_and_wait(format!("I am {number}")).await.unwrap();
            assert_eq!(run.outcome, Outcome::Done);
            assert!(serde_json::to_string(&run.messages).unwrap().contains(&format!("I am {number}")));
            client.stop().await.exit_code
        });
    }
    let codes = clients.join_all().await;
    assert_eq!(codes, vec![Some(0); 50]);
}

/// bowline joins deltas for a reader that lags, so nothing is lost and nothing piles up.
#[tokio::test]
async fn slow_reader_gets_all_of_the_text() {
    const DELTAS: usize = 20_000;
    let trial = Trial::new();
    let text = "x".repeat(90) + "end of a delta";
    let step = json!({ "text": text, "repeat": DELTAS });
    let options =
        Options { bounds: Bounds { pause: 64 * 1024, close: 16 * 1024 * 1024 }, ..Options::default() };
    let client = trial.client(&[step]).no_session().options(options).start().await.unwrap();
    let mut run = client.run("go").await.unwrap();
    let (mut records, mut length) = (0, 0);
    while let Some(event) = run.next().await.unwrap() {
        if let Event::MessageUpdate(update) = event
            && let Step::TextDelta(step) = update.assistant_message_event
        {
            records += 1;
            length += step.delta.len();
            if records % 16 == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    }
    assert_eq!(length, text.len() * DELTAS);
    assert!(records < DELTAS, "nobody was slowed down");
    client.stop().await;
}
