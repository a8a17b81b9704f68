//! The JSON value that a prompt asks for: what the model is told of it, and whether an answer is it.

use std::fmt::Write as _;
use std::sync::Arc;

use bowline_core::message::AssistantMessage;
use bowline_core::output::{OutputProblem, OutputRequest};
use bowline_json_schema::{Schema, SchemaError};
use serde_json::Value;

/// The most bytes of an answer that is read as JSON.
const LARGEST_OUTPUT: usize = 1024 * 1024;

/// What a prompt asks for, and how far the run is with it.
#[derive(Debug)]
pub(crate) struct ExpectedOutput {
    schema: Schema,
    retries: u32,
    /// How many answers were checked.
    attempts: u32,
    value: Option<Arc<Value>>,
}

/// What becomes of an answer.
#[derive(Debug)]
pub(crate) struct CheckedOutput {
    pub attempt: u32,
    pub max_attempts: u32,
    pub result: Result<Arc<Value>, Vec<OutputProblem>>,
}

impl CheckedOutput {
    pub fn is_last(&self) -> bool {
        self.attempt >= self.max_attempts
    }
}

impl ExpectedOutput {
    /// Returns what a prompt asks for, or why nothing can be checked against its schema.
    pub fn new(request: &OutputRequest) -> Result<Self, SchemaError> {
        let schema = Schema::compile(&request.schema)?;
        Ok(Self { schema, retries: request.retries, attempts: 0, value: None })
    }

    /// Returns the value, once an answer was right.
    pub fn value(&self) -> Option<&Arc<Value>> {
        self.value.as_ref()
    }

    pub fn schema(&self) -> &Value {
        self.schema.source()
    }

    /// Returns what the model is told during the run, beside its other instructions.
    pub fn instructions(&self) -> String {
        format!(
            "Your last message, the one in which you call no tool, is read by a program. It must be one JSON value that \
             satisfies the following JSON Schema, and nothing else: no text before or after it and no Markdown. Use your tools \
             first if you need them.\n\n<output_schema>\n{}\n</output_schema>",
            self.schema.source()
        )
    }

    /// Checks the last answer of the run.
    pub fn check(&mut self, answer: &AssistantMessage) -> CheckedOutput {
        self.attempts = self.attempts.saturating_add(1);
        let result = read(&answer.text()).and_then(|value| match self.schema.check(&value) {
            Ok(()) => Ok(Arc::new(value)),
            Err(problems) => Err(problems),
        });
        self.value = result.as_ref().ok().map(Arc::clone);
        let max_attempts = self.retries.saturating_add(1).max(self.attempts);
        CheckedOutput { attempt: self.attempts, max_attempts, result }
    }
}

/// Returns what the model is told of an answer that is wrong.
pub(crate) fn correction(checked: &CheckedOutput, problems: &[OutputProblem]) -> String {
    format!(
        "Your last message is not the output that was asked for:\n{}\n\nReply with the corrected JSON value alone.\n\
         (Attempt {} of {})",
        listed(problems),
        checked.attempt.saturating_add(1),
        checked.max_attempts
    )
}

/// Returns problems as a list.
pub(crate) fn listed(problems: &[OutputProblem]) -> String {
    let mut list = String::new();
    for problem in problems {
        let _ = write!(list, "{}- {problem}", if list.is_empty() { "" } else { "\n" });
    }
    list
}

/// Reads an answer as JSON. Models like to put it into a Markdown fence, which does no harm.
fn read(text: &str) -> Result<Value, Vec<OutputProblem>> {
    let wrong = |reason: String| Err(vec![OutputProblem::of_all(reason)]);
    let text = without_fence(text.trim());
    if text.is_empty() {
        return wrong("is empty".to_owned());
    }
    if text.len() > LARGEST_OUTPUT {
        return wrong(format!("has {} bytes; at most {LARGEST_OUTPUT} are read", text.len()));
    }
    serde_json::from_str(text).or_else(|error| wrong(format!("is not JSON: {error}")))
}

/// Returns what a fence around the whole text contains.
fn without_fence(text: &str) -> &str {
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match fenced.and_then(|inside| inside.split_once('\n')) {
        Some((language, inside)) if !language.contains('`') => inside.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_read_with_and_without_a_fence() {
        for text in ["{\"a\":1}", " \n{\"a\":1}\n", "```json\n{\"a\": 1}\n```", "```\n{\"a\":1}```"] {
            assert_eq!(read(text).unwrap(), json!({"a": 1}), "{text}");
        }
        assert_eq!(read("\"```\"").unwrap(), json!("```"));
    }

    #[track_caller]
    fn check_refusal(text: &str, reason: &str) {
        let problems = read(text).unwrap_err();
        assert!(problems[0].to_string().contains(reason), "{}", problems[0]);
    }

    #[test]
    fn what_is_not_json_is_refused_with_the_reason() {
        check_refusal("", "is empty");
        check_refusal("Here it is: {}", "is not JSON: expected value at line 1 column 1");
        check_refusal("{} {}", "trailing characters");
        check_refusal("```json\n{}\n```\nDone.", "is not JSON");
        check_refusal(&"[".repeat(1000), "recursion limit");
        check_refusal(&format!("\"{}\"", "x".repeat(LARGEST_OUTPUT)), "at most 1048576 are read");
    }
}
