//! Questions of subagents. Nobody is connected to a subagent, so its parent asks for it.

use bowline_core::ask::{Ask, AskAnswer, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// A question that a subagent asks.
#[derive(Debug)]
pub(crate) struct PassedOn {
    /// The id that the subagent knows it by.
    pub id: AskId,
    pub question: Question,
    /// Leads to the subagent.
    pub answers: mpsc::UnboundedSender<AskAnswer>,
    /// Cancelled when the subagent does not need an answer any more.
    pub withdrawn: CancellationToken,
}

/// Where the answer to a question goes that was passed on.
#[derive(Debug)]
pub(crate) struct Asker {
    /// The call that started the subagent, by its place in the answer.
    pub call: usize,
    id: AskId,
    pub question: Question,
    answers: mpsc::UnboundedSender<AskAnswer>,
    /// Cancelled when the subagent does not need an answer any more.
    pub withdrawn: CancellationToken,
}

impl Session {
    /// Asks the user what a subagent of a call wants to know.
    pub(super) fn pass_on(&mut self, call: usize, passed_on: PassedOn) {
        let PassedOn { id, question, answers, withdrawn } = passed_on;
        let code = match &question {
            Question::Approval(approval) => Some(approval.terms.code),
            Question::Dialog(_) => None,
        };
        if let Some(why) = code.and_then(|code| self.cannot_ask(code)) {
            let decision = Decision::NotAsked { why };
            let _ = answers.send(AskAnswer { id, decision });
            return;
        }
        let asker = Asker { call, id, question: question.clone(), answers, withdrawn: withdrawn.clone() };
        let id = self.pending.start(Awaited::PassedOn(asker), |reporter| async move {
            withdrawn.cancelled().await;
            reporter.send(Step::DialogOver(AskEnd::Withdrawn)).await;
        });
        if code.is_some() {
            return self.queue_question(id);
        }
        let token = self.agent.clock().token();
        self.emit(Event::Ask(Ask { id: id.into(), token, question }));
    }

    /// Gives a subagent the answer to its question.
    pub(super) fn resolve_passed_on(&mut self, id: PendingId, decision: Decision, cause: AskEnd) {
        let is_approval = match self.pending.awaited(id) {
            Some(Awaited::PassedOn(asker)) => matches!(asker.question, Question::Approval(_)),
            _ => return,
        };
        let is_shown = !is_approval || self.approvals.is_open(id);
        // Nobody has seen it, so nobody can have answered it.
        if !is_shown && cause == AskEnd::Answered {
            return;
        }
        self.approvals.remove(id);
        let Some(Awaited::PassedOn(asker)) = self.pending.remove(id) else { return };
        match &asker.question {
            Question::Approval(approval) if is_shown => {
                self.question_closed(id, decision.clone(), cause, approval.reason.clone());
            }
            Question::Approval(_) => {}
            Question::Dialog(_) => {
                self.emit(Event::AskResolved { id: AskId::from(id), decision: decision.clone(), cause });
            }
        }
        let _ = asker.answers.send(AskAnswer { id: asker.id, decision });
        self.show_next_question();
    }

    /// Ends the question of a subagent that nobody can or did answer.
    pub(super) fn passed_on_over(&mut self, id: PendingId, cause: AskEnd) {
        if cause == AskEnd::TimedOut {
            self.approvals.client_was_silent();
            return self.resolve_passed_on(id, Decision::Expired, cause);
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
        self.resolve_passed_on(id, Decision::Deny { reason: None }, AskEnd::Withdrawn);
    }
}
