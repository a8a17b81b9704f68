//! What results of confined calls say about the sandbox.

use bowline_core::message::Content;
use bowline_core::sandbox::{ProtectedChange, SandboxLevel, SandboxNetwork};
use bowline_tools::Outcome;

use super::Inner;
use crate::error::Error;

/// What refused calls say.
const SIGNS: &[&str] = &[
    "Read-only file system",
    "Operation not permitted",
    "Permission denied",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EROFS",
    "EPERM",
    "EACCES",
    "EAI_AGAIN",
    "ENETUNREACH",
];

impl Inner {
    /// Says at the end of a refused result what the sandbox allows, so that the model does not look for the reason.
    pub(super) fn explain(&self, mut outcome: Outcome) -> Outcome {
        let says_so = |content: &Content| matches!(content, Content::Text { text } if SIGNS.iter().any(|sign| text.contains(sign)));
        if outcome.is_error && outcome.content.iter().any(says_so) {
            let note = self.note();
            match outcome.content.iter_mut().rev().find_map(|content| match content {
                Content::Text { text } => Some(text),
                _ => None,
            }) {
                Some(text) => {
                    text.push_str("\n\n");
                    text.push_str(&note);
                }
                None => outcome.content.push(Content::text(note)),
            }
        }
        outcome
    }

    /// Returns what the sandbox allows, in one line.
    fn note(&self) -> String {
        let state = self.state();
        let mut writable: Vec<_> = match &state.proved {
            Some(proved) => proved.plan.writable.iter().map(|path| path.display().to_string()).collect(),
            None => Vec::new(),
        };
        writable.push(if state.level == Some(SandboxLevel::Full) { "/tmp" } else { "$TMPDIR" }.to_owned());
        let network = match state.network {
            SandboxNetwork::None => "no network but localhost",
            SandboxNetwork::AllowList => "only listed hosts, through the proxy",
            SandboxNetwork::Full => "the network is open",
        };
        format!(
            "[Sandbox {}: writing is possible in {}; {network}. Retrying will not help.]",
            state.mode.as_str(),
            writable.join(", ")
        )
    }
}

/// Says in a result which protected paths were put back.
pub(super) fn with_changes(mut outcome: Outcome, changes: Vec<ProtectedChange>) -> Outcome {
    if !changes.is_empty() {
        let paths: Vec<_> = changes.iter().map(|change| change.path.display().to_string()).collect();
        outcome.content.push(Content::text(format!(
            "[Sandbox: {} is protected, because other programs execute what is there. It was restored; ask the \
             user to change it.]",
            paths.join(", ")
        )));
        outcome.protected.extend(changes);
    }
    outcome
}

/// Returns what is read of a call that could not be confined.
pub(super) fn refusal(error: &Error) -> String {
    format!("Not carried out: {error}.")
}
