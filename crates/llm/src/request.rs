//! A request to a model, and the form of its answer.

use std::pin::Pin;
use std::sync::Arc;

use bowline_core::stream::StreamError;
use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Message, Model, StreamEvent, ThinkingLevel, ToolDefinition};
use futures_util::Stream;
use serde_json::Value;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: Arc<Model>,
    pub system: Arc<str>,
    /// The conversation so far, as in the session.
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolDefinition]>,
    /// The thinking level; one that the model lacks is replaced by the closest.
    pub thinking: ThinkingLevel,
    /// The most tokens of the answer; the model's own limit when absent.
    pub max_tokens: Option<u64>,
    /// Lets providers route the requests of one session to the same cache.
    pub session_id: String,
    /// Whether the provider is asked to cache the prompt.
    pub cache: bool,
    pub options: RequestOptions,
    /// The JSON Schema of the answer. Only APIs that can keep an answer to it look at it, and never so that tools could not
    /// be called; whoever asks has to check the answer.
    pub output_schema: Option<Arc<Value>>,
}

/// The user's wishes for every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestOptions {
    pub budgets: ThinkingBudgets,
    /// Whether images are replaced by a note.
    pub block_images: bool,
}

/// Batches of stream events, each with all events of one chunk of bytes. An `Err` is the last item. Dropping the
/// stream cancels the request.
pub type AnswerStream = Pin<Box<dyn Stream<Item = Result<Vec<StreamEvent>, StreamError>> + Send>>;
