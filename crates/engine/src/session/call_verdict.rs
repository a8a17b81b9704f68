//! What the gate says about a tool call. It may look at the file system first, so its verdict is an entry of the
//! registry.

use std::time::Instant;

use bowline_core::ask::ReasonCode;
use bowline_tools::Outcome;

use super::Session;
use crate::call_gate::{Asking, Check, GatedCall, Verdict};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};
use crate::run::Run;
use crate::tool_call_states::CallState;

/// What the model reads of a call that an abort overtook.
const ABORTED: &str = "Operation aborted";

/// A call that the gate is looking at.
#[derive(Debug)]
pub(crate) struct CheckedCall {
    pub index: usize,
    started: Instant,
    /// Why an extension wants the user to decide, if one does.
    asks: Option<String>,
}

impl Session {
    /// Lets the gate decide about a call, unless an extension wants the user to.
    pub(super) fn check_call(&mut self, index: usize, started: Instant, asks: Option<String>) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let toolbox = self.instructions.toolbox();
        // Nobody is asked about a call that cannot run: whatever they agree to would be about something else.
        if let Some(refusal) = toolbox.get(&call.tool).and_then(|tool| tool.refuse_arguments(&call.arguments))
        {
            return self.end_call(index, Outcome::error(refusal), started);
        }
        let options = toolbox.options();
        let gated = GatedCall {
            call_id: &call.id,
            tool: &call.tool,
            traits: toolbox.traits_of(&call.tool),
            arguments: &call.arguments,
            working_directory: self.transcript.working_directory(),
            confinement: options.confinement.as_ref(),
        };
        match self.agent.gate().check(&gated) {
            Check::Now(verdict) => self.call_checked(index, started, asks, verdict),
            Check::Later(work) => {
                let checked = Awaited::Verdict(CheckedCall { index, started, asks });
                self.pending.start(checked, |reporter| async move {
                    let verdict = work.await;
                    reporter.send(Step::Verdict(Box::new(verdict))).await;
                });
            }
        }
    }

    /// Goes on with a call that the gate has looked at.
    pub(super) fn verdict_ready(&mut self, id: PendingId, verdict: Verdict) {
        let Some(Awaited::Verdict(CheckedCall { index, started, asks })) = self.pending.remove(id) else {
            return;
        };
        if self.activity.is_stopping() {
            self.end_call(index, Outcome::error(ABORTED), started);
        } else {
            self.call_checked(index, started, asks, verdict);
        }
        self.continue_batch();
    }

    /// Ends the calls that the gate is looking at, because the run is aborted.
    pub(super) fn abort_checks(&mut self) {
        let checks = self.pending.checks();
        if checks.is_empty() {
            return;
        }
        for id in checks {
            if let Some(Awaited::Verdict(checked)) = self.pending.remove(id) {
                self.end_call(checked.index, Outcome::error(ABORTED), checked.started);
            }
        }
        self.continue_batch();
    }

    fn call_checked(&mut self, index: usize, started: Instant, asks: Option<String>, verdict: Verdict) {
        match (verdict, asks) {
            (Verdict::Run { grants }, None) => {
                if let Some(batch) = self.run_mut().and_then(Run::batch_mut) {
                    batch.set_grants(index, grants);
                }
                self.set_call_state(index, CallState::Cleared { started });
            }
            (Verdict::Run { grants }, Some(reason)) => {
                let asking = Asking { code: ReasonCode::Extension, reason, grants, rule: None };
                self.ask_about_call(index, asking, started);
            }
            (Verdict::Refuse { reason }, _) => self.end_call(index, Outcome::error(reason), started),
            (Verdict::Ask(asking), _) => self.ask_about_call(index, *asking, started),
        }
    }
}
