//! The provider `scripted`: answers from a file, for demonstrations and tests. It needs no key and no network.
//!
//! `scripted/demo` is built in; any other id is the path of a script. The conversation determines the next step, so
//! that a session can be resumed: it is the number of successful answers so far.

mod playback;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_core::Model;
use bowline_core::message::{Arguments, StopReason};
use bowline_core::model::{InputKind, Price};
use bowline_core::stream::{FailureKind, StreamError};
use serde::Deserialize;

use crate::error::Error;
use crate::failure::KINDS;
use crate::request::{AnswerStream, ModelRequest};

/// The provider's name, and that of its API.
pub(crate) const PROVIDER: &str = "scripted";

const DEMO: &str = "demo";
const DEMO_SCRIPT: &str = include_str!("../scripts/demo.json");

/// The largest script.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The default number of characters in a delta.
const CHUNK: usize = 12;

/// A script.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Script {
    #[serde(default)]
    name: String,
    steps: Vec<Step>,
    /// Whether the script starts again after its last step.
    #[serde(default)]
    cycle: bool,
}

/// One answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Step {
    text: String,
    thinking: String,
    tool_calls: Vec<ScriptedCall>,
    /// Milliseconds between deltas.
    delay_ms: u64,
    /// Characters per delta.
    chunk: Option<usize>,
    /// Sends the text this many times, one delta each.
    repeat: Option<usize>,
    error: Option<ScriptedError>,
    /// Whether to go silent after the deltas instead of ending the answer.
    hang: bool,
    usage: Option<ScriptedUsage>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    #[serde(default)]
    arguments: Arguments,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptedError {
    #[serde(deserialize_with = "failure_kind")]
    kind: FailureKind,
    message: String,
    /// How often the step fails before it succeeds; always when absent.
    times: Option<usize>,
    #[serde(default)]
    after_deltas: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedUsage {
    input: u64,
    output: u64,
}

/// A session, its script and the index of a step in it.
type StepOfSession = (String, String, usize);

/// The state of the provider: how often each step of each session has failed.
#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    failures: Arc<Mutex<HashMap<StepOfSession, usize>>>,
    /// How long a hanging step stays silent before it counts as timed out.
    idle: Duration,
}

impl Scripts {
    /// Returns an empty state.
    pub(crate) fn new(idle: Duration) -> Self {
        Self { failures: Arc::default(), idle }
    }

    /// Returns whether a step fails this time, and counts it.
    fn fails(&self, request: &ModelRequest, step: usize, error: &ScriptedError) -> bool {
        let key = (request.session_id.clone(), request.model.id.clone(), step);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key).or_default();
        *count += 1;
        error.times.is_none_or(|times| *count <= times)
    }
}

/// Returns the model of a script.
pub(crate) fn model(id: &str) -> Arc<Model> {
    Arc::new(Model {
        id: id.to_owned(),
        name: format!("Script: {}", id.rsplit('/').next().unwrap_or(id)),
        api: PROVIDER.to_owned(),
        provider: PROVIDER.to_owned(),
        base_url: String::new(),
        reasoning: true,
        input: vec![InputKind::Text, InputKind::Image],
        cost: Price::default(),
        context_window: 200_000,
        max_tokens: 32_000,
        thinking_level_map: None,
        compat: None,
    })
}

/// Checks that a script can be played.
pub(crate) fn check(id: &str) -> Result<(), Error> {
    load(id).map(drop)
}

/// Plays the next step of the request's conversation.
pub(crate) fn stream(scripts: &Scripts, request: &ModelRequest) -> AnswerStream {
    match load(&request.model.id) {
        Ok(script) => playback::play(scripts, request, &script),
        Err(error) => {
            let error = StreamError::new(FailureKind::Rejected, error.to_string());
            Box::pin(futures_util::stream::once(async { Err(error) }))
        }
    }
}

impl Script {
    /// Returns the step after `answers` answers, with its index.
    fn step(&self, answers: usize) -> (usize, Step) {
        let place = if self.cycle && !self.steps.is_empty() { answers % self.steps.len() } else { answers };
        let over = || Step { text: self.over(), ..Step::default() };
        (place, self.steps.get(place).cloned().unwrap_or_else(over))
    }

    /// Returns the answer after the last step.
    fn over(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" \"{}\"", self.name) };
        format!("The script{name} is over: it has no step for this request.")
    }
}

fn load(id: &str) -> Result<Script, Error> {
    let wrong = |reason: String| Error::Script { script: id.to_owned(), reason };
    let file;
    let text = if id == DEMO {
        DEMO_SCRIPT
    } else {
        let read = bowline_files::read_text(Path::new(id), LARGEST);
        file = read.map_err(|error| wrong(error.into_io().to_string()))?;
        &file
    };
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}

/// Returns the number of successful answers in the conversation.
fn answers(request: &ModelRequest) -> usize {
    let answers = request.messages.iter().filter_map(|message| message.as_assistant());
    let failed = |reason| matches!(reason, StopReason::Error | StopReason::Aborted | StopReason::Pending);
    answers.filter(|answer| !failed(answer.stop_reason)).count()
}

pub(crate) fn failure_kind<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<FailureKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    found.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
        serde::de::Error::custom(format!("unknown kind \"{name}\", expected one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests;
