//! What a prompt asks of the answer that ends its run: to be JSON of a certain form.

use std::fmt;

use serde_json::Value;

/// How often a model is asked again for an output that is wrong, unless the prompt says so.
pub const DEFAULT_RETRIES: u32 = 2;

/// The most that a prompt can allow.
pub const MOST_RETRIES: u32 = 10;

/// The form that the last answer must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRequest {
    /// A JSON Schema. The engine checks it.
    pub schema: Value,
    /// How often the model is asked again.
    pub retries: u32,
}

/// Why an answer is not the output that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputProblem {
    /// Where in the output, as a JSON Pointer.
    pub path: String,
    pub reason: String,
}

impl OutputProblem {
    /// Returns a problem of the output as a whole.
    pub fn of_all(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }
}

impl fmt::Display for OutputProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(formatter, "the output {}", self.reason),
            path => write!(formatter, "{path} {}", self.reason),
        }
    }
}
