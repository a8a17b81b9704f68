//! The steps of a streamed model response: `assistantMessageEvent` without what each dialect adds.

use std::borrow::Cow;

use bowline_core::message::ToolCall;
use bowline_core::stream::Update;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::schema::{record, variants};

/// A step in the family's form.
#[derive(Debug)]
pub(crate) enum Step<'event> {
    Delta(Delta<'event>),
    Bound(Bound<'event>),
}

/// More of a block. By far the most frequent step, so its records are assembled from bytes.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "DeltaStep", description = "More of a block.")]
pub(crate) struct Delta<'event> {
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["text_delta", "thinking_delta", "toolcall_delta"]))]
    kind: &'static str,
    /// The index of the block in the message.
    pub content_index: usize,
    /// The text to append to the block; for a tool call, to the text of its arguments.
    #[serde(rename = "delta")]
    pub text: &'event str,
}

/// The start or the end of a block.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(crate) enum Bound<'event> {
    /// A text block starts.
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    /// A text block is complete.
    #[serde(rename = "text_end")]
    TextEnd { content_index: usize, content: &'event str },
    /// A thinking block starts.
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    /// A thinking block is complete.
    #[serde(rename = "thinking_end")]
    ThinkingEnd { content_index: usize, content: &'event str },
    /// A tool call starts.
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize, id: &'event str, tool_name: &'event str },
    /// A tool call is complete. The tool runs later.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd { content_index: usize, tool_call: TypedCall<'event> },
}

/// A tool call as a block of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolCallBlock")]
pub(crate) struct TypedCall<'event> {
    #[schemars(extend("const" = "toolCall"))]
    r#type: &'static str,
    #[serde(flatten)]
    call: &'event ToolCall,
}

impl JsonSchema for Step<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "What is new in a model response.", "oneOf": schemas(generator) })
    }
}

/// Describes each kind of step.
pub(crate) fn schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
    let bounds = variants::<Bound<'_>>(generator);
    let all = std::iter::once(record::<Delta<'_>>(generator)).chain(bounds);
    all.map(Schema::to_value).collect()
}

impl Delta<'_> {
    /// Appends the step up to and including the quote before its text.
    pub fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"type":""#);
        out.extend_from_slice(self.kind.as_bytes());
        out.extend_from_slice(br#"","contentIndex":"#);
        json::write(out, &self.content_index);
        out.extend_from_slice(br#","delta":""#);
    }
}

impl<'event> From<&'event Update> for Step<'event> {
    fn from(update: &'event Update) -> Self {
        let delta = |kind, content_index: &usize, text: &'event str| {
            Self::Delta(Delta { kind, content_index: *content_index, text })
        };
        Self::Bound(match update {
            Update::TextDelta { content_index, delta: text } => {
                return delta("text_delta", content_index, text);
            }
            Update::ThinkingDelta { content_index, delta: text } => {
                return delta("thinking_delta", content_index, text);
            }
            Update::ToolCallDelta { content_index, delta: text } => {
                return delta("toolcall_delta", content_index, text);
            }
            Update::TextStart { content_index } => Bound::TextStart { content_index: *content_index },
            Update::TextEnd { content_index, content } => {
                Bound::TextEnd { content_index: *content_index, content }
            }
            Update::ThinkingStart { content_index } => Bound::ThinkingStart { content_index: *content_index },
            Update::ThinkingEnd { content_index, content } => {
                Bound::ThinkingEnd { content_index: *content_index, content }
            }
            Update::ToolCallStart { content_index, id, name } => {
                Bound::ToolCallStart { content_index: *content_index, id, tool_name: name }
            }
            Update::ToolCallEnd { content_index, call } => Bound::ToolCallEnd {
                content_index: *content_index,
                tool_call: TypedCall { r#type: "toolCall", call },
            },
        })
    }
}
