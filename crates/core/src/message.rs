//! The messages of a conversation, in the JSON form of pi's session files.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::custom_content::CustomContent;
use crate::error_kind::ErrorKind;
use crate::thinking::ThinkingLevel;
use crate::usage::Usage;

/// The arguments of a tool call, in the order in which the model wrote them.
pub type Arguments = Map<String, Value>;

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    BashExecution(BashExecutionMessage),
    Custom(CustomMessage),
    BranchSummary(BranchSummaryMessage),
    CompactionSummary(CompactionSummaryMessage),
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserMessage {
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<Content>,
    /// Milliseconds since the Unix epoch.
    pub timestamp: u64,
    /// The attachments of the prompt, as the client sent them. What the model sees of them is in `content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Value>,
    /// Where the message came from, as the client said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A file that a client sent with a prompt.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
#[expect(dead_code, reason = "attachments are kept as they were sent; this only describes them")]
struct Attachment {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[schemars(extend("enum" = ["image", "document"]))]
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    /// In bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// The file in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The text of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    extracted_text: Option<String>,
    /// A small image of the file in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
}

/// A model response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<AssistantContent>,
    /// The provider API of the request.
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    /// The thinking level of the request, if a virtual model chose the model and the level.
    #[serde(default, deserialize_with = "known_level", skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub stop_reason: StopReason,
    /// When the response started, in milliseconds since the Unix epoch.
    pub timestamp: u64,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The stop reason as the provider sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Why the response failed or was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The same for programs.
    #[serde(default, deserialize_with = "known_error_kind", skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<ErrorKind>,
    /// The time from the request to the end of the response, in milliseconds.
    #[serde(default, deserialize_with = "milliseconds", skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The time from the request to the first delta of the response, in milliseconds.
    #[serde(
        default,
        rename = "ttft",
        deserialize_with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub time_to_first_piece: Option<u64>,
    /// When the response was complete, in milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "milliseconds", skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
}

/// The most levels of a message's details. Most JSON readers stop at 128 levels, and a message is stored within an entry.
pub const DETAILS_DEPTH: usize = 100;

impl Message {
    /// Tells whether the details for the client are nested so deeply that the message could not be stored.
    pub fn has_deep_details(&self) -> bool {
        match self {
            Self::ToolResult(ToolResultMessage { details, .. })
            | Self::Custom(CustomMessage { details, .. }) => {
                details.as_ref().is_some_and(|details| is_deeper(details, DETAILS_DEPTH))
            }
            _ => false,
        }
    }

    /// Replaces the details for the client by a note.
    pub fn omit_details(&mut self) {
        if let Self::ToolResult(ToolResultMessage { details, .. })
        | Self::Custom(CustomMessage { details, .. }) = self
        {
            let reason = format!("nested more than {DETAILS_DEPTH} levels deep");
            *details = Some(serde_json::json!({ "omitted": reason }));
        }
    }
}

/// Tells whether a value has more than so many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper(value, below)),
        Value::Object(members) => members.values().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    pub tool_call_id: String,
    pub tool_name: String,
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<Content>,
    /// Details for the client that the model does not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What the tool spent on models of its own.
    #[serde(default, deserialize_with = "known_usage", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
    pub is_error: bool,
    /// Milliseconds since the Unix epoch.
    pub timestamp: u64,
}

/// A user-initiated shell command with its output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    pub command: String,
    pub output: String,
    /// Absent if the command was cancelled or killed by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` is only the end of the whole output.
    pub truncated: bool,
    /// The file with the whole output, if it was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub timestamp: u64,
    /// Whether the command and its output are kept out of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
}

/// A message that an extension added to the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub custom_type: String,
    pub content: CustomContent,
    #[serde(default)]
    pub display: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub timestamp: u64,
}

/// The summary of an abandoned branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    pub summary: String,
    pub from_id: String,
    pub timestamp: u64,
}

/// The summary that replaces all earlier messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    pub summary: String,
    pub tokens_before: u64,
    pub timestamp: u64,
}

/// A block of a user message or a tool result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// Text.
    Text { text: String },
    /// An image as base64, without a `data:` prefix.
    #[serde(rename_all = "camelCase")]
    Image { data: String, mime_type: String },
}

/// A block of a model response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AssistantContent {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    ToolCall(ToolCall),
}

/// Text of a model response.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

/// Thinking of a model, with the signature that some providers require when it is sent back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    pub thinking: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// Set if the provider encrypted the thinking, so that only the signature is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// Why a model response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The response is still being streamed.
    Pending,
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    ToolUse,
    Error,
    Aborted,
    /// Written by some other agents for a response that is to be continued.
    Deferred,
}

impl Content {
    /// Returns a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl Message {
    /// Returns when it was made, in milliseconds since the Unix epoch.
    pub fn timestamp(&self) -> u64 {
        match self {
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
            Self::BashExecution(message) => message.timestamp,
            Self::Custom(message) => message.timestamp,
            Self::BranchSummary(message) => message.timestamp,
            Self::CompactionSummary(message) => message.timestamp,
        }
    }

    /// Returns a user's message with a text and images.
    pub fn user(text: impl Into<String>, images: Vec<Content>, timestamp: u64) -> Self {
        let mut content = vec![Content::text(text)];
        content.extend(images);
        Self::User(UserMessage { content, timestamp, attachments: Vec::new(), source: None })
    }

