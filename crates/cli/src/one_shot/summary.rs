//! What becomes of the messages, gathered from the records.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What has happened so far.
#[derive(Debug)]
pub(super) struct Summary {
    pub session_id: String,
    pub session_file: Option<String>,
    pub started: Instant,
    /// The texts of the last answer.
    pub texts: Vec<String>,
    pub stop_reason: Option<String>,
    pub model: Option<String>,
    pub turns: u64,
    pub tool_calls: u64,
    pub usage: Usage,
    /// The JSON that the last message asked for, as it was received.
    pub output: Option<Box<RawValue>>,
    failure: Option<Problem>,
}

/// Why not every message was run to its end.
#[derive(Debug)]
struct Problem {
    text: String,
    kind: Option<String>,
}

/// What answers have used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total_tokens: u64,
    /// In US dollars.
    pub cost: f64,
}

/// The parts of a record that say how a run goes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reported {
    #[serde(default)]
    pub message: Option<Message>,
    #[serde(default)]
    pub aborted: bool,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub error_kind: Option<String>,
    #[serde(default)]
    pub output: Option<Box<RawValue>>,
}

/// A message of the conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    role: String,
    #[serde(default)]
    content: serde_json::Value,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Option<MessageUsage>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    error_message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MessageUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total_tokens: u64,
    cost: Cost,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cost {
    total: f64,
}

impl Summary {
    /// Returns the summary of a session in which nothing has happened.
    pub fn new(session_id: String, session_file: Option<String>) -> Self {
        Self {
            session_id,
            session_file,
            started: Instant::now(),
            texts: Vec::new(),
            stop_reason: None,
            model: None,
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            output: None,
            failure: None,
        }
    }

    /// Returns why not every message was run to its end.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_ref().map(|problem| problem.text.as_str())
    }

    /// Returns the same for programs.
    pub fn failure_kind(&self) -> Option<&str> {
        self.failure.as_ref().and_then(|problem| problem.kind.as_deref())
    }

    /// Takes note that a message could not be run to its end.
    pub fn fail(&mut self, text: impl Into<String>, kind: Option<&str>) {
        self.failure = Some(Problem { text: text.into(), kind: kind.map(ToOwned::to_owned) });
    }

    /// Takes note of a message that was completed.
    pub fn message_ended(&mut self, message: Message) {
        if message.role != "assistant" {
            return;
        }
        let parts = message.content.as_array().map(Vec::as_slice).unwrap_or_default();
        let of_kind = |kind: &'static str| parts.iter().filter(move |part| part["type"] == kind);
        self.turns += 1;
        self.tool_calls += of_kind("toolCall").count() as u64;
        self.texts =
            of_kind("text").filter_map(|part| part["text"].as_str()).map(ToOwned::to_owned).collect();
        self.model = Some(format!("{}/{}", message.provider, message.model));
        let used = message.usage.unwrap_or_default();
        self.usage.input += used.input;
        self.usage.output += used.output;
        self.usage.cache_read += used.cache_read;
        self.usage.cache_write += used.cache_write;
        self.usage.total_tokens += used.total_tokens;
        self.usage.cost += used.cost.total;
        // A later answer, such as the one after a retry, is the one that counts.
        self.failure = match message.stop_reason.as_deref() {
            Some(reason @ ("error" | "aborted")) => {
                let text = message.error_message.filter(|text| !text.is_empty());
                let text = text.unwrap_or_else(|| format!("Request {reason}"));
                Some(Problem { text, kind: Some(reason.to_owned()).filter(|reason| reason == "aborted") })
            }
            _ => None,
        };
        self.stop_reason = message.stop_reason;
    }

    /// Takes note of the end of a run.
    pub fn run_ended(&mut self, reported: Reported) {
        self.output = reported.output;
        match (reported.error, &mut self.failure) {
            (Some(error), None) => self.fail(error, reported.error_kind.as_deref()),
            (Some(_), Some(problem)) => problem.kind = reported.error_kind,
            (None, None) if reported.aborted => self.fail("Request aborted", Some("aborted")),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary(messages: &[Value]) -> Summary {
        let mut summary = Summary::new("id".to_owned(), None);
        for message in messages {
            summary.message_ended(serde_json::from_value(message.clone()).unwrap());
        }
        summary
    }

    fn answer(text: &str, stop_reason: &str) -> Value {
        json!({
            "role": "assistant", "content": [{"type": "text", "text": text}, {"type": "toolCall"}],
            "provider": "p", "model": "m", "stopReason": stop_reason,
            "usage": {"input": 2, "output": 1, "totalTokens": 3, "cost": {"total": 0.5}},
        })
    }

    #[test]
    fn last_answer_counts_and_usage_adds_up() {
        let user = json!({"role": "user", "content": "x"});
        let summary = summary(&[user.clone(), answer("one", "error"), answer("two", "stop"), user]);
        assert_eq!((summary.texts.as_slice(), summary.failure()), (&["two".to_owned()][..], None));
        assert_eq!((summary.turns, summary.tool_calls, summary.model.as_deref()), (2, 2, Some("p/m")));
        let usage = Usage { input: 4, output: 2, total_tokens: 6, cost: 1.0, ..Usage::default() };
        assert_eq!(summary.usage, usage);
    }

    #[test]
    fn failure_is_that_of_the_answer_with_the_kind_of_the_run() {
        let mut failed = summary(&[answer("", "error")]);
        assert_eq!(failed.failure(), Some("Request error"));
        failed.run_ended(serde_json::from_value(json!({"error": "x", "errorKind": "auth"})).unwrap());
        assert_eq!((failed.failure(), failed.failure_kind()), (Some("Request error"), Some("auth")));
        let mut limited = summary(&[answer("", "toolUse")]);
        limited.run_ended(serde_json::from_value(json!({"error": "x", "errorKind": "budget"})).unwrap());
        assert_eq!((limited.failure(), limited.failure_kind()), (Some("x"), Some("budget")));
    }
}
