//! Providers of extensions: models whose answers an extension writes, or whose server it describes.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, FailureKind, StreamError, StreamEvent, TokenCounts};
use bowline_dialect::write_json;
use bowline_llm::{AnswerSource, AnswerStream, ModelRequest, NewProvider, ProviderLogin};
use futures_util::stream;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::process::connection::{CallGuard, OpenCall, StreamItem};
use crate::process::extension::ProcessExtension;
use crate::process::provider_login::ProcessLogin;
use crate::process::registration::MOST_MODELS;
use crate::protocol::{
    Chunk, Failure, ModelRegistration, ProviderRegistration, ProviderRequest, StreamEnd, StreamStop,
    ToExtension, ToolDeclaration,
};

/// How long an extension may take to list its models.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// How many pieces of an answer are passed on at once.
const LARGEST_BATCH: usize = 4096;

/// From this many pieces at once on, texts of a block are joined: clients, and an abort, would otherwise wait for each.
const JOINED_FROM: usize = 32;

/// Returns a provider for the session.
pub(crate) fn new_provider(
    extension: &Arc<ProcessExtension>,
    provider: &ProviderRegistration,
) -> NewProvider {
    let mut settings = serde_json::to_value(provider).unwrap_or_default();
    // One that lists its models has the models that it lists, also if there are none.
    if provider.refresh && provider.models.is_empty() {
        settings["models"] = json!([]);
    }
    let source = provider.stream.then(|| {
        let source = ProcessProvider { extension: Arc::downgrade(extension), name: provider.name.clone() };
        Arc::new(source) as Arc<dyn AnswerSource>
    });
    let login = provider.login.as_ref().map(|login| ProviderLogin {
        name: login.name.clone(),
        is_required: login.required,
        service: Arc::new(ProcessLogin::new(extension, &provider.name)),
    });
    NewProvider { settings, source, login }
}

/// Asks an extension for the models of a provider.
pub(crate) async fn list_models(
    extension: &ProcessExtension,
    provider: &str,
) -> Result<Vec<ModelRegistration>, String> {
    // As it is: listing models is no reason to renew a login.
    let credential = extension.stored_login(provider);
    let credential = credential.as_ref();
    let (guard, end) = extension.start_call(|line, id| {
        let record = ToExtension::Provider { id, provider, op: "refresh", credential, request: None };
        write_json(line, &record);
    })?;
    let answer = guard.answer(end, Some(LIST_LIMIT), CancellationToken::new()).await;
    let value = answer.map_err(|problem| format!("its models could not be listed: {problem}"))?;
    let models: Vec<ModelRegistration> = serde_json::from_value(value)
        .map_err(|problem| format!("its list of models is invalid: {problem}"))?;
    if models.len() > MOST_MODELS {
        return Err(format!("it lists more than {MOST_MODELS} models"));
    }
    Ok(models)
}

/// A provider whose answers an extension writes.
struct ProcessProvider {
    extension: Weak<ProcessExtension>,
    name: String,
}

impl fmt::Debug for ProcessProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProcessProvider").field(&self.name).finish()
    }
}

impl AnswerSource for ProcessProvider {
    fn answer(&self, request: ModelRequest) -> AnswerStream {
        match self.ask(&request) {
            Some(answer) => Box::pin(stream::unfold(Some(answer), |answer| async { answer?.next().await })),
            None => {
                // It is started again soon, so a retry may succeed.
                let text = format!("The extension of the provider \"{}\" is not running.", self.name);
                let error = StreamError::new(FailureKind::Unavailable, text);
                Box::pin(stream::once(async { Err(error) }))
            }
        }
    }
}

impl ProcessProvider {
    /// Sends a request to the extension, if it runs.
    fn ask(&self, request: &ModelRequest) -> Option<Answer> {
        let connection = self.extension.upgrade()?.connection()?;
        let (sender, items) = mpsc::unbounded_channel();
        let messages = request.whole_messages();
        let tools = request.tools.iter().map(|tool| ToolDeclaration {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            constrained_sampling: tool.strict.map(Into::into),
        });
        let body = ProviderRequest {
            model: &request.model,
            system_prompt: &request.system,
            messages: &messages,
            tools: tools.collect(),
            thinking_level: request.thinking.clamp_to(&request.model.thinking_levels()),
            max_tokens: request.max_tokens,
            session_id: &request.session_id,
        };
        let guard = connection.call(OpenCall::Stream { items: sender, size: 0 }, |line, id| {
            let provider = &self.name;
            let record =
                ToExtension::Provider { id, provider, op: "stream", credential: None, request: Some(body) };
            write_json(line, &record);
        })?;
        Some(Answer { _guard: guard, items, provider: self.name.clone(), failure: None })
    }
}

/// An answer that an extension is writing. Dropping it tells the extension to stop.
struct Answer {
    _guard: CallGuard,
    items: mpsc::UnboundedReceiver<StreamItem>,
    provider: String,
    /// How the answer ends, after what was sent before.
    failure: Option<StreamError>,
}

type Batch = Result<Vec<StreamEvent>, StreamError>;

