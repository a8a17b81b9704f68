//! Common exchanges with an agent: a command with its response, a prompt with its whole run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::Agent;

/// How long to wait for a text on stderr.
const STDERR_LIMIT: Duration = Duration::from_secs(10);

impl Agent {
    /// Sends a command with a unique id and returns the response.
    #[track_caller]
    pub fn ask(&mut self, mut command: Value) -> Value {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let id = format!("ask-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        command["id"] = json!(id);
        self.send(command);
        self.response(&id)
    }

    /// Sends a command without fields that must succeed and returns its data.
    #[track_caller]
    pub fn get(&mut self, command: &str) -> Value {
        self.carry_out(json!({ "type": command }))
    }

    /// Sends a command that must succeed and returns its data, or null.
    #[track_caller]
    pub fn carry_out(&mut self, command: Value) -> Value {
        let mut response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Sends a command that must be refused and returns the error's text.
    #[track_caller]
    pub fn refuse(&mut self, command: Value) -> String {
        let response = self.ask(command);
        assert_eq!(response["success"], false, "{response}");
        response["error"].as_str().unwrap_or_else(|| panic!("no error text in {response}")).to_owned()
    }

    /// Sends a prompt that must be accepted and returns the records up to `agent_settled`.
    #[track_caller]
    pub fn run(&mut self, prompt: &str) -> Vec<Value> {
        self.carry_out(json!({ "type": "prompt", "message": prompt }));
        self.collect_until_settled()
    }

    /// Closes stdin and waits for the exit code 0.
    #[track_caller]
    pub fn finish(mut self) {
        self.close_stdin();
        self.rest();
        let code = self.wait();
        assert_eq!(code, 0, "{}", self.stderr());
    }

    /// Waits for a failing start, and returns the error text, which must be both on stdout as a record and on stderr.
    #[track_caller]
    pub fn fatal_error(&mut self) -> String {
        let records = self.rest();
        assert_eq!(self.wait(), 1, "{records:?}");
        let [record] = &records[..] else { panic!("expected one record, not {records:?}") };
        assert_eq!((&record["type"], &record["fatal"]), (&json!("error"), &json!(true)), "{record}");
        let text = record["error"].as_str().unwrap_or_else(|| panic!("no text in {record}")).to_owned();
        self.wait_for_stderr(&text);
        text
    }

    /// Blocks until stderr contains a text.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        let started = Instant::now();
        while !self.stderr().contains(text) {
            assert!(started.elapsed() < STDERR_LIMIT, "stderr lacks {text:?}:\n{}", self.stderr());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Returns the messages that `message_end` announced, in order.
pub fn announced(records: &[Value]) -> Vec<Value> {
    records
        .iter()
        .filter(|record| record["type"] == "message_end")
        .map(|record| record["message"].clone())
        .collect()
}
