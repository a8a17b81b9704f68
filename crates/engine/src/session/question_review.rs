//! What an answer for more than a call means to the questions that wait: equal ones are answered with it, and the gate looks
//! at the others again before they are shown.

use bowline_core::ask::{Approval, ApprovalKind, Decision, Question, ReasonCode};

use super::Session;
use super::call_approval::{By, Memory};
use crate::call_gate::{Check, GatedCall, HostName, Verdict};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

impl Session {
    /// Remembers an answer that is for more than a call, and answers the questions that wait and that it is for.
    pub(super) fn answer_others(&mut self, decided: &Approval, decision: &Decision, memory: Memory) {
        let &Decision::AllowFor(remembered) = decision else { return };
        if memory == Memory::Due {
            self.remember(decided, remembered);
        }
        for id in self.approvals.waiting().collect::<Vec<_>>() {
            let digest = self.approval(id).map(|approval| &approval.terms.digest);
            if digest == Some(&decided.terms.digest) {
                self.answer_waiting(id, decision.clone(), By::EqualCall);
            } else {
                self.review(id);
            }
        }
    }

    /// Shows the question of a subagent, unless the user has agreed to such calls since the subagent asked.
    pub(super) fn queue_passed_on(&mut self, id: PendingId) {
        self.approvals.add(id);
        if self.agent.gate().revision() > 0 {
            self.review(id);
        }
        self.show_next_question();
    }

    /// Has the gate look again at what a question is about. The question is not shown before it has.
    fn review(&mut self, question: PendingId) {
        let Some(approval) = self.approval(question) else { return };
        let terms = &approval.terms;
        if terms.code == ReasonCode::Extension {
            return;
        }
        let gate = self.agent.gate();
        if terms.kind == ApprovalKind::Network {
            let host = terms.grants.hosts.first().and_then(|host| host.rsplit_once(':'));
            let Some((host, Ok(port))) = host.map(|(host, port)| (host, port.parse())) else { return };
            let verdict =
                gate.check_host(&HostName { host, port, working_directory: &terms.working_directory });
            if matches!(verdict, Verdict::Run { .. }) {
                self.answer_waiting(question, Decision::Allow, By::Remembered);
            }
            return;
        }
        let toolbox = self.instructions.toolbox();
        let options = toolbox.options();
        let check = gate.check(&GatedCall {
            call_id: &approval.call_id,
            tool: &approval.tool,
            traits: toolbox.traits_of(&approval.tool),
            arguments: &approval.arguments,
            working_directory: &terms.working_directory,
            confinement: options.confinement.as_ref(),
        });
        match check {
            Check::Now(verdict) => self.reviewed(question, &verdict),
            Check::Later(work) => {
                self.approvals.hold(question);
                self.pending.start(Awaited::Review { question }, |reporter| async move {
                    let verdict = work.await;
                    reporter.send(Step::Verdict(Box::new(verdict))).await;
                });
            }
        }
    }

    /// Goes on with a question that the gate has looked at again.
    pub(super) fn review_done(&mut self, id: PendingId, verdict: &Verdict) {
        let Some(Awaited::Review { question }) = self.pending.remove(id) else { return };
        self.approvals.release(question);
        self.reviewed(question, verdict);
        self.show_next_question();
        self.continue_batch();
    }

    fn reviewed(&mut self, question: PendingId, verdict: &Verdict) {
        let Verdict::Run { grants } = verdict else { return };
        if self.approval(question).is_some_and(|approval| approval.terms.grants == *grants) {
            self.answer_waiting(question, Decision::Allow, By::Remembered);
        }
    }

    /// Answers a question that the user has not seen.
    fn answer_waiting(&mut self, id: PendingId, decision: Decision, by: By) {
        match self.pending.awaited(id) {
            Some(Awaited::Question(_)) => {
                if let Some(open) = self.take_question(id, &decision, by) {
                    self.apply_decision(open, decision);
                }
            }
            Some(Awaited::PassedOn(_)) => self.pass_back(id, decision, by, Memory::Done),
            _ => {}
        }
    }

    /// Returns the call that a question is about.
    fn approval(&self, question: PendingId) -> Option<&Approval> {
        match self.pending.awaited(question)? {
            Awaited::Question(open) => Some(&open.approval),
            Awaited::PassedOn(asker) => match &asker.question {
                Question::Approval(approval) => Some(approval),
                Question::Dialog(_) => None,
            },
            _ => None,
        }
    }
}
