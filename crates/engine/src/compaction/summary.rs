//! Asking the model for a summary, with retries.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::SummaryInstructions;
use bowline_core::event::TouchedFiles;
use bowline_core::message::{AssistantMessage, Message, StopReason};
use bowline_core::model::Model;
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_llm::{Assembly, ModelRequest, Providers, RequestOptions};
use bowline_session::Clock;
use futures_util::StreamExt;

use super::prompts::{INSTRUCTIONS, SPLIT_TURN, branch_prompt, file_lists, history_prompt, prefix_prompt};
use crate::input::Step;
use crate::pending::Reporter;
use crate::settings::RetrySettings;

/// The model that is asked for a summary, and how.
#[derive(Debug)]
pub(crate) struct Summarizer {
    pub reporter: Reporter,
    pub providers: Providers,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub options: RequestOptions,
    pub session_id: String,
    pub retry: RetrySettings,
    pub clock: Clock,
    pub max_tokens: u64,
}

/// What the task that asks for a summary reports.
#[derive(Debug)]
pub(crate) enum SummaryStep {
    /// A request failed and is made again after a wait.
    RetryScheduled {
        attempt: u32,
        delay: Duration,
        error: String,
    },
    /// The request is made again.
    RetryStart,
    /// The retries are over, whether they succeeded or not.
    RetryEnd,
    Done(Box<Result<Summary, StreamError>>),
}

/// What is to be summarised.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Compaction {
        history: Vec<Arc<Message>>,
        turn_prefix: Vec<Arc<Message>>,
        previous_summary: Option<String>,
        instructions: Option<String>,
        files: TouchedFiles,
    },
    Branch {
        messages: Vec<Arc<Message>>,
        instructions: Option<SummaryInstructions>,
    },
}

/// A summary, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    pub text: String,
    pub usage: Usage,
}

impl Summarizer {
    /// Returns the summary of a subject.
    pub async fn summarize(&self, subject: Subject) -> Result<Summary, StreamError> {
        match subject {
            Subject::Branch { messages, instructions } => {
                self.ask(branch_prompt(&messages, instructions.as_ref()), self.max_tokens).await
            }
            Subject::Compaction { history, turn_prefix, previous_summary, instructions, files } => {
                let mut summary = Summary { text: String::new(), usage: Usage::default() };
                if history.is_empty() {
                    summary.text = previous_summary.unwrap_or_default();
                } else {
                    let prompt =
                        history_prompt(&history, previous_summary.as_deref(), instructions.as_deref());
                    summary = self.ask(prompt, self.max_tokens).await?;
                }
                if !turn_prefix.is_empty() {
                    let prompt = prefix_prompt(&turn_prefix, instructions.as_deref());
                    let prefix = self.ask(prompt, self.max_tokens / 2).await?;
                    if !summary.text.is_empty() {
                        summary.text.push_str(SPLIT_TURN);
                    }
                    summary.text.push_str(&prefix.text);
                    summary.usage.add(&prefix.usage);
                }
                summary.text.push_str(&file_lists(&files));
                Ok(summary)
            }
        }
    }

    /// Reports to the session.
    pub async fn report(&self, step: SummaryStep) {
        self.reporter.send(Step::Summary(step)).await;
    }

    /// Asks the model, and retries failures that may be temporary.
    async fn ask(&self, prompt: String, max_tokens: u64) -> Result<Summary, StreamError> {
        let mut retries = 0;
        let result = loop {
            let result = self.ask_once(prompt.clone(), max_tokens).await;
            let Err(error) = &result else { break result };
            let attempt = retries + 1;
            let Some(delay) = self.retry.delay(error, attempt, self.clock.chance()) else { break result };
            retries = attempt;
            self.report(SummaryStep::RetryScheduled { attempt, delay, error: error.message.clone() }).await;
            tokio::time::sleep(delay).await;
            self.report(SummaryStep::RetryStart).await;
        };
        if retries > 0 {
            self.report(SummaryStep::RetryEnd).await;
        }
        result
    }

    async fn ask_once(&self, prompt: String, max_tokens: u64) -> Result<Summary, StreamError> {
        let mut request = ModelRequest {
            model: Arc::clone(&self.model),
            system: INSTRUCTIONS.into(),
            messages: vec![Arc::new(Message::user(prompt, Vec::new(), 0))],
            tools: Arc::default(),
            thinking: self.thinking,
            max_tokens: Some(max_tokens.max(1)),
            session_id: self.session_id.clone(),
            cache: false,
            options: self.options,
            output_schema: None,
        };
        self.providers.route_directly(&mut request).await?;
        let mut assembly = Assembly::new(Arc::clone(&request.model), 0);
        let mut stream = self.providers.stream(request);
        while let Some(events) = stream.next().await {
            for event in events? {
                assembly.apply(event);
            }
        }
        if !assembly.is_done() {
            return Err(StreamError::new(
                FailureKind::Incomplete,
                "the stream ended before the summary was complete",
            ));
        }
        checked(&assembly.finish())
    }
}

fn checked(answer: &AssistantMessage) -> Result<Summary, StreamError> {
    let refuse = |text: &str| Err(StreamError::new(FailureKind::Rejected, text));
    if answer.stop_reason == StopReason::Length {
        return refuse("generation hit the token cap and the summary is incomplete");
    }
    if answer.tool_calls().next().is_some() {
        return refuse("Summarization attempted to call a tool");
    }
    let text = answer.text().trim().to_owned();
    if text.is_empty() {
        return refuse("the model returned an empty summary");
    }
    Ok(Summary { text, usage: answer.usage })
}
