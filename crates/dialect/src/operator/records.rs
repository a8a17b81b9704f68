//! The form of the records that are not answers. The comments are what clients read in the schema and in the reference.

use bowline_core::message::Arguments;
use bowline_core::thinking::ThinkingLevel;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::messages::{Block, Spoken, SpokenResult};
use crate::schema::{record, variants};

/// An event in the words of operator-use.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Said<'event> {
    /// A message of the user goes into the conversation.
    Input {
        text: String,
        /// Where it came from.
        #[schemars(extend("const" = "rpc"))]
        source: &'static str,
        /// Its entry in the session's file; `null` if the session is kept in memory only.
        entry_id: Option<&'event str>,
    },
    /// A run begins.
    AgentStart,
    /// The model has nothing more to say. One for each run, retries and queued messages included.
    AgentEnd {
        /// What the run added to the conversation.
        messages: Vec<Spoken<'event>>,
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        reason: &'static str,
    },
    /// The run failed. `agent_end` follows.
    AgentError { error: &'event str },
    /// The run is over, and nothing follows by itself.
    Settled,
    /// A turn begins: one answer of the model, and the tools that it calls.
    TurnStart {
        /// Counts the turns of the run, from 0 on.
        turn_index: u64,
        /// Always 0: kept for clients that read it.
        timestamp: f64,
    },
    /// A turn is over.
    TurnEnd {
        turn_index: u64,
        /// The answer of the model.
        message: Spoken<'event>,
        /// What the tools gave back: one message, or none.
        tool_results: Vec<Spoken<'event>>,
    },
    /// An answer, or what tools gave back, begins.
    MessageStart { message: Spoken<'event> },
    /// A message is whole, and in the session's file.
    MessageEnd {
        message: Spoken<'event>,
        /// Its entry in the file; `null` if the session is kept in memory only.
        entry_id: Option<&'event str>,
    },
    /// The model called a tool.
    ToolCall { tool_call_id: &'event str, tool_name: &'event str, input: &'event Arguments },
    /// A tool begins its work.
    ToolExecutionStart { tool_call: Block<'event> },
    /// A tool has more to show.
    ToolExecutionUpdate {
        /// All that it has to show so far: replaces what it showed before.
        partial_tool_result: SpokenResult<'event>,
    },
    /// A tool gave something back.
    ToolResult {
        tool_call_id: &'event str,
        tool_name: &'event str,
        input: &'event Arguments,
        content: String,
        is_error: bool,
    },
    /// A tool has done its work.
    ToolExecutionEnd { tool_result: Block<'event> },
    /// A message was queued.
    QueueUpdate {
        #[schemars(extend("enum" = ["steering", "followup"]))]
        queue: &'static str,
        /// Its text.
        message: &'event str,
        /// The texts of all messages in that queue.
        messages: &'event [String],
    },
    /// A request failed for a passing reason, and is going to be made again.
    RetryStart {
        /// Which retry it is, from 1 on.
        attempt: u32,
        max_retries: u32,
        /// Why the request failed.
        error: &'event str,
    },
    /// Retrying is over.
    RetryEnd {
        /// How many retries it took.
        attempt: u32,
        success: bool,
        /// Why the last one failed, if it did.
        error: Option<&'event str>,
    },
    /// The conversation is being compacted.
    CompactionStart {
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        /// Always `null`: it is known at the end.
        tokens_before: Option<u64>,
    },
    /// Compacting is over.
    CompactionEnd {
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        tokens_before: Option<u64>,
        /// What stands for all that came before, if it was made.
        summary: Option<&'event str>,
        aborted: bool,
        /// Why it failed, if it did.
        error: Option<&'event str>,
    },
    /// The model thinks harder, or less hard.
    ThinkingLevelSelect {
        #[schemars(with = "ThinkingLevel")]
        level: &'static str,
    },
}

/// More of an answer, which is put together by hand.
#[derive(JsonSchema)]
#[schemars(description = "There is more of an answer.")]
#[expect(dead_code, reason = "this only describes it")]
struct MessageUpdate<'event> {
    #[schemars(extend("const" = "message_update"))]
    r#type: &'static str,
    /// A message with what is new as its only block.
    message: Spoken<'event>,
    /// Which block of the answer it belongs to.
    content_index: usize,
}

/// A compaction that was made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Compaction")]
pub(super) struct SpokenCompaction<'event> {
    /// What stands for all that came before.
    pub summary: &'event str,
    /// The first entry that the model still sees as it was.
    pub first_kept_entry_id: &'event str,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// Describes every record that is not an answer, as the code has it.
pub(super) fn flat(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<Said<'_>>(generator);
    records.push(record::<MessageUpdate<'_>>(generator));
    records
}

/// Describes every record that is not an answer, as the document has it.
pub(super) fn wrapped(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let wrap = |event: Schema| {
        json_schema!({
            "description": event.get("description"),
            "type": "object",
            "properties": { "type": { "const": "event" }, "event": event },
            "required": ["type", "event"],
        })
    };
    flat(generator).into_iter().map(wrap).collect()
}
