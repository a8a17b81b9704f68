//! The form of messages.

use std::borrow::Cow;

use bowline_core::ErrorKind;
use bowline_core::message::{
    AssistantContent, AssistantMessage, Content, Message, StopReason, ToolCall, ToolResultMessage,
};
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::conversation_memory::ConversationMemory;
use crate::json;
use crate::snapshot::{Block, Deltas, Shape};

/// The members that make a model response one of the messages of a conversation.
pub(super) const TAGS: &str = r#""role":"assistant","type":"Llm","#;

/// A message of a conversation; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Message", description = "A message of a conversation.")]
pub(super) enum MessageRecord<'message> {
    /// A user message.
    #[schemars(title = "UserMessage")]
    User {
        content: Vec<ContentRecord<'message>>,
        #[schemars(extend("const" = "user"))]
        role: &'static str,
        timestamp_ms: u64,
        #[schemars(extend("const" = "Llm"))]
        r#type: &'static str,
    },
    Assistant(AnswerRecord<'message>),
    ToolResult(ToolResultRecord<'message>),
    /// The summary that replaces all earlier messages.
    CompactionSummary {
        /// The first entry that stays in the context unchanged; empty if no longer known.
        first_kept_entry_id: &'message str,
        summary: &'message str,
        tokens_after: u64,
        tokens_before: u64,
        #[schemars(extend("const" = "CompactionSummary"))]
        r#type: &'static str,
    },
    /// The summary of an abandoned branch.
    BranchSummary {
        entry_count: u64,
        parent_session_id: &'static str,
        summary: &'message str,
        #[schemars(extend("const" = "BranchSummary"))]
        r#type: &'static str,
    },
    /// Any other message of the conversation, such as a user-initiated shell command.
    Custom {
        data: Value,
        include_in_llm_context: bool,
        kind: &'message str,
        #[schemars(extend("const" = "Custom"))]
        r#type: &'static str,
    },
}

/// A model response.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(super) struct AnswerRecord<'message> {
    /// The provider's API.
    #[schemars(extend("enum" = ["Anthropic", "Google", "Mistral", "OpenAi"]))]
    api: &'static str,
    content: Vec<ContentRecord<'message>>,
    #[serde(flatten)]
    rest: Members<'message>,
}

/// The members of a model response other than its blocks and its API.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Members<'message> {
    /// Why the response failed or was aborted, for programs; absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<ErrorKind>,
    /// Why the response failed; `null` if it did not.
    error_message: Option<&'message str>,
    model: &'message str,
    provider: &'message str,
    response_id: Option<&'message str>,
    response_model: Option<&'message str>,
    /// Absent where the response is not one of the messages of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "assistant"))]
    role: Option<&'static str>,
    #[schemars(extend("enum" = ["stop", "length", "tool_use", "error", "aborted"]))]
    stop_reason: &'static str,
    timestamp_ms: u64,
    /// Absent where the response is not one of the messages of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "Llm"))]
    r#type: Option<&'static str>,
    usage: UsageRecord,
}

/// The result of a tool call. It has `role` and `type` only as one of the messages of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolResult")]
pub(super) struct ToolResultRecord<'message> {
    /// The output for the model.
    content: Vec<ContentRecord<'message>>,
    /// Details for the client that the model does not see; they depend on the tool.
    details: Option<&'message Value>,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "tool_result"))]
    role: Option<&'static str>,
    timestamp_ms: u64,
    tool_call_id: &'message str,
    tool_name: &'message str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "Llm"))]
    r#type: Option<&'static str>,
}

/// A block of a message.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Content")]
pub(super) enum ContentRecord<'message> {
    Text {
        text: &'message str,
        #[schemars(extend("const" = "text"))]
        r#type: &'static str,
    },
    Thinking {
        thinking: &'message str,
        #[schemars(extend("const" = "thinking"))]
        r#type: &'static str,
    },
    Image {
        media_type: &'message str,
        source: Source<'message>,
        #[schemars(extend("const" = "image"))]
        r#type: &'static str,
    },
    ToolCall {
        tool_call: ToolCallRecord<'message>,
        #[schemars(extend("const" = "tool_call"))]
        r#type: &'static str,
    },
}

/// An image in base64.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ImageSource")]
pub(super) struct Source<'message> {
    data: &'message str,
    #[schemars(extend("const" = "base64"))]
    r#type: &'static str,
}

/// A tool call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolCall")]
pub(super) struct ToolCallRecord<'message> {
    /// The arguments as text, as the model wrote them.
    arguments: Cow<'message, str>,
    id: &'message str,
    name: &'message str,
}

/// Token counts by kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageRecord {
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    input_tokens: u64,
    output_tokens: u64,
}

impl From<&Usage> for UsageRecord {
    fn from(usage: &Usage) -> Self {
        Self {
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            input_tokens: usage.input,
            output_tokens: usage.output,
        }
    }
}

