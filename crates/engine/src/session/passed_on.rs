//! Questions of subagents. Nobody is connected to a subagent, so its parent asks for it.

use bowline_core::ask::{Ask, AskAnswer, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::call_approval::{By, Memory};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// A question that a subagent asks.
#[derive(Debug)]
pub(crate) struct PassedOn {
    /// The id that the subagent knows it by.
    pub id: AskId,
    pub question: Question,
    /// Leads to the subagent.
    pub answers: mpsc::UnboundedSender<PassedAnswer>,
    /// Cancelled when the subagent does not need an answer any more.
    pub withdrawn: CancellationToken,
}

/// The answer to a question of a subagent, which its parent asked.
#[derive(Debug)]
pub struct PassedAnswer {
    pub(crate) id: AskId,
    pub(crate) decision: Decision,
    pub(crate) by: By,
    /// The number of the question that the user saw; 0 if it was not shown.
    pub(crate) number: u64,
}

/// Where the answer to a question goes that was passed on.
#[derive(Debug)]
pub(crate) struct Asker {
    /// The call that started the subagent, by its place in the answer.
    pub call: usize,
    id: AskId,
    pub question: Question,
    answers: mpsc::UnboundedSender<PassedAnswer>,
    /// Cancelled when the subagent does not need an answer any more.
    pub withdrawn: CancellationToken,
}

impl Session {
    /// Asks the user what a subagent of a call wants to know.
    pub(super) fn pass_on(&mut self, call: usize, passed_on: PassedOn) {
        let PassedOn { id, mut question, answers, withdrawn } = passed_on;
        let code = match &mut question {
            Question::Approval(approval) => {
                // The subagent has counted it, and the user has not seen it yet.
                approval.terms.number = 0;
                Some(approval.terms.code)
            }
            Question::Dialog(_) => None,
        };
        if let Some(why) = code.and_then(|code| self.cannot_ask(code)) {
            let (decision, by) = (Decision::NotAsked { why }, By::End(AskEnd::Withdrawn));
            let _ = answers.send(PassedAnswer { id, decision, by, number: 0 });
            return;
        }
        let asker = Asker { call, id, question: question.clone(), answers, withdrawn: withdrawn.clone() };
        let id = self.pending.start(Awaited::PassedOn(asker), |reporter| async move {
            withdrawn.cancelled().await;
            reporter.send(Step::DialogOver(AskEnd::Withdrawn)).await;
        });
        if code.is_some() {
            return self.queue_passed_on(id);
        }
        let token = self.agent.clock().token();
        self.emit(Event::Ask(Ask { id: id.into(), token, question }));
    }

    /// Takes what the parent says about a question of this session, which is a subagent.
    pub(super) fn answer_passed_back(&mut self, answer: PassedAnswer) {
        let PassedAnswer { id: ask, decision, by, number } = answer;
        let id = PendingId::from(ask);
        match self.pending.awaited_mut(id) {
            Some(Awaited::Question(open)) => open.approval.terms.number = number,
            Some(Awaited::PassedOn(Asker { question: Question::Approval(approval), .. })) => {
                approval.terms.number = number;
            }
            _ => {}
        }
        match self.pending.awaited(id) {
            Some(Awaited::Question(_)) => self.close_question(id, decision, by, Memory::Done),
            Some(Awaited::PassedOn(_)) => self.resolve_passed_on(id, decision, by, Memory::Done),
            _ => self.question_answered(AskAnswer { id: ask, decision }),
        }
    }

    /// Gives a subagent the answer to its question, and others that it is for too.
    pub(super) fn resolve_passed_on(&mut self, id: PendingId, decision: Decision, by: By, memory: Memory) {
        let is_for_others = matches!(decision, Decision::AllowFor(_));
        self.pass_back(id, decision, by, memory);
        self.show_next_question();
        if is_for_others {
            self.continue_batch();
        }
    }

    /// Takes the question of a subagent out of the registry and gives it the answer.
    pub(super) fn pass_back(&mut self, id: PendingId, decision: Decision, by: By, memory: Memory) {
        let is_approval = match self.pending.awaited(id) {
            Some(Awaited::PassedOn(asker)) => matches!(asker.question, Question::Approval(_)),
            _ => return,
        };
        let is_shown = !is_approval || self.approvals.is_open(id);
        // Nobody has seen it, so nobody can have answered it.
        if !is_shown && by == By::End(AskEnd::Answered) {
            return;
        }
        self.approvals.remove(id);
        let Some(Awaited::PassedOn(asker)) = self.pending.remove(id) else { return };
        let Asker { id: ask, question, answers, .. } = asker;
        let number = match &question {
            Question::Approval(approval) => {
                if is_shown {
                    self.question_closed(id, decision.clone(), by.cause(), approval.reason.clone());
                    self.answer_others(approval, &decision, memory);
                }
                approval.terms.number
            }
            Question::Dialog(_) => {
                let decision = decision.clone();
                self.emit(Event::AskResolved { id: AskId::from(id), decision, cause: by.cause() });
                0
            }
        };
        let _ = answers.send(PassedAnswer { id: ask, decision, by, number });
    }

    /// Ends the question of a subagent that nobody can or did answer.
    pub(super) fn passed_on_over(&mut self, id: PendingId, cause: AskEnd) {
        if cause == AskEnd::TimedOut {
            self.approvals.client_was_silent();
            return self.resolve_passed_on(id, Decision::Expired, By::End(cause), Memory::Done);
        }
        self.withdraw_passed_on(id);
    }

    /// Closes the questions of the subagents of a call that has ended.
    pub(super) fn withdraw_questions_of(&mut self, call: usize) {
        for id in self.pending.passed_on(call) {
            self.withdraw_passed_on(id);
        }
    }

    /// Closes the question of a subagent that does not need an answer any more.
    pub(super) fn withdraw_passed_on(&mut self, id: PendingId) {
        let denied = Decision::Deny { reason: None };
        self.resolve_passed_on(id, denied, By::End(AskEnd::Withdrawn), Memory::Done);
    }
}
