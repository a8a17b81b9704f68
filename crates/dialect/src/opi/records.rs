//! The form of the records that are not responses. Their doc comments are the descriptions in the schema and the
//! reference.

use bowline_core::ErrorKind;
use bowline_core::message::Arguments;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::messages::{AnswerRecord, ContentRecord, MessageRecord, ToolResultRecord};
use super::replies::{CompactionRecord, Ready};
use crate::schema::{compaction_reasons, record, variants};

/// The record of an event; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum EventRecord<'event> {
    /// A run starts.
    AgentStart {
        #[schemars(extend("const" = "AgentStart"))]
        r#type: &'static str,
    },
    /// The run ended, including retries and queued messages. Emitted once per run.
    AgentEnd {
        /// Why the run failed or was aborted, for programs; absent if it was not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_kind: Option<ErrorKind>,
        /// Why the run failed; absent if it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'event str>,
        /// The whole conversation, without model responses that failed or were aborted.
        messages: Vec<MessageRecord<'event>>,
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        reason: &'static str,
        #[schemars(extend("const" = "AgentEnd"))]
        r#type: &'static str,
    },
    /// A turn starts: one model response and the tool calls in it.
    TurnStart {
        #[schemars(extend("const" = "TurnStart"))]
        r#type: &'static str,
    },
    /// A turn ended.
    TurnEnd {
        /// The model response.
        message: MessageRecord<'event>,
        /// The results of the tool calls.
        tool_results: Vec<ToolResultRecord<'event>>,
        #[schemars(extend("const" = "TurnEnd"))]
        r#type: &'static str,
    },
    /// A model response starts.
    MessageStart {
        message: MessageRecord<'event>,
        #[schemars(extend("const" = "MessageStart"))]
        r#type: &'static str,
    },
    /// A model response is complete.
    MessageEnd {
        message: MessageRecord<'event>,
        #[schemars(extend("const" = "MessageEnd"))]
        r#type: &'static str,
    },
    /// A tool starts.
    ToolExecutionStart {
        /// The arguments of the call.
        args: &'event Arguments,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionStart"))]
        r#type: &'static str,
    },
    /// A running tool has new output.
    ToolExecutionUpdate {
        /// The arguments of the call.
        args: &'event Arguments,
        /// The output so far. It replaces that of earlier updates.
        partial_result: Vec<ContentRecord<'event>>,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionUpdate"))]
        r#type: &'static str,
    },
    /// A tool finished.
    ToolExecutionEnd {
        /// Details for the client that the model does not see; they depend on the tool.
        details: Option<&'event Value>,
        is_error: bool,
        /// The output for the model.
        result: Vec<ContentRecord<'event>>,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionEnd"))]
        r#type: &'static str,
    },
    /// Queued messages are delivered to the next turn.
    QueueUpdate {
        /// The texts from the follow-up queue.
        follow_up: &'event [String],
        /// The texts from the steering queue.
        steering: &'event [String],
        #[schemars(extend("const" = "QueueUpdate"))]
        r#type: &'static str,
    },
    /// A request failed with a transient error and will be retried.
    AutoRetryStart {
        /// The number of the retry, starting at 1.
        attempt: u32,
        /// The delay before the retry.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
        max_attempts: u32,
        #[schemars(extend("const" = "AutoRetryStart"))]
        r#type: &'static str,
    },
    /// Retrying ended.
    AutoRetryEnd {
        /// The number of retries.
        attempt: u32,
        /// Why the last retry failed; `null` on success.
        final_error: Option<&'event str>,
        success: bool,
        #[schemars(extend("const" = "AutoRetryEnd"))]
        r#type: &'static str,
    },
    /// A compaction starts.
    CompactionStart {
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
        #[schemars(extend("const" = "CompactionStart"))]
        r#type: &'static str,
    },
    /// A compaction ended.
    CompactionEnd {
        aborted: bool,
        /// Why the compaction failed; `null` if it did not.
        error_message: Option<&'event str>,
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
        /// `null` if the compaction was aborted or failed.
        result: Option<CompactionRecord<'event>>,
        #[schemars(extend("const" = "CompactionEnd"))]
        r#type: &'static str,
    },
    /// A message could not be written to the session's file, so the run fails.
    SessionPersistError {
        /// Why it could not be written.
        message: &'event str,
        #[schemars(extend("const" = "SessionPersistError"))]
        r#type: &'static str,
    },
}

/// Describes every record that is not a response.
pub(super) fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = vec![record::<Ready>(generator)];
    records.extend(variants::<EventRecord<'_>>(generator));
    records.push(update(generator));
    records
}

/// Describes an update, which is assembled from bytes.
fn update(generator: &mut SchemaGenerator) -> Schema {
    let (message, answer) =
        (generator.subschema_for::<MessageRecord<'_>>(), generator.subschema_for::<AnswerRecord<'_>>());
    let step = |kinds: &[&str], text: Option<(&str, &str)>| {
        let mut step = json!({
            "type": "object",
            "properties": {
                "content_index": { "description": "The index of the block in the model response.", "type": "integer", "minimum": 0 },
                "partial": answer,
                "type": { "enum": kinds },
            },
            "required": ["content_index", "partial", "type"],
        });
        if let Some((name, about)) = text {
            step["properties"][name] = json!({ "description": about, "type": "string" });
            step["required"].as_array_mut().into_iter().for_each(|names| names.push(name.into()));
        }
        step
    };
    json_schema!({
        "description": "More of a model response has arrived.",
        "type": "object",
        "properties": {
            "assistant_event": {
                "description": "What is new. `partial` is the response so far, as is `message`.",
                "oneOf": [
                    step(&["text_delta", "thinking_delta"], Some(("delta", "The text to append to the block."))),
                    step(&["thinking_start"], None),
                    step(&["thinking_end"], Some(("content", "The complete block."))),
                ],
            },
            "message": message,
            "type": { "const": "MessageUpdate" },
        },
        "required": ["assistant_event", "message", "type"],
    })
}
