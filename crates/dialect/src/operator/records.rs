//! The form of the records that are not responses. Their doc comments are the descriptions in the schema and the
//! reference.

use bowline_core::ErrorKind;
use bowline_core::event::CompactionResult;
use bowline_core::message::Arguments;
use bowline_core::thinking::ThinkingLevel;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::messages::{Block, MessageRecord, ToolResultRecord};
use super::user_interface;
use crate::schema::{compaction_reasons, record, variants};

/// The record of an event.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum EventRecord<'event> {
    /// A user message was added to the conversation.
    Input {
        text: String,
        /// Where the message came from: the `source` of its prompt, or `rpc`.
        source: &'event str,
        /// The message's entry in the session file; `null` if the session is in memory only.
        entry_id: Option<&'event str>,
    },
    /// A run starts.
    AgentStart,
    /// The model is done, including retries and queued messages. Emitted once per run; `settled` follows.
    AgentEnd {
        /// The messages that the run added to the conversation.
        messages: Vec<MessageRecord<'event>>,
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        reason: &'static str,
    },
    /// The run failed. `agent_end` follows.
    AgentError {
        error: &'event str,
        /// The same for programs.
        error_kind: ErrorKind,
    },
    /// The run ended and nothing follows automatically.
    Settled,
    /// A turn starts: one model response and the tool calls in it.
    TurnStart {
        /// The number of the turn in the run, starting at 0.
        turn_index: u64,
        /// Always 0; present for clients that read it.
        timestamp: f64,
    },
    /// A turn ended.
    TurnEnd {
        turn_index: u64,
        /// The model response.
        message: MessageRecord<'event>,
        /// The results of the tool calls, as one message; empty if there were no calls.
        tool_results: Vec<MessageRecord<'event>>,
    },
    /// A model response, or a message of tool results, starts.
    MessageStart { message: MessageRecord<'event> },
    /// A message is complete and in the session file.
    MessageEnd {
        message: MessageRecord<'event>,
        /// The message's entry in the session file; `null` if the session is in memory only.
        entry_id: Option<&'event str>,
    },
    /// The model called a tool.
    ToolCall { tool_call_id: &'event str, tool_name: &'event str, input: &'event Arguments },
    /// A tool starts.
    ToolExecutionStart { tool_call: Block<'event> },
    /// A running tool has new output.
    ToolExecutionUpdate {
        /// The output so far. It replaces that of earlier updates.
        partial_tool_result: ToolResultRecord<'event>,
    },
    /// A tool call has a result.
    ToolResult {
        tool_call_id: &'event str,
        tool_name: &'event str,
        input: &'event Arguments,
        content: String,
        is_error: bool,
    },
    /// A tool finished.
    ToolExecutionEnd { tool_result: Block<'event> },
    /// A message was queued.
    QueueUpdate {
        #[schemars(extend("enum" = ["steering", "followup"]))]
        queue: &'static str,
        /// The text of the message.
        message: &'event str,
        /// The texts of all messages in the queue.
        messages: &'event [String],
    },
    /// A request failed with a transient error and will be retried.
    RetryStart {
        /// The number of the retry, starting at 1.
        attempt: u32,
        max_retries: u32,
        /// Why the request failed.
        error: &'event str,
    },
    /// Retrying ended.
    RetryEnd {
        /// The number of retries.
        attempt: u32,
        success: bool,
        /// Why the last retry failed; `null` on success.
        error: Option<&'event str>,
    },
    /// A compaction starts.
    CompactionStart {
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
        /// Always `null`: reported when the compaction ends.
        tokens_before: Option<u64>,
    },
    /// A compaction ended.
    CompactionEnd {
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
        tokens_before: Option<u64>,
        /// The summary that replaces all earlier messages; `null` if the compaction was aborted or failed.
        summary: Option<&'event str>,
        aborted: bool,
        /// Why the compaction failed; `null` if it did not.
        error: Option<&'event str>,
    },
    /// The thinking level changed.
    ThinkingLevelSelect {
        #[schemars(with = "ThinkingLevel")]
        level: &'static str,
    },
}

/// Describes an update, which is assembled from bytes.
#[derive(JsonSchema)]
#[schemars(description = "More of a model response has arrived.")]
#[expect(dead_code, reason = "it is a description")]
struct MessageUpdate<'event> {
    #[schemars(extend("const" = "message_update"))]
    r#type: &'static str,
    /// A message with the new text as its only block.
    message: MessageRecord<'event>,
    /// The index of the block in the model response.
    content_index: usize,
}

/// The result of a compaction.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Compaction")]
pub(super) struct CompactionRecord<'event> {
    /// The summary that replaces all earlier messages.
    pub summary: &'event str,
    /// The first entry that stays in the context unchanged.
    pub first_kept_entry_id: &'event str,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

impl<'event> From<&'event CompactionResult> for CompactionRecord<'event> {
    fn from(result: &'event CompactionResult) -> Self {
        Self {
            summary: &result.summary,
            first_kept_entry_id: &result.first_kept_entry,
            tokens_before: result.tokens_before,
            tokens_after: result.estimated_tokens_after,
        }
    }
}

/// Describes every record that is not a response, as in the code.
pub(super) fn flat(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = events(generator);
    records.push(user_interface::schema(generator));
    records
}

fn events(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<EventRecord<'_>>(generator);
    records.push(record::<MessageUpdate<'_>>(generator));
    records
}

/// Describes every record that is not a response, as in the document.
pub(super) fn wrapped(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let wrap = |event: Schema| {
        json_schema!({
            "description": event.get("description"),
            "type": "object",
            "properties": { "type": { "const": "event" }, "event": event },
            "required": ["type", "event"],
        })
    };
    events(generator).into_iter().map(wrap).collect()
}
