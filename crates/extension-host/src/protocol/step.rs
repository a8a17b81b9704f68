//! The steps of a streamed answer, in both directions: what extensions are told of an answer, and what an extension that
//! is a provider sends.

use bowline_core::message::ToolCall;
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is new in an answer of the model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Step")]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum StepRecord<'event> {
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    #[serde(rename = "text_delta")]
    TextDelta { content_index: usize, delta: &'event str },
    #[serde(rename = "text_end")]
    TextEnd { content_index: usize, content: &'event str },
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    #[serde(rename = "thinking_delta")]
    ThinkingDelta { content_index: usize, delta: &'event str },
    #[serde(rename = "thinking_end")]
    ThinkingEnd { content_index: usize, content: &'event str },
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize, id: &'event str, tool_name: &'event str },
    /// More of the text of the arguments.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta { content_index: usize, delta: &'event str },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd { content_index: usize, tool_call: &'event ToolCall },
}

impl<'event> From<&'event Update> for StepRecord<'event> {
    fn from(update: &'event Update) -> Self {
        match update {
            Update::TextStart { content_index } => Self::TextStart { content_index: *content_index },
            Update::TextDelta { content_index, delta } => {
                Self::TextDelta { content_index: *content_index, delta }
            }
            Update::TextEnd { content_index, content } => {
                Self::TextEnd { content_index: *content_index, content }
            }
            Update::ThinkingStart { content_index } => Self::ThinkingStart { content_index: *content_index },
            Update::ThinkingDelta { content_index, delta } => {
                Self::ThinkingDelta { content_index: *content_index, delta }
            }
            Update::ThinkingEnd { content_index, content } => {
                Self::ThinkingEnd { content_index: *content_index, content }
            }
            Update::ToolCallStart { content_index, id, name } => {
                Self::ToolCallStart { content_index: *content_index, id, tool_name: name }
            }
            Update::ToolCallDelta { content_index, delta } => {
                Self::ToolCallDelta { content_index: *content_index, delta }
            }
            Update::ToolCallEnd { content_index, call } => {
                Self::ToolCallEnd { content_index: *content_index, tool_call: call }
            }
        }
    }
}

/// A piece of an answer. An extension that is a provider sends them, and it gets them in answer to `model.stream`.
/// The blocks of an answer are numbered by `contentIndex` from 0 and are sent one after the other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Chunk {
    /// The answer begins.
    #[serde(rename = "start")]
    Start {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
    },
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    #[serde(rename = "text_delta")]
    TextDelta { content_index: usize, delta: String },
    #[serde(rename = "text_end")]
    TextEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    #[serde(rename = "thinking_delta")]
    ThinkingDelta { content_index: usize, delta: String },
    #[serde(rename = "thinking_end")]
    ThinkingEnd {
        content_index: usize,
        /// What some providers require when the thinking is sent back to them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize, id: String, tool_name: String },
    /// More of the arguments as JSON text.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta { content_index: usize, delta: String },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The tokens so far. Replaces what was sent before.
    #[serde(rename = "usage")]
    Usage { usage: Usage },
}

impl Chunk {
    /// Returns the text of a delta.
    pub fn text(&self) -> &str {
        match self {
            Self::TextDelta { delta, .. }
            | Self::ThinkingDelta { delta, .. }
            | Self::ToolCallDelta { delta, .. } => delta,
            _ => "",
        }
    }
}
