//! What a model is asked, and the form in which its answer comes back.

use std::pin::Pin;
use std::sync::Arc;

use bowline_core::stream::StreamError;
use bowline_core::{Message, Model, StreamEvent, ThinkingLevel, ToolDefinition};
use futures_util::Stream;

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: Arc<Model>,
    pub system: Arc<str>,
    /// The conversation so far, as the session has it.
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolDefinition]>,
    /// How hard to think; a level that the model lacks is replaced by the closest one.
    pub thinking: ThinkingLevel,
    /// The most tokens that the answer may have; the model's own limit when absent.
    pub max_tokens: Option<u64>,
    /// Lets providers send the requests of one session to the same cache.
    pub session_id: String,
    /// Whether the provider is asked to cache the prompt.
    pub cache: bool,
}

/// Batches of stream events, each with everything that one chunk of bytes brought. An `Err` is the last item.
/// Dropping the stream cancels the request.
pub type AnswerStream = Pin<Box<dyn Stream<Item = Result<Vec<StreamEvent>, StreamError>> + Send>>;