impl Answer {
    /// Returns the next pieces, and the rest unless there is none.
    async fn next(mut self) -> Option<(Batch, Option<Self>)> {
        if let Some(failure) = self.failure.take() {
            return Some((Err(failure), None));
        }
        let mut items = Vec::new();
        if self.items.recv_many(&mut items, LARGEST_BATCH).await == 0 {
            let error = self.error(FailureKind::Incomplete, "exited while it was answering");
            return Some((Err(error), None));
        }
        let joins = items.len() >= JOINED_FROM;
        let mut events = Vec::with_capacity(if joins { JOINED_FROM } else { items.len() });
        for item in items {
            match self.take(item) {
                Ok(event) if joins => push_joined(&mut events, event),
                Ok(event) => events.push(event),
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            }
        }
        Some((Ok(events), Some(self)))
    }

    fn take(&self, item: StreamItem) -> Result<StreamEvent, StreamError> {
        match item {
            StreamItem::Chunk(chunk) => Ok(event(chunk)),
            StreamItem::TooMuch => {
                Err(self.error(FailureKind::TooLarge, "sent more than an answer may have and was stopped"))
            }
            StreamItem::End(Err(failure)) => Err(error_of(failure)),
            StreamItem::End(Ok(value)) => match serde_json::from_value::<Option<StreamEnd>>(value) {
                Ok(end) => {
                    let reason = stop_reason(end.map(|end| end.stop_reason).unwrap_or_default());
                    Ok(StreamEvent::Done { reason, raw_reason: None })
                }
                Err(problem) => {
                    Err(self.error(FailureKind::Protocol, &format!("returned an invalid result: {problem}")))
                }
            },
        }
    }

    fn error(&self, kind: FailureKind, what: &str) -> StreamError {
        StreamError::new(kind, format!("The extension of the provider \"{}\" {what}.", self.provider))
    }
}

/// Adds an event, which becomes part of the one before it if both have text of the same block.
fn push_joined(events: &mut Vec<StreamEvent>, event: StreamEvent) {
    match (events.last_mut(), event) {
        (Some(StreamEvent::Delta { index: last, text }), StreamEvent::Delta { index, text: further })
            if *last == index =>
        {
            text.push_str(&further);
        }
        (_, event) => events.push(event),
    }
}

fn event(chunk: Chunk) -> StreamEvent {
    match chunk {
        Chunk::Start { response_id } => StreamEvent::Started { response_id },
        Chunk::TextStart { content_index: index } => StreamEvent::BlockStart { index, kind: BlockKind::Text },
        Chunk::ThinkingStart { content_index: index } => {
            StreamEvent::BlockStart { index, kind: BlockKind::Thinking }
        }
        Chunk::ToolCallStart { content_index: index, id, tool_name: name } => {
            StreamEvent::BlockStart { index, kind: BlockKind::ToolCall { id, name } }
        }
        Chunk::TextDelta { content_index: index, delta: text }
        | Chunk::ThinkingDelta { content_index: index, delta: text }
        | Chunk::ToolCallDelta { content_index: index, delta: text } => StreamEvent::Delta { index, text },
        Chunk::TextEnd { content_index: index, signature }
        | Chunk::ThinkingEnd { content_index: index, signature }
        | Chunk::ToolCallEnd { content_index: index, signature } => {
            StreamEvent::BlockEnd { index, signature }
        }
        Chunk::Usage { usage } => StreamEvent::Tokens(TokenCounts {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
        }),
    }
}

fn stop_reason(stop: StreamStop) -> StopReason {
    match stop {
        StreamStop::Stop => StopReason::Stop,
        StreamStop::Length => StopReason::Length,
        StreamStop::ToolUse => StopReason::ToolUse,
    }
}

/// Returns the failure that an extension reports.
fn error_of(failure: Failure) -> StreamError {
    let Failure { message, kind, retry_after_ms } = failure;
    let kind = match kind.as_deref() {
        Some("auth") => FailureKind::Authentication,
        Some("not_found") => FailureKind::NotFound,
        Some("rate_limit") => FailureKind::RateLimited,
        Some("overloaded") => FailureKind::Unavailable,
        Some("quota") => FailureKind::Quota,
        Some("network") => FailureKind::Connection,
        Some("timeout") => FailureKind::TimedOut,
        Some("context") => FailureKind::ContextOverflow,
        Some("refused") => FailureKind::Rejected,
        _ => bowline_llm::failure_kind_of(&message),
    };
    StreamError { kind, status: None, message, retry_after: retry_after_ms.map(Duration::from_millis) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_block_in_a_row_are_joined() {
        let delta = |index, text: &str| StreamEvent::Delta { index, text: text.to_owned() };
        let mut events = Vec::new();
        let start = StreamEvent::BlockStart { index: 1, kind: BlockKind::Text };
        for event in
            [delta(0, "a"), delta(0, "b"), start.clone(), delta(1, "c"), delta(0, "d"), delta(0, "e")]
        {
            push_joined(&mut events, event);
        }
        assert_eq!(events, [delta(0, "ab"), start, delta(1, "c"), delta(0, "de")]);
    }
}
