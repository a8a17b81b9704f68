//! Questions to the user about tool calls. A call that is asked about waits; the others go on. The user sees one
//! question at a time.

use std::sync::Arc;
use std::time::Instant;

use bowline_core::ask::{
    Approval, ApprovalKind, Ask, AskAnswer, AskId, Decision, Question, ReasonCode, Remembered, Terms,
};
use bowline_core::event::{AskEnd, Event};
use bowline_core::hook::HookEvent;
use bowline_core::sandbox::Grants;
use bowline_core::tool::{ToolDisplay, ToolTraits};
use bowline_core::ui::{DialogAnswer, Display, NotifyLevel};
use bowline_tools::{HostAnswer, Outcome};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Session, host_questions};
use crate::call_digest::call_digest;
use crate::call_gate::{Asking, Consent};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};
use crate::session_notes::approval_entry;
use crate::tool_call_states::{Batch, CallState};

/// What the model reads of a call that the user did not allow, before what the user says and before what it may do.
const DENIED: &str = "The user rejected this call.";
const AFTER_DENIAL: &str =
    "Go on without it, or ask the user what to do instead; do not try to get the same done in another way.";

/// What the model reads of a call that nobody decided about.
const EXPIRED: &str = "Nobody answered in time whether this call may run, so it did not. Go on without it, or do what needs \
                       no consent.";

/// What the model reads of a call that an abort overtook.
const ABORTED: &str = "Aborted while waiting for the user's decision.";

/// What the model reads of a call that is not what the user was shown.
const CHANGED: &str = "The call has changed since the user was asked about it, so it did not run.";

/// Why nobody can be asked after the end of the client's input.
const INPUT_ENDED: &str = "the client is gone";

/// What extensions are told of the kind of the question.
const APPROVAL_KIND: &str = "confirm";

/// A question about a call or a host that is not decided yet.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    pub subject: Subject,
    pub approval: Approval,
    /// When the user saw it, in milliseconds since 1970.
    shown_at: Option<u64>,
}

/// What an answer is for.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A call of the current run, by its place in the answer.
    Call { index: usize },
    /// Whoever wants to reach a host. The token is cancelled when they do not any more.
    Host { name: String, reply: oneshot::Sender<HostAnswer>, withdrawn: CancellationToken },
}

impl Subject {
    /// Tells whether nobody waits for the answer any more.
    fn is_withdrawn(&self) -> bool {
        matches!(self, Self::Host { withdrawn, .. } if withdrawn.is_cancelled())
    }
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    End(AskEnd),
    /// The answer to an equal question.
    EqualCall,
    /// What the user agreed to while the question waited.
    Remembered,
}

impl By {
    /// Returns what those are told who see that the question ends.
    pub fn cause(self) -> AskEnd {
        match self {
            Self::End(cause) => cause,
            Self::EqualCall | Self::Remembered => AskEnd::Answered,
        }
    }
}

/// Whether an answer that is for more than a call is yet to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Due,
    /// Whoever asked the user has done so.
    Done,
}