    /// Returns the role's name on the wire.
    pub fn role(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::BashExecution(_) => "bashExecution",
            Self::Custom(_) => "custom",
            Self::BranchSummary(_) => "branchSummary",
            Self::CompactionSummary(_) => "compactionSummary",
        }
    }

    /// Returns the model's answer, if this is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        if let Self::Assistant(message) = self { Some(message) } else { None }
    }
}

impl UserMessage {
    /// Returns the text of the message, its blocks joined.
    pub fn text(&self) -> String {
        join_text(&self.content)
    }
}

impl AssistantMessage {
    /// Returns the text of the answer without thinking and tool calls, its blocks joined.
    pub fn text(&self) -> String {
        let blocks = self.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        blocks.collect::<Vec<_>>().join("")
    }

    /// Returns the calls of tools in the answer, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantContent::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Returns the text blocks of `content`, joined by line breaks.
pub fn join_text(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Reads content that is a list of blocks, or, as older files have it, a plain text.
fn text_or_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Content>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrBlocks {
        Text(String),
        Blocks(Vec<Content>),
    }
    Ok(match TextOrBlocks::deserialize(deserializer)? {
        TextOrBlocks::Text(text) => vec![Content::Text { text }],
        TextOrBlocks::Blocks(blocks) => blocks,
    })
}

/// Reads the kind of an error. A kind that only a later version knows is ignored: an answer is not given up for that.
fn known_error_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ErrorKind>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_str().and_then(ErrorKind::parse))
}

/// Reads a thinking level; one of another program that is not known is ignored.
fn known_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ThinkingLevel>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_str().and_then(ThinkingLevel::parse))
}

/// Reads what a tool spent. Whatever else other programs mean by the name is ignored: a result is not given up for that.
fn known_usage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Usage>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// Reads a number of milliseconds. The files of other programs have fractions, or may mean something else by the name:
/// an answer is not given up for that.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not negative, and far below 2^52 or nonsense"
)]
fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let rounded = || value.as_f64().filter(|number| *number >= 0.0).map(|number| number.round() as u64);
    Ok(value.as_u64().or_else(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(json: &str) {
        let message: Message = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), json);
    }

    #[test]
    fn messages_keep_the_form_of_the_file() {
        check_round_trip(
            r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"timestamp":7}"#,
        );
        check_round_trip(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"z","limit":1}}],"api":"anthropic-messages","provider":"mock","model":"m1","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":7}"#,
        );
        check_round_trip(
            r#"{"role":"toolResult","toolCallId":"t1","toolName":"ask","content":[],"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}},"isError":false,"timestamp":7}"#,
        );
        check_round_trip(
            r#"{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":7}"#,
        );
    }

    #[test]
    fn an_answer_says_how_long_it_took_if_that_is_known() {
        let answer = |timing: &str| format!(r#"{{"role":"assistant","content":[],"timestamp":7{timing}}}"#);
        let read = |timing: &str| {
            let message: Message = serde_json::from_str(&answer(timing)).unwrap();
            let answer = message.as_assistant().unwrap().clone();
            (answer.duration, answer.time_to_first_piece, answer.completed_at, message)
        };
        let (duration, first_piece, completed_at, message) =
            read(r#","duration":1250,"ttft":40,"completedAt":1794809774319"#);
        assert_eq!((duration, first_piece, completed_at), (Some(1250), Some(40), Some(1_794_809_774_319)));
        let json = serde_json::to_string(&message).unwrap();
        assert!(json.ends_with(r#","duration":1250,"ttft":40,"completedAt":1794809774319}"#), "{json}");

        let (duration, first_piece, completed_at, message) =
            read(r#","duration":1249.6,"ttft":"soon","completedAt":-1"#);
        assert_eq!((duration, first_piece, completed_at), (Some(1250), None, None));
        let json = serde_json::to_string(&message).unwrap();
        assert!(json.ends_with(r#","duration":1250}"#), "{json}");
    }

    #[test]
    fn unknown_error_kinds_are_ignored() {
        let kind = |json: &str| {
            let answer = format!(r#"{{"role":"assistant","content":[],"timestamp":7,"errorKind":{json}}}"#);
            serde_json::from_str::<Message>(&answer).unwrap().as_assistant().unwrap().error_kind
        };
        assert_eq!(kind(r#""rate_limit""#), Some(ErrorKind::RateLimit));
        assert_eq!(kind(r#""of_tomorrow""#), None);
        assert_eq!(kind("[1]"), None);
    }

    #[test]
    fn a_result_with_an_unknown_kind_of_usage_is_read() {
        for usage in ["7", "null", r#"{"input":-1}"#] {
            let json = format!(
                r#"{{"role":"toolResult","toolCallId":"t1","toolName":"ask","content":[],"usage":{usage},"isError":false,"timestamp":7}}"#
            );
            let Message::ToolResult(result) = serde_json::from_str(&json).unwrap() else { panic!("{json}") };
            assert_eq!(result.usage, None, "{json}");
        }
    }

    #[test]
    fn a_plain_text_is_read_as_one_block() {
        let message: Message =
            serde_json::from_str(r#"{"role":"user","content":"hi","timestamp":7}"#).unwrap();
        assert_eq!(message, Message::user("hi", Vec::new(), 7));
    }
}