impl ConversationMemory {
    /// Returns a message as one of the messages of a conversation.
    pub fn message<'a>(&'a self, message: &'a Message) -> MessageRecord<'a> {
        match message {
            Message::User(user) => MessageRecord::User {
                content: content(&user.content),
                role: "user",
                timestamp_ms: user.timestamp,
                r#type: "Llm",
            },
            Message::Assistant(answer) => MessageRecord::Assistant(self.answer(answer)),
            Message::ToolResult(result) => MessageRecord::ToolResult(ToolResultRecord {
                role: Some("tool_result"),
                r#type: Some("Llm"),
                ..tool_result(result)
            }),
            Message::CompactionSummary(summary) => {
                let result = self.compaction(&summary.summary);
                MessageRecord::CompactionSummary {
                    first_kept_entry_id: result.map_or("", |result| &result.first_kept_entry),
                    summary: &summary.summary,
                    tokens_after: result.map_or(0, |result| result.estimated_tokens_after),
                    tokens_before: summary.tokens_before,
                    r#type: "CompactionSummary",
                }
            }
            Message::BranchSummary(branch) => MessageRecord::BranchSummary {
                entry_count: 0,
                parent_session_id: "",
                summary: &branch.summary,
                r#type: "BranchSummary",
            },
            Message::Custom(custom) => MessageRecord::Custom {
                data: json!(custom.content),
                include_in_llm_context: true,
                kind: &custom.custom_type,
                r#type: "Custom",
            },
            Message::BashExecution(shell) => MessageRecord::Custom {
                data: json!(shell),
                include_in_llm_context: shell.exclude_from_context != Some(true),
                kind: "bash_execution",
                r#type: "Custom",
            },
        }
    }

    /// Returns a model response as one of the messages of a conversation.
    pub fn answer<'a>(&'a self, answer: &'a AssistantMessage) -> AnswerRecord<'a> {
        let block = |block: &'a AssistantContent| match block {
            AssistantContent::Text(block) => ContentRecord::Text { text: &block.text, r#type: "text" },
            AssistantContent::Thinking(block) => {
                ContentRecord::Thinking { thinking: &block.thinking, r#type: "thinking" }
            }
            AssistantContent::ToolCall(call) => {
                ContentRecord::ToolCall { tool_call: self.call(call), r#type: "tool_call" }
            }
        };
        AnswerRecord {
            api: api(&answer.api),
            content: answer.content.iter().map(block).collect(),
            rest: Members { role: Some("assistant"), r#type: Some("Llm"), ..members(answer) },
        }
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> ToolCallRecord<'a> {
        ToolCallRecord { arguments: self.arguments(call), id: &call.id, name: &call.name }
    }
}

/// Returns the result of a tool call outside of a conversation.
pub(super) fn tool_result(result: &ToolResultMessage) -> ToolResultRecord<'_> {
    ToolResultRecord {
        content: content(&result.content),
        details: result.details.as_ref(),
        is_error: result.is_error,
        role: None,
        timestamp_ms: result.timestamp,
        tool_call_id: &result.tool_call_id,
        tool_name: &result.tool_name,
        r#type: None,
    }
}

/// Returns the blocks of a user message or of a tool's output.
pub(super) fn content<'message>(content: &'message [Content]) -> Vec<ContentRecord<'message>> {
    let block = |block: &'message Content| match block {
        Content::Text { text } => ContentRecord::Text { text, r#type: "text" },
        Content::Image { data, mime_type } => ContentRecord::Image {
            media_type: mime_type,
            source: Source { data, r#type: "base64" },
            r#type: "image",
        },
    };
    content.iter().map(block).collect()
}

fn members(answer: &AssistantMessage) -> Members<'_> {
    Members {
        error_kind: answer.error_kind,
        error_message: answer.error_message.as_deref(),
        model: &answer.model,
        provider: &answer.provider,
        response_id: answer.response_id.as_deref(),
        response_model: None,
        role: None,
        stop_reason: stop_reason(answer.stop_reason),
        timestamp_ms: answer.timestamp,
        r#type: None,
        usage: (&answer.usage).into(),
    }
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Pending | StopReason::Stop | StopReason::Deferred => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool_use",
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
    }
}

/// Returns opi's name of an API. It has four, and clients may not know others.
fn api(name: &str) -> &'static str {
    match name {
        name if name.starts_with("anthropic") => "Anthropic",
        name if name.starts_with("google") => "Google",
        name if name.starts_with("mistral") => "Mistral",
        _ => "OpenAi",
    }
}

/// The form of a model response that is being streamed.
#[derive(Debug, Default)]
pub(super) struct AnswerShape;

impl Shape for AnswerShape {
    fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>) {
        out.extend_from_slice(br#""api":""#);
        out.extend_from_slice(api(&message.api).as_bytes());
        out.extend_from_slice(b"\",");
        let start = out.len();
        json::write(out, &members(message));
        // Only the members, without the braces around them.
        out.remove(start);
        out.pop();
    }

    fn open(&self, block: &Block<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(match block {
            Block::Text => br#"{"text":""#.as_slice(),
            Block::Thinking => br#"{"thinking":""#,
            Block::ToolCall { .. } => br#"{"tool_call":{"arguments":""#,
        });
    }

    fn close(&self, block: &Block<'_>, out: &mut Vec<u8>) {
        match block {
            Block::Text => out.extend_from_slice(br#"","type":"text"}"#),
            Block::Thinking => out.extend_from_slice(br#"","type":"thinking"}"#),
            Block::ToolCall { id, name } => {
                out.extend_from_slice(br#"","id":"#);
                json::write(out, id);
                out.extend_from_slice(br#","name":"#);
                json::write(out, name);
                out.extend_from_slice(br#"},"type":"tool_call"}"#);
            }
        }
    }

    fn argument_deltas(&self) -> Deltas {
        Deltas::Appended
    }

    fn call(&self, call: &ToolCall, out: &mut Vec<u8>) {
        let memory = ConversationMemory::default();
        let tool_call = memory.call(call);
        json::write(out, &ContentRecord::ToolCall { tool_call, r#type: "tool_call" });
    }
}
