//! Commands about what users are asked.

use bowline_core::ask::{ApprovalForm, AskAnswer, AskId, Decision, Question, Remembered};
use bowline_core::host::ClientFiles;
use bowline_core::reply::{Answer, ApprovalState, Refusal, RefusalCode};
use bowline_core::sandbox::AskMode;
use bowline_core::ui::{Screen, WidgetInput};

use crate::pending::Awaited;
use crate::session::Session;

impl Session {
    /// Changes when the user is asked. A client may be stricter than the user and take that back, and less strict only if
    /// the user says so.
    pub(super) fn set_approvals(&mut self, ask: AskMode) -> Result<Answer, Refusal> {
        let current = self.agent.gate().ask_mode();
        let wanted = self.agent.gate().wanted_ask_mode();
        if ask < current.min(wanted) && !self.agent.settings().client_may_widen {
            let text = format!(
                "A client cannot change \"ask\" from {} to {}, which is less strict, unless bowline is started with \
                 --client-may-widen",
                current.min(wanted).as_str(),
                ask.as_str()
            );
            return Err(Refusal::new(RefusalCode::Forbidden, text));
        }
        if ask != current && !self.agent.gate().set_ask_mode(ask) {
            return Err(Refusal::new(RefusalCode::InvalidArgument, "Nothing here can ask about calls"));
        }
        self.renew_unsandboxed();
        Ok(Answer::Done)
    }

    /// Notes how the client wants to be asked, and what it wants to know.
    pub(super) fn set_client_capabilities(
        &mut self,
        approvals: Option<ApprovalForm>,
        changes: Option<bool>,
        screen: Option<Option<Screen>>,
        files: Option<ClientFiles>,
    ) -> Answer {
        if let Some(form) = approvals {
            self.approvals.client_declared(form == ApprovalForm::Record);
        }
        if let Some(changes) = changes {
            self.switches.shows_changes = changes;
        }
        if let Some(screen) = screen {
            self.switches.screen = screen;
            self.mirror();
        }
        if let Some(files) = files {
            self.set_client_files(files);
        }
        Answer::Done
    }

    /// Passes what the user does on to the extension that shows the component.
    pub(super) fn widget_input(&self, key: &str, input: &WidgetInput) -> Result<Answer, Refusal> {
        if self.extensions.iter().any(|extension| extension.widget_input(key, input)) {
            return Ok(Answer::Done);
        }
        Err(Refusal::new(
            RefusalCode::InvalidArgument,
            format!("No component is shown under the key {key:?}"),
        ))
    }

    /// Takes the answer to a question about a call. An answer that cannot be understood is a no.
    pub(super) fn answer_approval(
        &mut self,
        approval: &str,
        decision: &str,
        message: Option<String>,
    ) -> Result<Answer, Refusal> {
        let number = approval.strip_prefix("ap_").and_then(|number| number.parse().ok());
        // Nobody was told of a number that is written in another way.
        let number = number.filter(|number: &u64| format!("ap_{number}") == approval);
        let open = number.and_then(|number| self.approvals.with_number(number));
        let Some(id) = open.map(AskId::from) else {
            self.approvals.client_answered();
            let text = format!("No approval {approval:?} is open: it was decided, or never asked");
            return Err(Refusal::new(RefusalCode::InvalidArgument, text));
        };
        let reason = message.filter(|message| !message.trim().is_empty());
        let understood = match decision {
            "once" => Some(Decision::Allow),
            "session" => Some(Decision::AllowFor(Remembered::Session)),
            "project" => Some(Decision::AllowFor(Remembered::Project)),
            "deny" => Some(Decision::Deny { reason: reason.clone() }),
            _ => None,
        };
        let offered = understood.filter(|decision| self.is_offered(id, decision));
        let is_understood = offered.is_some();
        let decision_made = offered.unwrap_or(Decision::Deny { reason });
        self.question_answered(AskAnswer { id, decision: decision_made });
        if is_understood {
            return Ok(Answer::Done);
        }
        let text = format!("{decision:?} is none of the options, so the call was denied");
        Err(Refusal::new(RefusalCode::InvalidArgument, text))
    }

    fn is_offered(&self, id: AskId, decision: &Decision) -> bool {
        let Decision::AllowFor(remembered) = decision else { return true };
        match self.pending.awaited(id.into()) {
            Some(Awaited::Question(open)) => open.approval.terms.may_remember.contains(remembered),
            Some(Awaited::PassedOn(asker)) => match &asker.question {
                Question::Approval(approval) => approval.terms.may_remember.contains(remembered),
                Question::Dialog(_) => false,
            },
            _ => false,
        }
    }

    /// Returns how the user is asked, unless that is as usual.
    pub(super) fn approval_state(&self) -> Option<ApprovalState> {
        let ask = self.agent.gate().ask_mode();
        let client_answers = !self.approvals.client_is_silent();
        (ask != AskMode::Never || !client_answers).then_some(ApprovalState { ask, client_answers })
    }
}
