//! What the gate says about a tool call. It may look at the file system first, so its verdict is an entry of the
//! registry.

use std::time::Instant;

use bowline_core::ask::{ReasonCode, Terms};
use bowline_core::sandbox::Grants;
use bowline_tools::Outcome;

use super::Session;
use crate::call_gate::{Asking, Check, GatedCall, Verdict};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};
use crate::run::Run;
use crate::tool_call_states::{Call, CallState};

/// What the model reads of a call that an abort overtook.
const ABORTED: &str = "Operation aborted";

/// A call that the gate is looking at.
#[derive(Debug)]
pub(crate) struct CheckedCall {
    pub index: usize,
    started: Instant,
    /// Why it looks.
    purpose: Purpose,
}

/// Why the gate looks at a call.
#[derive(Debug)]
enum Purpose {
    /// The call is new.
    Decide {
        /// Why an extension wants the user to decide, if one does.
        asks: Option<String>,
        /// What the gate's memory was when it began to look.
        revision: u64,
    },
    /// The user has agreed to it, and to what it gets beyond the sandbox.
    LookAgain { grants: Grants },
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
        let gate = self.agent.gate();
        let revision = gate.revision();
        let check = self.gated(call, |gated| gate.check(gated));
        self.await_check(check, CheckedCall { index, started, purpose: Purpose::Decide { asks, revision } });
    }

    /// Has the gate look again at a call that the user has agreed to, and runs it if nothing forbids it by now.
    pub(super) fn check_approved(&mut self, index: usize, terms: &Terms, started: Instant) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let gate = self.agent.gate();
        let check = self.gated(call, |gated| gate.check_again(gated, terms.target.as_deref()));
        self.set_call_state(index, CallState::Deciding { started });
        let purpose = Purpose::LookAgain { grants: terms.grants.clone() };
        self.await_check(check, CheckedCall { index, started, purpose });
    }

    /// Asks the gate something about a call.
    fn gated(&self, call: &Call, ask: impl FnOnce(&GatedCall<'_>) -> Check) -> Check {
        let toolbox = self.instructions.toolbox();
        let options = toolbox.options();
        ask(&GatedCall {
            call_id: &call.id,
            tool: &call.tool,
            traits: toolbox.traits_of(&call.tool),
            arguments: &call.arguments,
            working_directory: self.transcript.working_directory(),
            confinement: options.confinement.as_ref(),
        })
    }

    fn await_check(&mut self, check: Check, checked: CheckedCall) {
        match check {
            Check::Now(verdict) => self.call_checked(checked, verdict),
            Check::Later(work) => {
                self.pending.start(Awaited::Verdict(checked), |reporter| async move {
                    let verdict = work.await;
                    reporter.send(Step::Verdict(Box::new(verdict))).await;
                });
            }
        }
    }

    /// Goes on with a call that the gate has looked at.
    pub(super) fn verdict_ready(&mut self, id: PendingId, verdict: Verdict) {
        let Some(Awaited::Verdict(checked)) = self.pending.remove(id) else { return };
        if self.activity.is_stopping() {
            self.end_call(checked.index, Outcome::error(ABORTED), checked.started);
        } else {
            self.call_checked(checked, verdict);
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

    fn call_checked(&mut self, checked: CheckedCall, verdict: Verdict) {
        let CheckedCall { index, started, purpose } = checked;
        match (verdict, purpose) {
            (Verdict::Refuse { reason }, _) => self.end_call(index, Outcome::error(reason), started),
            (_, Purpose::LookAgain { grants })
            | (Verdict::Run { grants }, Purpose::Decide { asks: None, .. }) => {
                if let Some(batch) = self.run_mut().and_then(Run::batch_mut) {
                    batch.set_grants(index, grants);
                }
                self.set_call_state(index, CallState::Cleared { started });
            }
            (Verdict::Run { grants }, Purpose::Decide { asks: Some(reason), .. }) => {
                let code = ReasonCode::Extension;
                self.ask_about_call(index, Asking { code, reason, grants, ..Asking::default() }, started);
            }
            // The user has agreed to something meanwhile, and this call may be part of it.
            (Verdict::Ask(_), Purpose::Decide { asks, revision })
                if revision != self.agent.gate().revision() =>
            {
                self.check_call(index, started, asks);
            }
            (Verdict::Ask(asking), Purpose::Decide { .. }) => self.ask_about_call(index, *asking, started),
        }
    }
}
