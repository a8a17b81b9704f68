//! What goes along with answers where omp has it its own way, and how it words refusals.

use std::borrow::Cow;
use std::path::Path;

use bowline_core::model::Model;
use bowline_core::reply::{Answer, Refusal, RefusalCode, ShellResult, State};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::ToolDefinition;
use serde::Serialize;
use serde_json::Value;

use super::timed::Timed;
use crate::family::data::{self, SpokenContext, SpokenShell};

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
    Messages { messages: Vec<Timed<'reply>> },
    Shell(SpokenShell<'reply>),
}

/// The state; keys in the order of omp's documentation, then what later versions added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpokenState<'reply> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'reply Model>,
    thinking_level: ThinkingLevel,
    is_streaming: bool,
    is_compacting: bool,
    steering_mode: &'static str,
    follow_up_mode: &'static str,
    interrupt_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'reply, str>>,
    session_id: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<&'reply str>,
    auto_compaction_enabled: bool,
    message_count: usize,
    queued_message_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<SpokenContext>,
    system_prompt: [&'reply str; 1],
    dump_tools: Vec<SpokenTool<'reply>>,
}

#[derive(Serialize)]
pub(super) struct SpokenTool<'reply> {
    name: &'reply str,
    description: &'reply str,
    parameters: &'reply Value,
}

/// Returns what goes along with an answer, if anything does.
pub(super) fn data(answer: &Answer) -> Option<Data<'_>> {
    match answer {
        Answer::Accepted(_) => None,
        Answer::State(state) => Some(Data::State(Box::new(spoken_state(state)))),
        Answer::Messages(messages) => {
            let messages = messages.iter().map(|message| Timed::complete(message)).collect();
            Some(Data::Messages { messages })
        }
        Answer::Shell(result) => Some(Data::Shell(spoken_shell(result))),
        answer => data::data(answer).map(Data::Family),
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

fn spoken_state(state: &State) -> SpokenState<'_> {
    SpokenState {
        model: state.model.as_deref(),
        thinking_level: state.thinking_level,
        is_streaming: state.is_streaming,
        is_compacting: state.is_compacting,
        steering_mode: state.steering_mode.as_str(),
        follow_up_mode: state.follow_up_mode.as_str(),
        interrupt_mode: state.interrupt_mode.as_str(),
        session_file: state.session_file.as_deref().map(Path::to_string_lossy),
        session_id: &state.session_id,
        session_name: state.session_name.as_deref(),
        auto_compaction_enabled: state.auto_compaction,
        message_count: state.message_count,
        queued_message_count: state.pending_message_count,
        context_usage: state.context.as_ref().map(data::spoken_context),
        system_prompt: [&state.system_prompt],
        dump_tools: state.tool_definitions.iter().map(spoken_tool).collect(),
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
