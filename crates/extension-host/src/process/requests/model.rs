//! Model calls of extensions. Nothing of them becomes part of the session.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_core::message::{Message, StopReason};
use bowline_core::model::Model;
use bowline_core::stream::{BlockKind, StreamEvent, TokenCounts};
use bowline_core::tool::ToolDefinition;
use bowline_core::usage::Usage;
use bowline_llm::{Assembly, ModelRequest, RequestOptions};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::{Asked, CANCELLED, json};
use crate::protocol::{Chunk, ListModelsParams, ModelAuth, ModelParams, ToExtension};

/// How long providers may take to list their models anew.
const REFRESH_LIMIT: Duration = Duration::from_secs(30);

/// How an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    AtTheEnd,
    /// As it arrives, and whole at the end.
    InPieces,
}

pub(super) async fn answer(
    asked: &Asked<'_>,
    params: ModelParams,
    delivery: Delivery,
) -> Result<Value, String> {
    let _pause = asked.connection.clock.pause();
    let request = request(asked, params)?;
    let mut assembly = Assembly::new(Arc::clone(&request.model), now());
    let mut kinds = Kinds::default();
    let mut stream = asked.extension.about.providers.stream(request);
    loop {
        let batch = tokio::select! {
            batch = stream.next() => batch,
            () = asked.cancel.cancelled() => return Err(CANCELLED.to_owned()),
        };
        match batch {
            None => break,
            Some(Err(error)) => return Err(error.message),
            Some(Ok(events)) => {
                for event in events {
                    if delivery == Delivery::InPieces
                        && let Some(chunk) = kinds.chunk(&event)
                    {
                        asked.connection.send(&ToExtension::Chunk { id: asked.id, event: &chunk });
                    }
                    assembly.apply(event);
                }
            }
        }
    }
    if !assembly.is_done() {
        return Err("the answer ended before it was complete".to_owned());
    }
    let message = assembly.finish();
    match (message.stop_reason, &message.error_message) {
        (StopReason::Error, Some(error)) => Err(error.clone()),
        _ => json(&message),
    }
}

pub(super) async fn list(asked: &Asked<'_>, params: &ListModelsParams) -> Result<Value, String> {
    if params.refresh
        && let Some(group) = asked.extension.group.upgrade()
    {
        let _pause = asked.connection.clock.pause();
        tokio::select! {
            () = group.refresh_models(REFRESH_LIMIT) => {}
            () = asked.cancel.cancelled() => return Err(CANCELLED.to_owned()),
        }
    }
    let providers = asked.extension.about.providers.clone();
    // The catalog is parsed when it is first needed.
    let models = tokio::task::spawn_blocking(move || providers.available()).await;
    json(&models.map_err(|error| error.to_string())?)
}

pub(super) async fn auth(asked: &Asked<'_>, provider: &str) -> Result<Value, String> {
    if !asked.extension.is_of_user() {
        return Err("extensions of a project get no keys".to_owned());
    }
    let key = asked.extension.about.providers.key(provider).await.map_err(|error| error.message)?;
    json(&ModelAuth { api_key: key.map(|key| key.expose().to_owned()) })
}

/// Returns the request that the parameters mean.
fn request(asked: &Asked<'_>, params: ModelParams) -> Result<ModelRequest, String> {
    let mirror = asked.extension.mirrored();
    let model = match &params.model {
        Some(name) => find(asked, name)?,
        None => {
            let current = mirror.as_ref().and_then(|mirror| mirror.model.clone());
            current.ok_or_else(|| "the session has no model; name one".to_owned())?
        }
    };
    let messages = match (params.messages, params.prompt) {
        (Some(messages), None) => messages.into_iter().map(Arc::new).collect(),
        (None, Some(prompt)) => vec![Arc::new(Message::user(prompt, Vec::new(), now()))],
        _ => return Err("a call has either messages or a prompt".to_owned()),
    };
    let tools: Vec<_> = params
        .tools
        .into_iter()
        .map(|tool| ToolDefinition {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        })
        .collect();
    Ok(ModelRequest {
        model,
        system: params.system_prompt.unwrap_or_default().into(),
        messages,
        tools: tools.into(),
        thinking: params.thinking_level.unwrap_or_default(),
        max_tokens: params.max_tokens,
        session_id: asked.extension.about.session_id.clone(),
        cache: false,
        options: RequestOptions::default(),
    })
}

fn find(asked: &Asked<'_>, name: &str) -> Result<Arc<Model>, String> {
    let named = name.split_once('/');
    let found = named.and_then(|(provider, id)| asked.extension.about.providers.find(provider, id));
    found.ok_or_else(|| format!("there is no model {name}; models are named provider/id"))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// The kinds of the blocks so far, which later events do not repeat.
#[derive(Default)]
struct Kinds(Vec<BlockKind>);

impl Kinds {
    fn chunk(&mut self, event: &StreamEvent) -> Option<Chunk> {
        Some(match event {
            StreamEvent::Started { response_id } => Chunk::Start { response_id: response_id.clone() },
            StreamEvent::BlockStart { index: content_index, kind } => {
                let content_index = *content_index;
                self.0.resize(content_index, BlockKind::Text);
                self.0.push(kind.clone());
                match kind {
                    BlockKind::Text => Chunk::TextStart { content_index },
                    BlockKind::Thinking | BlockKind::RedactedThinking => {
                        Chunk::ThinkingStart { content_index }
                    }
                    BlockKind::ToolCall { id, name } => {
                        Chunk::ToolCallStart { content_index, id: id.clone(), tool_name: name.clone() }
                    }
                }
            }
            StreamEvent::Delta { index: content_index, text } => {
                let (content_index, delta) = (*content_index, text.clone());
                match self.0.get(content_index)? {
                    BlockKind::Text => Chunk::TextDelta { content_index, delta },
                    BlockKind::Thinking | BlockKind::RedactedThinking => {
                        Chunk::ThinkingDelta { content_index, delta }
                    }
                    BlockKind::ToolCall { .. } => Chunk::ToolCallDelta { content_index, delta },
                }
            }
            StreamEvent::BlockEnd { index: content_index, signature } => {
                let (content_index, signature) = (*content_index, signature.clone());
                match self.0.get(content_index)? {
                    BlockKind::Text => Chunk::TextEnd { content_index, signature },
                    BlockKind::Thinking | BlockKind::RedactedThinking => {
                        Chunk::ThinkingEnd { content_index, signature }
                    }
                    BlockKind::ToolCall { .. } => Chunk::ToolCallEnd { content_index, signature },
                }
            }
            StreamEvent::Tokens(counts) => Chunk::Usage { usage: usage(counts) },
            StreamEvent::Done { .. } => return None,
        })
    }
}

fn usage(counts: &TokenCounts) -> Usage {
    let TokenCounts { input, output, cache_read, cache_write, reasoning } = *counts;
    // An extension may have counted them.
    let total_tokens = [output, cache_read, cache_write].into_iter().fold(input, u64::saturating_add);
    Usage { input, output, cache_read, cache_write, total_tokens, reasoning, ..Usage::default() }
}
