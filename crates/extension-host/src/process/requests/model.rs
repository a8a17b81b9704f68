//! Model calls of extensions. Nothing of them becomes part of the session.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_core::message::{Message, StopReason};
use bowline_core::model::Model;
use bowline_core::stream::{BlockKind, StreamEvent, TokenCounts};
use bowline_core::tool::ToolDefinition;
use bowline_core::usage::Usage;
use bowline_llm::{AddedBy, Assembly, ModelRequest, NewProvider, Providers, RequestHooks, RequestOptions};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::call_wishes::CallWishes;
use super::{Asked, CANCELLED, json};
use crate::protocol::{
    Chunk, DescribedModel, ListModelsParams, ModelParams, NamedModel, ProviderRegistration, ToExtension,
};

/// How long providers may take to list their models anew.
const REFRESH_LIMIT: Duration = Duration::from_secs(30);

/// The API of scripted models.
const SCRIPTED: &str = "scripted";

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
    let (temperature, tool_choice) = (params.temperature, params.tool_choice.clone());
    let Call { mut request, providers } = call(asked, params)?;
    tokio::select! {
        routed = providers.route_directly(&mut request) => routed.map_err(|error| error.message)?,
        () = asked.cancel.cancelled() => return Err(CANCELLED.to_owned()),
    }
    let mut assembly = Assembly::new(Arc::clone(&request.model), now());
    let mut kinds = Kinds::default();
    let wishes = CallWishes::new(&request.model, temperature, tool_choice);
    let mut stream = providers.stream_with(request, wishes.map(|wishes| wishes as Arc<dyn RequestHooks>));
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
    let all = params.all;
    let list = move || if all { providers.known_models() } else { providers.available() };
    let models = tokio::task::spawn_blocking(list).await;
    json(&models.map_err(|error| error.to_string())?)
}

/// A call of a model.
struct Call {
    request: ModelRequest,
    /// The providers that know the model.
    providers: Providers,
}

/// Returns the call that the parameters mean.
fn call(asked: &Asked<'_>, mut params: ModelParams) -> Result<Call, String> {
    let (model, providers) = match params.model.take() {
        Some(NamedModel::Described(described)) => describe(asked, *described, &mut params)?,
        Some(NamedModel::Name(name)) => with_access(asked, find(asked, &name)?, &mut params)?,
        None => {
            let mirror = asked.extension.mirrored();
            let current = mirror.as_ref().and_then(|mirror| mirror.model.clone());
            let model = current.ok_or_else(|| "the session has no model; name one".to_owned())?;
            with_access(asked, model, &mut params)?
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
            strict: tool.constrained_sampling.map(Into::into),
        })
        .collect();
    let request = ModelRequest {
        model,
        system: params.system_prompt.unwrap_or_default().into(),
        messages,
        tools: tools.into(),
        thinking: params.thinking_level.unwrap_or_default(),
        max_tokens: params.max_tokens,
        session_id: asked.extension.about.session_id.clone(),
        cache: false,
        options: RequestOptions::default(),
        output_schema: None,
    };
    Ok(Call { request, providers })
}

/// Returns a model with the key and the headers of the caller, if there are any.
fn with_access(
    asked: &Asked<'_>,
    model: Arc<Model>,
    params: &mut ModelParams,
) -> Result<(Arc<Model>, Providers), String> {
    let providers = &asked.extension.about.providers;
    let is_plain = params.api_key.is_none() && params.headers.values().all(Option::is_none);
    // Whoever answers itself has its own access, and scripts need none.
    // The key of the caller is not for whatever model a virtual one chooses.
    if is_plain
        || providers.is_foreign(&model.provider)
        || providers.is_virtual(&model)
        || model.api == SCRIPTED
    {
        return Ok((model, providers.clone()));
    }
    let described = serde_json::to_value(&*model).and_then(serde_json::from_value);
    describe(asked, described.map_err(|error| error.to_string())?, params)
}

/// Returns a model that the caller describes, and the providers that know it for this call.
fn describe(
    asked: &Asked<'_>,
    described: DescribedModel,
    params: &mut ModelParams,
) -> Result<(Arc<Model>, Providers), String> {
    let DescribedModel { provider, model } = described;
    let id = model.id.clone();
    let registration = ProviderRegistration {
        name: provider.clone(),
        stream: false,
        refresh: false,
        base_url: model.base_url.clone(),
        api: model.api.clone(),
        api_key: params.api_key.take(),
        headers: std::mem::take(&mut params.headers)
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        auth_header: false,
        models: vec![model],
        login: None,
    };
    let settings = serde_json::to_value(&registration).map_err(|error| error.to_string())?;
    let by = if asked.extension.is_of_user() { AddedBy::User } else { AddedBy::Project };
    let providers = asked.extension.about.providers.without_additions();
    let additions = providers.additions(by);
    additions.add(&provider, NewProvider { settings, source: None, login: None })?;
    let model = providers.find(&provider, &id);
    // The handle is of this call alone, so nothing is to be removed.
    let found = model.map(|model| (model, providers.for_session()));
    found.ok_or_else(|| format!("the model {provider}/{id} cannot be used"))
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
