//! The `data` of success responses where omp differs from the family, and omp's error texts.

use bowline_core::reply::{Answer, Refusal, RefusalCode, ShellResult, State};
use bowline_core::tool::ToolDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::commands::INTERRUPT_MODES;
use crate::family::answers::{CommonState, ContextUsageRecord, ShellResultRecord};
use crate::family::data;
use crate::family::state_cache::StateCache;

/// Clients match this text, so it is omp's.
const BUSY: &str =
    "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";

/// What omp appends to the output of a command that was cancelled.
const CANCELLED: &str = "[Command cancelled]\n";

/// The `data` of a success response.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Data<'reply> {
    Family(data::Data<'reply>),
    State(Box<StateRecord<'reply>>),
    Shell(ShellResultRecord<'reply>),
}

/// The state: the fields of omp's documentation, and those that later versions added.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State", description = "The state of the agent.")]
pub(super) struct StateRecord<'reply> {
    #[serde(flatten)]
    common: CommonState<'reply>,
    /// Whether a steering message waits for the tool calls of the turn.
    #[schemars(extend("enum" = INTERRUPT_MODES))]
    interrupt_mode: &'static str,
    /// The number of messages in both queues.
    queued_message_count: usize,
    /// Absent if no model is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<ContextUsageRecord>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    system_prompt: Option<[&'reply str; 1]>,
    /// The tools available to the model.
    dump_tools: Vec<ToolRecord<'reply>>,
}

/// A tool available to the model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub(super) struct ToolRecord<'reply> {
    name: &'reply str,
    description: &'reply str,
    /// The tool's arguments, as JSON Schema.
    parameters: &'reply Value,
}

/// Returns the `data` of a success response, if it has any.
pub(super) fn data<'reply>(answer: &'reply Answer, cache: &'reply mut StateCache) -> Option<Data<'reply>> {
    match answer {
        Answer::Accepted(_) => None,
        Answer::State(state) => Some(Data::State(Box::new(state_record(state, cache)))),
        Answer::Shell(result) => Some(Data::Shell(shell_result(result))),
        answer => data::data(answer, cache).map(Data::Family),
    }
}

/// Replaces error texts with those that omp's clients know.
pub(super) fn reword(refusal: &mut Refusal) {
    if refusal.code == RefusalCode::Busy {
        BUSY.clone_into(&mut refusal.message);
    } else if refusal.message.contains("forking") {
        // omp calls a fork a branch.
        refusal.message = refusal.message.replace("forking", "branching");
    }
}

fn state_record<'reply>(state: &'reply State, cache: &'reply mut StateCache) -> StateRecord<'reply> {
    let cache = cache.update(state);
    StateRecord {
        common: CommonState::new(state, cache),
        interrupt_mode: state.interrupt_mode.as_str(),
        queued_message_count: state.pending_message_count,
        context_usage: state.context.as_ref().map(data::context_usage),
        system_prompt: state.instructions.as_ref().map(|instructions| [&*instructions.system_prompt]),
        dump_tools: state
            .instructions
            .iter()
            .flat_map(|instructions| instructions.tools.iter())
            .map(tool_record)
            .collect(),
    }
}

fn tool_record(tool: &ToolDefinition) -> ToolRecord<'_> {
    ToolRecord { name: &tool.name, description: &tool.description, parameters: &tool.parameters }
}

fn shell_result(result: &ShellResult) -> ShellResultRecord<'_> {
    let mut record = data::shell_result(result);
    if result.cancelled {
        let mut output = result.output.clone();
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(CANCELLED);
        record.output = output.into();
    }
    record
}
