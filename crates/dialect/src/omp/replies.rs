//! What goes along with answers where omp has it its own way, and how it words refusals.

use bowline_core::reply::{Answer, Refusal, RefusalCode, ShellResult, State};
use bowline_core::tool::ToolDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::family::answers::{CommonState, SpokenContext, SpokenShell};
use crate::family::data;
use crate::family::state_parts::StateParts;

/// Clients match this text, so it is that of omp.
const BUSY: &str =
    "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";

/// What omp says in place of, or after, the output of a command that was killed.
const CANCELLED: &str = "[Command cancelled]\n";

/// What goes along with an answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Data<'reply> {
    Family(data::Data<'reply>),
    State(Box<SpokenState<'reply>>),
    Shell(SpokenShell<'reply>),
}

/// The state: what omp's documentation has, and what later versions added.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State", description = "The state of the agent.")]
pub(super) struct SpokenState<'reply> {
    #[serde(flatten)]
    common: CommonState<'reply>,
    /// Whether a steering message waits for the tool calls of the turn.
    #[schemars(extend("enum" = ["immediate", "wait"]))]
    interrupt_mode: &'static str,
    /// Messages in both queues.
    queued_message_count: usize,
    /// Absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<SpokenContext>,
    /// What the model is told before the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    system_prompt: Option<[&'reply str; 1]>,
    /// The tools that the model may call.
    dump_tools: Vec<SpokenTool<'reply>>,
}

/// A tool that the model may call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub(super) struct SpokenTool<'reply> {
    name: &'reply str,
    description: &'reply str,
    /// Its arguments, as JSON Schema.
    parameters: &'reply Value,
}

/// Returns what goes along with an answer, if anything does.
pub(super) fn data<'reply>(answer: &'reply Answer, parts: &'reply mut StateParts) -> Option<Data<'reply>> {
    match answer {
        Answer::Accepted(_) => None,
        Answer::State(state) => Some(Data::State(Box::new(spoken_state(state, parts)))),
        Answer::Shell(result) => Some(Data::Shell(spoken_shell(result))),
        answer => data::data(answer, parts).map(Data::Family),
    }
}

/// Words a refusal as omp's clients know it.
pub(super) fn reword(refusal: &mut Refusal) {
    if refusal.code == RefusalCode::Busy {
        BUSY.clone_into(&mut refusal.message);
    } else if refusal.message.contains("forking") {
        // What others call a fork is a branch here.
        refusal.message = refusal.message.replace("forking", "branching");
    }
}

fn spoken_state<'reply>(state: &'reply State, parts: &'reply mut StateParts) -> SpokenState<'reply> {
    let parts = parts.follow(state);
    SpokenState {
        common: CommonState::new(state, parts),
        interrupt_mode: state.interrupt_mode.as_str(),
        queued_message_count: state.pending_message_count,
        context_usage: state.context.as_ref().map(data::spoken_context),
        system_prompt: state.instructions.as_ref().map(|told| [&*told.system_prompt]),
        dump_tools: state.instructions.iter().flat_map(|told| told.tools.iter()).map(spoken_tool).collect(),
    }
}

fn spoken_tool(tool: &ToolDefinition) -> SpokenTool<'_> {
    SpokenTool { name: &tool.name, description: &tool.description, parameters: &tool.parameters }
}

fn spoken_shell(result: &ShellResult) -> SpokenShell<'_> {
    let mut spoken = data::spoken_shell(result);
    if result.cancelled {
        let mut output = result.output.clone();
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(CANCELLED);
        spoken.output = output.into();
    }
    spoken
}
