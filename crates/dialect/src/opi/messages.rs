//! What messages look like on the wire.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::event::CompactionResult;
use bowline_core::message::{
    Arguments, AssistantContent, AssistantMessage, Content, Message, StopReason, ToolCall, ToolResultMessage,
};
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::json;
use crate::snapshot::{Block, Shape};

/// What goes before the members of an answer to make it a message among others.
pub(super) const TAGS: &str = r#""role":"assistant","type":"Llm","#;

/// What is known of a conversation beyond its messages.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The arguments of calls as the model wrote them.
    pub arguments: HashMap<String, String>,
    /// The newest compaction.
    pub compaction: Option<Arc<CompactionResult>>,
}

/// A message of a conversation; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Message", description = "A message of a conversation.")]
pub(super) enum Spoken<'message> {
    /// What a user said.
    #[schemars(title = "UserMessage")]
    User {
        content: Vec<SpokenContent<'message>>,
        #[schemars(extend("const" = "user"))]
        role: &'static str,
        timestamp_ms: u64,
        #[schemars(extend("const" = "Llm"))]
        r#type: &'static str,
    },
    Assistant(SpokenAnswer<'message>),
    ToolResult(SpokenResult<'message>),
    /// The summary that stands for everything before it.
    CompactionSummary {
        /// The first entry that the model still sees as it was; empty if that is not known any more.
        first_kept_entry_id: &'message str,
        summary: &'message str,
        tokens_after: u64,
        tokens_before: u64,
        #[schemars(extend("const" = "CompactionSummary"))]
        r#type: &'static str,
    },
    /// The summary of a branch that the conversation came back from.
    BranchSummary {
        entry_count: u64,
        parent_session_id: &'static str,
        summary: &'message str,
        #[schemars(extend("const" = "BranchSummary"))]
        r#type: &'static str,
    },
    /// Anything else that is in the conversation, such as a command that the user ran by hand.
    Custom {
        data: Value,
        include_in_llm_context: bool,
        kind: &'message str,
        #[schemars(extend("const" = "Custom"))]
        r#type: &'static str,
    },
}

/// The answer of a model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(super) struct SpokenAnswer<'message> {
    /// The provider's API.
    #[schemars(extend("enum" = ["Anthropic", "Google", "Mistral", "OpenAi"]))]
    api: &'static str,
    content: Vec<SpokenContent<'message>>,
    #[serde(flatten)]
    rest: Members<'message>,
}

/// What an answer has besides its blocks and the name of its API.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Members<'message> {
    /// Why it failed, if it did.
    error_message: Option<&'message str>,
    model: &'message str,
    provider: &'message str,
    response_id: Option<&'message str>,
    response_model: Option<&'message str>,
    /// Absent where the answer stands alone, not among other messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "assistant"))]
    role: Option<&'static str>,
    #[schemars(extend("enum" = ["stop", "length", "tool_use", "error", "aborted"]))]
    stop_reason: &'static str,
    timestamp_ms: u64,
    /// Absent where the answer stands alone, not among other messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = "Llm"))]
    r#type: Option<&'static str>,
    usage: SpokenUsage,
}

/// The result of a call. Among the messages of a conversation it has tags, in a turn it has none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolResult")]
pub(super) struct SpokenResult<'message> {
    /// What the model sees.
    content: Vec<SpokenContent<'message>>,
    /// Facts for the client that the model does not see; which, depends on the tool.
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
pub(super) enum SpokenContent<'message> {
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
        tool_call: SpokenCall<'message>,
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

/// A call of a tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolCall")]
pub(super) struct SpokenCall<'message> {
    /// As a text, the way the model wrote it.
    arguments: Cow<'message, str>,
    id: &'message str,
    name: &'message str,
}

/// Tokens by kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct SpokenUsage {
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    input_tokens: u64,
    output_tokens: u64,
}

impl From<&Usage> for SpokenUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            input_tokens: usage.input,
            output_tokens: usage.output,
        }
    }
}