impl Session {
    /// Asks the user whether a call may run; where the client cannot be asked, it may not.
    pub(super) fn ask_about_call(&mut self, index: usize, asking: Asking, started: Instant) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        if let Some(why) = self.cannot_ask(asking.code) {
            return self.end_call(index, Outcome::error(not_asked(why, &asking.reason)), started);
        }
        let (call_id, tool, arguments) = (call.id.clone(), call.tool.clone(), Arc::clone(&call.arguments));
        let kind = kind_of(self.instructions.toolbox().traits_of(&tool));
        let Asking { code, reason, target, grants, rule } = asking;
        let terms = Terms { code, kind, target, ..Terms::default() };
        let mut approval = Approval { call_id, tool, arguments, reason, terms };
        self.complete_terms(&mut approval, grants, rule);
        let subject = Subject::Call { index };
        let question =
            self.pending.ask(Awaited::Question(Box::new(OpenQuestion { subject, approval, shown_at: None })));
        self.set_call_state(index, CallState::Asked { question, started });
        self.queue_question(question);
    }

    /// Asks the user whether tools may reach a host.
    pub(super) fn ask_about_host(&mut self, mut approval: Approval, asking: Asking, subject: Subject) {
        approval.reason = asking.reason;
        approval.terms.code = asking.code;
        approval.terms.kind = ApprovalKind::Network;
        self.complete_terms(&mut approval, asking.grants, asking.rule);
        let open = OpenQuestion { subject, approval, shown_at: None };
        let question = self.pending.ask(Awaited::Question(Box::new(open)));
        self.queue_question(question);
    }

    /// Returns why the user cannot be asked, if so, as the second half of a sentence.
    pub(super) fn cannot_ask(&self, code: ReasonCode) -> Option<&'static str> {
        let policy = self.agent.policy();
        let can_ask = match code {
            ReasonCode::Extension => policy.asks_questions(),
            _ => policy.asks_about_calls(),
        };
        if !can_ask {
            return Some("the client cannot ask for it");
        }
        if self.has_input_ended {
            return Some(INPUT_ENDED);
        }
        if self.approvals.client_is_silent() && code != ReasonCode::Extension {
            return Some("the client does not answer questions");
        }
        self.approvals.is_full().then_some("too many questions are waiting for an answer")
    }

    /// Adds what consent would mean.
    fn complete_terms(&self, approval: &mut Approval, grants: Grants, rule: Option<serde_json::Value>) {
        let settings = &self.agent.settings().approvals;
        let directory = self.transcript.working_directory();
        let terms = &mut approval.terms;
        let target = terms.target.as_deref();
        terms.digest = call_digest(&approval.tool, &approval.arguments, directory, target, &grants);
        terms.working_directory = directory.to_owned();
        terms.grants = grants;
        terms.form = self.approvals.form(settings);
        if terms.code != ReasonCode::Extension {
            terms.timeout = settings.timeout;
            terms.may_remember.push(Remembered::Session);
            terms.may_remember.extend(rule.as_ref().map(|_| Remembered::Project));
        }
        terms.rule = rule;
    }

    /// Shows a question, as soon as no other is shown.
    pub(super) fn queue_question(&mut self, id: PendingId) {
        self.approvals.add(id);
        self.show_next_question();
    }

    fn show_question(&mut self, id: PendingId) {
        let (now, form) = (self.now(), self.approvals.form(&self.agent.settings().approvals));
        let number = self.approvals.number();
        let question = match self.pending.awaited_mut(id) {
            Some(Awaited::Question(open)) => {
                open.shown_at = Some(now);
                open.approval.terms.form = form;
                open.approval.terms.number = number;
                Box::new(open.approval.clone())
            }
            Some(Awaited::PassedOn(asker)) => {
                let Question::Approval(approval) = &mut asker.question else { return };
                approval.terms.form = form;
                approval.terms.number = number;
                approval.clone()
            }
            _ => return,
        };
        self.limit_question(id);
        // Whoever calls the user to the screen needs to know of it, as of any dialog.
        let title = question.reason.clone();
        self.tell_extensions(&HookEvent::UiPromptStart { kind: APPROVAL_KIND, title });
        let token = self.agent.clock().token();
        self.emit(Event::Ask(Ask { id: id.into(), token, question: Question::Approval(question) }));
    }

    /// Starts the time in which a question must be answered. A subagent leaves that to its parent, where the user is.
    fn limit_question(&mut self, id: PendingId) {
        let is_child = self.subagents.place.depth > 0;
        let (timeout, withdrawn) = match self.pending.awaited(id) {
            Some(Awaited::Question(open)) => {
                let withdrawn = match &open.subject {
                    Subject::Host { withdrawn, .. } => Some(withdrawn.clone()),
                    Subject::Call { .. } => None,
                };
                (open.approval.terms.timeout, withdrawn)
            }
            Some(Awaited::PassedOn(asker)) => match &asker.question {
                Question::Approval(approval) => (approval.terms.timeout, Some(asker.withdrawn.clone())),
                Question::Dialog(_) => return,
            },
            _ => return,
        };
        let timeout = timeout.filter(|_| !is_child);
        if timeout.is_none() && withdrawn.is_none() {
            return;
        }
        self.pending.work_on(id, |reporter| async move {
            let expires = async {
                match timeout {
                    Some(timeout) => tokio::time::sleep(timeout).await,
                    None => std::future::pending().await,
                }
            };
            let is_withdrawn = async {
                match withdrawn {
                    Some(withdrawn) => withdrawn.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let cause = tokio::select! {
                () = expires => AskEnd::TimedOut,
                () = is_withdrawn => AskEnd::Withdrawn,
            };
            reporter.send(Step::DialogOver(cause)).await;
        });
    }

    /// Takes the user's answer. One that is late, unknown or given twice is ignored.
    pub(super) fn question_answered(&mut self, answer: AskAnswer) {
        let AskAnswer { id, decision } = answer;
        let id = PendingId::from(id);
        if !matches!(decision, Decision::Expired | Decision::NotAsked { .. }) {
            self.approvals.client_answered();
        }
        match self.pending.awaited(id) {
            Some(Awaited::Question(_)) if !self.approvals.is_open(id) => {}
            Some(Awaited::Question(open)) => {
                let Some((decision, cause)) = accepted(decision, &open.approval.terms) else { return };
                self.close_question(id, decision, By::End(cause), Memory::Due);
            }
            Some(Awaited::PassedOn(asker)) => {
                let (decision, cause) = match &asker.question {
                    Question::Approval(approval) => match accepted(decision, &approval.terms) {
                        Some(accepted) => accepted,
                        None => return,
                    },
                    Question::Dialog(_) => (decision, AskEnd::Answered),
                };
                self.resolve_passed_on(id, decision, By::End(cause), Memory::Due);
            }
            Some(Awaited::Dialog(_)) => {
                let answer =
                    if let Decision::Dialog(answer) = decision { answer } else { DialogAnswer::Cancelled };
                self.close_dialog(id, answer, AskEnd::Answered);
            }
            _ => {}
        }
    }

    /// Ends a question that nobody can or did answer.
    pub(super) fn question_over(&mut self, id: PendingId, cause: AskEnd) {
        let decision = match cause {
            AskEnd::TimedOut => Decision::Expired,
            AskEnd::Answered | AskEnd::Withdrawn => Decision::Deny { reason: None },
        };
        if cause == AskEnd::TimedOut {
            self.approvals.client_was_silent();
        }
        self.close_question(id, decision, By::End(cause), Memory::Due);
    }

    /// Decides a question that the user sees, and those that wait if the answer is for them too.
    pub(super) fn close_question(&mut self, id: PendingId, decision: Decision, by: By, memory: Memory) {
        let Some(open) = self.take_question(id, &decision, by) else { return };
        self.answer_others(&open.approval, &decision, memory);
        self.apply_decision(open, decision);
        self.show_next_question();
        self.continue_batch();
    }

    pub(super) fn remember(&mut self, approval: &Approval, remembered: Remembered) {
        let Terms { working_directory, digest, rule, grants, .. } = &approval.terms;
        // What runs outside of the sandbox stays a matter of single commands.
        let granted = Grants { unsandboxed: false, ..grants.clone() };
        if let Some(confinement) = &self.instructions.toolbox().options().confinement
            && !granted.is_empty()
        {
            confinement.grant(&granted);
        }
        let consent = Consent { working_directory, digest, rule: rule.as_ref() };
        let Some(work) = self.agent.gate().remember(&consent, remembered) else { return };
        self.pending.start(Awaited::Remembered, |reporter| async move {
            let result = work.await;
            reporter.send(Step::Remembered(result)).await;
        });
    }

    /// Reports a decision that could not be written down. It holds for the session all the same.
    pub(super) fn remembered(&mut self, id: PendingId, result: Result<(), String>) {
        self.pending.remove(id);
        if let Err(error) = result {
            let message =
                format!("The approval holds for this session only, because it cannot be saved: {error}");
            self.show(Display::Notify { message, level: Some(NotifyLevel::Warning) });
        }
    }

    /// Does what was decided.
    pub(super) fn apply_decision(&mut self, open: OpenQuestion, decision: Decision) {
        let OpenQuestion { subject, approval, .. } = open;
        let index = match subject {
            Subject::Call { index } => index,
            Subject::Host { name, reply, .. } => {
                let answer = host_questions::answer(&decision);
                self.approvals.set_host(name, answer);
                let _ = reply.send(answer);
                return;
            }
        };
        let Some(started) = self.batch().and_then(|batch| batch.call(index)?.started()) else { return };
        let refusal = match decision {
            Decision::Allow | Decision::AllowFor(_) => {
                return self.run_approved(index, &approval.terms, started);
            }
            Decision::Deny { reason: Some(reason) } if !reason.is_empty() => {
                format!("{DENIED} {reason}\n{AFTER_DENIAL}")
            }
            Decision::Deny { .. } | Decision::Dialog(_) => format!("{DENIED} {AFTER_DENIAL}"),
            Decision::Expired => EXPIRED.to_owned(),
            Decision::NotAsked { why } => not_asked(why, &approval.reason),
        };
        self.end_call(index, Outcome::error(refusal), started);
    }

    /// Runs a call that the user agreed to, with what it was granted, if it is the one that they saw.
    fn run_approved(&mut self, index: usize, terms: &Terms, started: Instant) {
        let directory = self.transcript.working_directory();
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let target = terms.target.as_deref();
        if call_digest(&call.tool, &call.arguments, directory, target, &terms.grants) != terms.digest {
            return self.end_call(index, Outcome::error(CHANGED), started);
        }
        self.check_approved(index, terms, started);
    }

    /// Ends every question with a no, because the client's input has ended. Later ones are not asked.
    pub(super) fn input_ended(&mut self) {
        self.has_input_ended = true;
        self.withdraw_dialogs();
        // Those that wait end first, so that none of them is shown.
        for id in self.approvals.all() {
            let decision = Decision::NotAsked { why: INPUT_ENDED };
            match self.pending.awaited(id) {
                Some(Awaited::PassedOn(_)) => {
                    self.resolve_passed_on(id, decision, By::End(AskEnd::Withdrawn), Memory::Done);
                }
                _ => self.close_question(id, decision, By::End(AskEnd::Withdrawn), Memory::Done),
            }
        }
    }

    /// Ends every call that waits for the user, because the run is aborted.
    pub(super) fn abort_questions(&mut self) {
        self.withdraw_host_questions();
        let denied = self.deny_questions();
        if denied.is_empty() {
            return;
        }
        for (index, started) in denied {
            self.end_call(index, Outcome::error(ABORTED), started);
        }
        self.continue_batch();
    }

    /// Closes every open question, because nobody can answer it any longer. Returns the calls with when they were taken
    /// up.
    pub(super) fn deny_questions(&mut self) -> Vec<(usize, Instant)> {
        let questions = self.batch().map(Batch::questions).unwrap_or_default();
        let denied = questions.into_iter().filter_map(|(index, id)| {
            let started = self.batch()?.call(index)?.started()?;
            self.take_question(id, &Decision::Deny { reason: None }, By::End(AskEnd::Withdrawn));
            Some((index, started))
        });
        denied.collect()
    }

    /// Closes the questions about hosts, because whatever wanted to reach them is over.
    pub(super) fn withdraw_host_questions(&mut self) {
        for id in self.pending.host_questions() {
            let denied = Decision::Deny { reason: None };
            if let Some(open) = self.take_question(id, &denied, By::End(AskEnd::Withdrawn)) {
                self.apply_decision(open, denied);
            }
        }
    }

    /// Takes a question out of the registry and says what was decided.
    pub(super) fn take_question(
        &mut self,
        id: PendingId,
        decision: &Decision,
        by: By,
    ) -> Option<OpenQuestion> {
        self.approvals.remove(id);
        let Some(Awaited::Question(open)) = self.pending.remove(id) else { return None };
        if open.shown_at.is_some() || !matches!(by, By::End(_)) {
            self.note_decision(&open, decision, by);
        }
        if open.shown_at.is_some() {
            self.question_closed(id, decision.clone(), by.cause(), open.approval.reason.clone());
        }
        Some(*open)
    }

    /// Shows the question that has waited longest, unless one is shown or it is not wanted any more.
    pub(super) fn show_next_question(&mut self) {
        while let Some(next) = self.approvals.next() {
            let is_withdrawn = match self.pending.awaited(next) {
                Some(Awaited::Question(open)) => open.subject.is_withdrawn(),
                Some(Awaited::PassedOn(asker)) => asker.withdrawn.is_cancelled(),
                _ => true,
            };
            if !is_withdrawn {
                return self.show_question(next);
            }
            self.approvals.remove(next);
            let denied = Decision::Deny { reason: None };
            if let Some(open) = self.take_question(next, &denied, By::End(AskEnd::Withdrawn)) {
                self.apply_decision(open, denied);
            }
        }
    }

    /// Says that the user does not see a question any more.
    pub(super) fn question_closed(
        &mut self,
        id: PendingId,
        decision: Decision,
        cause: AskEnd,
        title: String,
    ) {
        self.emit(Event::AskResolved { id: AskId::from(id), decision, cause });
        self.tell_extensions(&HookEvent::UiPromptEnd { kind: APPROVAL_KIND, title });
    }

    /// Writes down who decided what.
    fn note_decision(&mut self, open: &OpenQuestion, decision: &Decision, by: By) {
        let by = match by {
            By::End(AskEnd::Answered) => "client",
            By::End(AskEnd::TimedOut) => "timeout",
            By::End(AskEnd::Withdrawn) => "abort",
            By::EqualCall => "equal-call",
            By::Remembered => "remembered",
        };
        let now = self.now();
        let entry = approval_entry(&open.approval, decision, by, open.shown_at.unwrap_or(now), now);
        self.append_note(entry);
    }
}

/// Returns what an answer means and how it ends a question; none if it is no answer to such a question.
pub(super) fn accepted(decision: Decision, terms: &Terms) -> Option<(Decision, AskEnd)> {
    Some(match decision {
        Decision::Expired => (Decision::Expired, AskEnd::TimedOut),
        Decision::NotAsked { .. } => (decision, AskEnd::Withdrawn),
        // What was not offered is no answer, and no answer is a no.
        Decision::AllowFor(remembered) if !terms.may_remember.contains(&remembered) => {
            (Decision::Deny { reason: None }, AskEnd::Answered)
        }
        Decision::Dialog(_) => return None,
        decision => (decision, AskEnd::Answered),
    })
}

/// Returns what the model reads of a call that nobody could be asked about.
fn not_asked(why: &str, reason: &str) -> String {
    format!(
        "This call needs the user's consent, and {why}: {reason} Go on without it, or do what needs no consent."
    )
}

fn kind_of(traits: Option<&ToolTraits>) -> ApprovalKind {
    match traits {
        Some(traits) if matches!(traits.display, ToolDisplay::Command { .. }) => ApprovalKind::Command,
        Some(traits) if traits.path_argument.is_some() => ApprovalKind::File,
        _ => ApprovalKind::Tool,
    }
}
