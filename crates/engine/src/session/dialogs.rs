//! Dialogs of extensions. Each waits for the user until it is answered, times out or is withdrawn; whoever opened it
//! gets an answer in every case.

use bowline_core::ask::{Ask, AskId, Decision, Question};
use bowline_core::event::{AskEnd, Event};
use bowline_core::hook::HookEvent;
use bowline_core::policy::Questions;
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// How many dialogs can be open at once. Further ones are cancelled at once.
const MOST_DIALOGS: usize = 100;

/// A dialog that is open.
#[derive(Debug)]
pub(crate) struct OpenDialog {
    kind: DialogKind,
    title: String,
    reply: oneshot::Sender<DialogAnswer>,
}

impl Session {
    /// Opens a dialog; where the client cannot be asked, or it was withdrawn already, it is cancelled at once.
    pub(super) fn open_dialog(
        &mut self,
        dialog: Dialog,
        cancel: CancellationToken,
        reply: oneshot::Sender<DialogAnswer>,
    ) {
        let cannot_ask = self.has_input_ended || self.agent.policy().questions == Questions::Assumed;
        let are_too_many = self.pending.dialogs().len() >= MOST_DIALOGS;
        if cannot_ask || are_too_many || self.shutting_down || cancel.is_cancelled() {
            let _ = reply.send(DialogAnswer::Cancelled);
            return;
        }
        let Dialog { kind, title, timeout } = dialog.clone();
        let event = HookEvent::UiPromptStart { kind: kind.name(), title: title.clone() };
        let awaited = Awaited::Dialog(OpenDialog { kind, title, reply });
        let id = self.pending.start(awaited, |reporter| async move {
            let time_is_up = async {
                match timeout {
                    Some(timeout) => tokio::time::sleep(timeout).await,
                    None => std::future::pending().await,
                }
            };
            let cause = tokio::select! {
                () = time_is_up => AskEnd::TimedOut,
                () = cancel.cancelled() => AskEnd::Withdrawn,
            };
            reporter.send(Step::DialogOver(cause)).await;
        });
        self.tell_extensions(&event);
        let token = self.agent.clock().token();
        self.emit(Event::Ask(Ask { id: id.into(), token, question: Question::Dialog(dialog) }));
    }

    /// Closes a dialog and tells whoever opened it the answer.
    pub(super) fn close_dialog(&mut self, id: PendingId, answer: DialogAnswer, cause: AskEnd) {
        let Some(Awaited::Dialog(open)) = self.pending.remove(id) else { return };
        let answer = open.kind.accept(answer);
        let decision = Decision::Dialog(answer.clone());
        self.emit(Event::AskResolved { id: AskId::from(id), decision, cause });
        self.tell_extensions(&HookEvent::UiPromptEnd { kind: open.kind.name(), title: open.title });
        let _ = open.reply.send(answer);
    }

    /// Closes every open dialog, because nobody can answer it any longer, and stops the logins that may be asking.
    pub(super) fn withdraw_dialogs(&mut self) {
        std::mem::take(&mut self.logins).cancel();
        for id in self.pending.dialogs() {
            self.close_dialog(id, DialogAnswer::Cancelled, AskEnd::Withdrawn);
        }
    }

    /// Shows something to the user, if the client can show it. Extensions are told in any case: they may know a way.
    pub(super) fn show(&mut self, display: Display) {
        if let Display::Notify { message, level } = &display {
            self.tell_extensions(&HookEvent::UiNotify { message: message.clone(), level: *level });
        }
        if self.agent.policy().questions == Questions::Assumed {
            return;
        }
        let token = self.agent.clock().token();
        self.emit(Event::Display { token, display });
    }
}
