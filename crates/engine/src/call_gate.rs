//! The decision about a tool call before it runs.

use std::fmt::Debug;

use bowline_core::message::Arguments;

/// Decides which tool calls run. It is asked on the session's thread, so it must not block.
pub trait CallGate: Debug + Send + Sync {
    /// Decides about a call.
    fn check(&self, call: &GatedCall<'_>) -> Verdict;
}

/// A tool call that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct GatedCall<'call> {
    pub call_id: &'call str,
    pub tool: &'call str,
    pub arguments: &'call Arguments,
}

/// What becomes of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Run,
    /// The model is told the reason.
    Refuse {
        reason: String,
    },
    /// The user decides; the reason is shown to them.
    Ask {
        reason: String,
    },
}

/// Lets every call run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunEverything;

impl CallGate for RunEverything {
    fn check(&self, _call: &GatedCall<'_>) -> Verdict {
        Verdict::Run
    }
}
