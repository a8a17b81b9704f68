//! Checking a key with its provider: one small request to the default model.

use std::fmt;
use std::sync::Arc;

use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::{Message, Model, ThinkingLevel};
use bowline_llm::{KeyState, KeyStatus, ModelRequest, Providers, RequestOptions};
use futures_util::StreamExt as _;

use crate::failure::Failure;

/// The token limit of the answer, which is discarded.
const TOKENS: u64 = 16;

/// The provider's verdict.
#[derive(Debug)]
pub(crate) struct Answer {
    pub provider: String,
    pub model: String,
    pub error: Option<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            None => write!(formatter, "{} answers", self.model),
            Some(error) => write!(formatter, "{}: {error}", self.model),
        }
    }
}

/// Asks a provider. A refused key is no longer reported as ready.
pub(crate) async fn ask(
    providers: &Providers,
    status: &mut KeyStatus,
    model: Option<&str>,
) -> Result<Answer, Failure> {
    let provider = status.provider.clone();
    let model = match model {
        Some(pattern) => providers.resolve(pattern, Some(&provider))?.model,
        None => providers.default_of(&provider)?,
    };
    let outcome = first_word(providers, Arc::clone(&model)).await;
    if let Err(error) = &outcome
        && error.kind == FailureKind::Authentication
    {
        status.state = KeyState::Invalid;
    }
    Ok(Answer { provider, model: model.id.clone(), error: outcome.err().map(|error| error.message) })
}

/// Waits until the answer starts, which proves that the key is accepted.
async fn first_word(providers: &Providers, model: Arc<Model>) -> Result<(), StreamError> {
    let request = ModelRequest {
        model,
        system: "".into(),
        messages: vec![Arc::new(Message::user("Say hi.", Vec::new(), 0))],
        tools: Vec::new().into(),
        thinking: ThinkingLevel::Off,
        max_tokens: Some(TOKENS),
        session_id: "auth-check".to_owned(),
        cache: false,
        options: RequestOptions::default(),
        output_schema: None,
    };
    providers.stream(request).next().await.transpose().map(drop)
}
