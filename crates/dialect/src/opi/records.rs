//! The form of the records that are not answers. The comments are what clients read in the schema and in the reference.

use bowline_core::message::Arguments;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::messages::{Spoken, SpokenAnswer, SpokenContent, SpokenResult};
use super::replies::{Ready, SpokenCompaction};
use crate::schema::{record, variants};

/// An event in the words of opi; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Said<'event> {
    /// A run begins.
    AgentStart {
        #[schemars(extend("const" = "AgentStart"))]
        r#type: &'static str,
    },
    /// The run is over: retries and queued messages included. One for each run.
    AgentEnd {
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'event str>,
        /// The whole conversation, without answers that failed or were stopped.
        messages: Vec<Spoken<'event>>,
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        reason: &'static str,
        #[schemars(extend("const" = "AgentEnd"))]
        r#type: &'static str,
    },
    /// A turn begins: one answer of the model, and the tools that it calls.
    TurnStart {
        #[schemars(extend("const" = "TurnStart"))]
        r#type: &'static str,
    },
    /// A turn is over.
    TurnEnd {
        /// The answer of the model.
        message: Spoken<'event>,
        /// What the tools gave back.
        tool_results: Vec<SpokenResult<'event>>,
        #[schemars(extend("const" = "TurnEnd"))]
        r#type: &'static str,
    },
    /// An answer begins.
    MessageStart {
        message: Spoken<'event>,
        #[schemars(extend("const" = "MessageStart"))]
        r#type: &'static str,
    },
    /// An answer is whole.
    MessageEnd {
        message: Spoken<'event>,
        #[schemars(extend("const" = "MessageEnd"))]
        r#type: &'static str,
    },
    /// A tool begins its work.
    ToolExecutionStart {
        /// What the model called it with.
        args: &'event Arguments,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionStart"))]
        r#type: &'static str,
    },
    /// A tool has more to show.
    ToolExecutionUpdate {
        /// What the model called it with.
        args: &'event Arguments,
        /// All that it has to show so far: replaces what it showed before.
        partial_result: Vec<SpokenContent<'event>>,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionUpdate"))]
        r#type: &'static str,
    },
    /// A tool has done its work.
    ToolExecutionEnd {
        /// Facts for the client that the model does not see; which, depends on the tool.
        details: Option<&'event Value>,
        is_error: bool,
        /// What the model sees.
        result: Vec<SpokenContent<'event>>,
        tool_call_id: &'event str,
        tool_name: &'event str,
        #[schemars(extend("const" = "ToolExecutionEnd"))]
        r#type: &'static str,
    },
    /// Queued messages go into the next turn.
    QueueUpdate {
        /// The texts that are taken from the follow-up queue.
        follow_up: &'event [String],
        /// The texts that are taken from the steering queue.
        steering: &'event [String],
        #[schemars(extend("const" = "QueueUpdate"))]
        r#type: &'static str,
    },
    /// A request failed for a passing reason, and is going to be made again.
    AutoRetryStart {
        /// Which retry it is, from 1 on.
        attempt: u32,
        /// How long it is waited for.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
        max_attempts: u32,
        #[schemars(extend("const" = "AutoRetryStart"))]
        r#type: &'static str,
    },
    /// Retrying is over.
    AutoRetryEnd {
        /// How many retries it took.
        attempt: u32,
        /// Why the last one failed, if it did.
        final_error: Option<&'event str>,
        success: bool,
        #[schemars(extend("const" = "AutoRetryEnd"))]
        r#type: &'static str,
    },
    /// The conversation is being compacted.
    CompactionStart {
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        #[schemars(extend("const" = "CompactionStart"))]
        r#type: &'static str,
    },
    /// Compacting is over.
    CompactionEnd {
        aborted: bool,
        /// Why it failed, if it did.
        error_message: Option<&'event str>,
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        /// What was made, if anything was.
        result: Option<SpokenCompaction<'event>>,
        #[schemars(extend("const" = "CompactionEnd"))]
        r#type: &'static str,
    },
}

/// Describes every record that is not an answer.
pub(super) fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = vec![record::<Ready>(generator)];
    records.extend(variants::<Said<'_>>(generator));
    records.push(update(generator));
    records
}

/// Describes an update, which is put together by hand.
fn update(generator: &mut SchemaGenerator) -> Schema {
    let (message, answer) =
        (generator.subschema_for::<Spoken<'_>>(), generator.subschema_for::<SpokenAnswer<'_>>());
    let step = |kinds: &[&str], text: Option<(&str, &str)>| {
        let mut step = json!({
            "type": "object",
            "properties": {
                "content_index": { "description": "Which block of the answer it belongs to.", "type": "integer", "minimum": 0 },
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
        "description": "There is more of an answer.",
        "type": "object",
        "properties": {
            "assistant_event": {
                "description": "What is new; `partial` is the answer so far, as `message` is.",
                "oneOf": [
                    step(&["text_delta", "thinking_delta"], Some(("delta", "What is appended to the block."))),
                    step(&["thinking_start"], None),
                    step(&["thinking_end"], Some(("content", "The whole block."))),
                ],
            },
            "message": message,
            "type": { "const": "MessageUpdate" },
        },
        "required": ["assistant_event", "message", "type"],
    })
}