impl Known {
    /// Returns a message as one of a conversation.
    pub fn message<'a>(&'a self, message: &'a Message) -> Spoken<'a> {
        match message {
            Message::User(user) => Spoken::User {
                content: content(&user.content),
                role: "user",
                timestamp_ms: user.timestamp,
                r#type: "Llm",
            },
            Message::Assistant(answer) => Spoken::Assistant(self.answer(answer)),
            Message::ToolResult(result) => Spoken::ToolResult(SpokenResult {
                role: Some("tool_result"),
                r#type: Some("Llm"),
                ..tool_result(result)
            }),
            Message::CompactionSummary(summary) => {
                let made = self.compaction.as_ref().filter(|made| made.summary == summary.summary);
                Spoken::CompactionSummary {
                    first_kept_entry_id: made.map_or("", |made| &made.first_kept_entry),
                    summary: &summary.summary,
                    tokens_after: made.map_or(0, |made| made.estimated_tokens_after),
                    tokens_before: summary.tokens_before,
                    r#type: "CompactionSummary",
                }
            }
            Message::BranchSummary(branch) => Spoken::BranchSummary {
                entry_count: 0,
                parent_session_id: "",
                summary: &branch.summary,
                r#type: "BranchSummary",
            },
            Message::Custom(custom) => Spoken::Custom {
                data: json!(custom.content),
                include_in_llm_context: true,
                kind: &custom.custom_type,
                r#type: "Custom",
            },
            Message::BashExecution(shell) => Spoken::Custom {
                data: json!(shell),
                include_in_llm_context: shell.exclude_from_context != Some(true),
                kind: "bash_execution",
                r#type: "Custom",
            },
        }
    }

    /// Returns the answer of a model as a message of a conversation.
    pub fn answer<'a>(&'a self, answer: &'a AssistantMessage) -> SpokenAnswer<'a> {
        let block = |block: &'a AssistantContent| match block {
            AssistantContent::Text(block) => SpokenContent::Text { text: &block.text, r#type: "text" },
            AssistantContent::Thinking(block) => {
                SpokenContent::Thinking { thinking: &block.thinking, r#type: "thinking" }
            }
            AssistantContent::ToolCall(call) => {
                SpokenContent::ToolCall { tool_call: self.call(call), r#type: "tool_call" }
            }
        };
        SpokenAnswer {
            api: api(&answer.api),
            content: answer.content.iter().map(block).collect(),
            rest: Members { role: Some("assistant"), r#type: Some("Llm"), ..members(answer) },
        }
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> SpokenCall<'a> {
        // Providers may use an id again, so what was written under it is compared with what was meant.
        let written = self.arguments.get(&call.id).filter(|text| is_same(text, &call.arguments));
        let arguments = match written {
            Some(text) => Cow::Borrowed(text.as_str()),
            None => Cow::Owned(serde_json::to_string(&call.arguments).unwrap_or_default()),
        };
        SpokenCall { arguments, id: &call.id, name: &call.name }
    }
}

fn is_same(text: &str, arguments: &Arguments) -> bool {
    serde_json::from_str::<Arguments>(text).is_ok_and(|written| written == *arguments)
}

/// Returns the result of a call without the tags of a message.
pub(super) fn tool_result(result: &ToolResultMessage) -> SpokenResult<'_> {
    SpokenResult {
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

/// Returns what a user or a tool says.
pub(super) fn content<'message>(content: &'message [Content]) -> Vec<SpokenContent<'message>> {
    let block = |block: &'message Content| match block {
        Content::Text { text } => SpokenContent::Text { text, r#type: "text" },
        Content::Image { data, mime_type } => SpokenContent::Image {
            media_type: mime_type,
            source: Source { data, r#type: "base64" },
            r#type: "image",
        },
    };
    content.iter().map(block).collect()
}

fn members(answer: &AssistantMessage) -> Members<'_> {
    Members {
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

/// Returns opi's name of an API. It has four, and clients may know no other.
fn api(name: &str) -> &'static str {
    match name {
        name if name.starts_with("anthropic") => "Anthropic",
        name if name.starts_with("google") => "Google",
        name if name.starts_with("mistral") => "Mistral",
        _ => "OpenAi",
    }
}

/// How an answer that is being streamed looks.
#[derive(Debug, Default)]
pub(super) struct AnswerShape;

impl Shape for AnswerShape {
    fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>) {
        out.extend_from_slice(br#""api":""#);
        out.extend_from_slice(api(&message.api).as_bytes());
        out.extend_from_slice(b"\",");
        let start = out.len();
        json::write(out, &members(message));
        // The braces of an object stand around the members.
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

    fn shows_argument_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall, out: &mut Vec<u8>) {
        let known = Known::default();
        json::write(out, &SpokenContent::ToolCall { tool_call: known.call(call), r#type: "tool_call" });
    }
}
