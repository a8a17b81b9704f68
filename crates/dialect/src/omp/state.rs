//! The reply to omp's `get_state`.

use bowline_core::reply::State;
use bowline_core::sandbox::SandboxSummary;
use bowline_core::todo::TodoPhase;
use bowline_core::tool::ToolDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::commands::INTERRUPT_MODES;
use crate::family::answers::{CommonState, ContextUsageRecord};
use crate::family::approvals::ApprovalStateRecord;
use crate::family::data;
use crate::family::extensions::{self, ExtensionRecord};
use crate::family::state_cache::StateCache;

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
    /// The todo list.
    todo_phases: &'reply [TodoPhase],
    /// What confines the tools; `get_sandbox` says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxSummary>,
    /// The extensions of the session, including those that have failed. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<ExtensionRecord<'reply>>,
    /// How the user is asked about tool calls. Absent if `ask` is `never` and the client has not failed to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<ApprovalStateRecord>,
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

impl<'reply> StateRecord<'reply> {
    pub fn new(state: &'reply State, cache: &'reply mut StateCache) -> Self {
        let cache = cache.update(state);
        Self {
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
            todo_phases: &state.todos,
            sandbox: Some(state.sandbox),
            extensions: extensions::records(&state.extensions),
            approvals: state.approvals.as_ref().map(Into::into),
        }
    }
}

fn tool_record(tool: &ToolDefinition) -> ToolRecord<'_> {
    ToolRecord { name: &tool.name, description: &tool.description, parameters: &tool.parameters }
}
