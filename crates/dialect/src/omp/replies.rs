//! The `data` of success responses where omp differs from the family, and omp's error texts.

use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode, ShellResult};
use schemars::JsonSchema;
use serde::Serialize;

use super::slash_commands::AvailableCommands;
use super::state::StateRecord;
use crate::family::answers::ShellResultRecord;
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
    Commands(AvailableCommands<'reply>),
    Invoked(Invoked),
}

/// Whether a prompt reached the model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invoked {
    /// `false` if the prompt named a command, which was carried out instead.
    pub agent_invoked: bool,
}

/// Returns the `data` of a success response, if it has any.
pub(super) fn data<'reply>(answer: &'reply Answer, cache: &'reply mut StateCache) -> Option<Data<'reply>> {
    match answer {
        Answer::Accepted(Disposition::Handled) => Some(Data::Invoked(Invoked { agent_invoked: false })),
        Answer::Accepted(_) => None,
        Answer::State(state) => Some(Data::State(Box::new(StateRecord::new(state, cache)))),
        Answer::Shell(result) => Some(Data::Shell(shell_result(result))),
        Answer::Commands(commands) => Some(Data::Commands(AvailableCommands::new(commands))),
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
    } else if refusal.message.starts_with("Host URI scheme is reserved") {
        refusal.message = refusal.message.replace("by bowline", "by OMP");
    }
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
