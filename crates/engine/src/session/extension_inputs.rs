//! What extensions ask of their session: one arm each.

use std::sync::Arc;

use bowline_core::command::{Command, Draft, Origin, Queue, Request};
use bowline_core::event::Event;
use bowline_core::hook::CustomMessageDraft;
use bowline_core::message::join_text;
use bowline_core::reply::{Answer, Refusal};
use bowline_core::ui::ExtensionError;
use bowline_session::EntryBody;
use tokio::sync::oneshot;

use super::admission::shutting_down;
use super::prompting::{Receipt, Submission};
use super::session_hooks::STALE;
use super::{Continuation, Session};
use crate::attachment::EarlyInput;
use crate::extension::{Delivery, ExtensionInput, SessionContext, ToolSource};
use crate::hook_lane::AfterLane;
use crate::input::Output;
use crate::instructions::{BuiltPrompt, Prompt};

/// The name of the commands that extensions send.
const EXTENSION_COMMAND: &str = "extension";
/// The name of the messages of extensions that start runs.
const CUSTOM_MESSAGE: &str = "send_message";
/// The name of the messages that extensions send as the user would.
const EXTENSION_MESSAGE: &str = "send_user_message";
/// What stands for the extension in errors that cannot be traced to one.
pub(super) const RUNTIME: &str = "<runtime>";

/// The commands of extensions that were not replied to yet.
#[derive(Debug, Default)]
pub(crate) struct ExtensionReplies {
    last_id: u64,
    waiting: Vec<(Arc<str>, ReplySender)>,
}

type ReplySender = oneshot::Sender<Result<Answer, Refusal>>;

impl ExtensionReplies {
    fn add(&mut self, reply: ReplySender) -> Origin {
        self.last_id += 1;
        let id: Arc<str> = self.last_id.to_string().into();
        self.waiting.push((Arc::clone(&id), reply));
        Origin { id: Some(id), name: EXTENSION_COMMAND, echo: None }
    }

    fn take(&mut self, origin: &Origin) -> Option<ReplySender> {
        let id = origin.id.as_ref()?;
        let index = self.waiting.iter().position(|(waiting, _)| waiting == id)?;
        Some(self.waiting.swap_remove(index).1)
    }
}

impl Session {
    /// Handles what an extension of a host sends.
    pub(super) fn extension_input(&mut self, host: usize, input: ExtensionInput) {
        match input {
            ExtensionInput::Ready => {
                if self.extensions.set_ready(host) {
                    self.extensions_ready();
                }
            }
            ExtensionInput::Changed => {
                self.extensions.refresh();
                if self.attachment.is_started() && self.models.missing().is_some() {
                    self.look_up_models_again();
                }
            }
            ExtensionInput::Tools { extension, tools } => {
                let source = ToolSource::Extension { host, name: Arc::clone(&extension) };
                let taken = self.instructions.offer_tools(&source, tools);
                for name in taken {
                    let error =
                        format!("Another extension has a tool named {name} already; this one is not used.");
                    self.extension_failed(&extension, "register", error);
                }
            }
            ExtensionInput::Commands { extension, commands } => {
                self.extensions.refresh();
                self.extensions.set_commands(host, extension, commands);
            }
            ExtensionInput::SetActiveTools { names } => self.instructions.enable_tools(names),
            ExtensionInput::Dialog { dialog, cancel, reply } => self.open_dialog(dialog, cancel, reply),
            ExtensionInput::Display(display) => self.show(display),
            ExtensionInput::Failed(error) => self.emit(Event::ExtensionFailed(error)),
            ExtensionInput::Command { command, reply } => {
                let origin = self.extension_replies.add(reply);
                // What waits may wait for the hook in which the extension asks.
                if matches!(command, Command::GetEntries { .. } | Command::GetCommands) {
                    self.unanswered.push(origin.clone());
                    return self.carry_out(Request { origin, command });
                }
                self.receive(Request { origin, command });
            }
            ExtensionInput::SendMessage { triggers_turn: Some(true), .. }
            | ExtensionInput::SendUserMessage { .. }
                if self.attachment.is_leaving() =>
            {
                self.extension_failed(RUNTIME, EXTENSION_MESSAGE, STALE);
            }
            // Nobody is there any more for the run that it would start.
            ExtensionInput::SendMessage { triggers_turn: Some(true), .. }
            | ExtensionInput::SendUserMessage { .. }
                if self.shutting_down =>
            {
                self.extension_failed(RUNTIME, EXTENSION_MESSAGE, shutting_down().message);
            }
            // The run would go past the extensions that have not registered yet, and some may guard its tools.
            ExtensionInput::SendMessage { triggers_turn: Some(true), .. }
            | ExtensionInput::SendUserMessage { .. }
                if !self.attachment.is_started() =>
            {
                if !self.attachment.keep(EarlyInput { host, input }) {
                    let error = "too many messages wait for the start of the session";
                    self.extension_failed(RUNTIME, EXTENSION_MESSAGE, error);
                }
            }
            // The end of the run before is still being shown to extensions, and clients do not know of it yet.
            ExtensionInput::SendMessage { triggers_turn: Some(true), .. }
            | ExtensionInput::SendUserMessage { .. }
                if self.activity.is_idle() && !self.lane.is_idle() =>
            {
                self.deferred_messages.push(EarlyInput { host, input });
                self.after_events_shown(AfterLane::TakeDeferred);
            }
            ExtensionInput::SendMessage { message, delivery, triggers_turn } => {
                self.send_custom_message(message, delivery, triggers_turn);
            }
            ExtensionInput::SendUserMessage { message, queue, expands_templates } => {
                let origin = Origin { id: None, name: EXTENSION_MESSAGE, echo: None };
                self.unanswered.push(origin.clone());
                let submission = Submission::new(origin, message, Receipt::Due);
                self.submit_from_extension(submission, queue, expands_templates);
            }
            ExtensionInput::AppendEntry { custom_type, data } => {
                match self.transcript.append(EntryBody::Custom { custom_type, data }) {
                    Ok(entry) => self.announce_entry(&entry),
                    Err(refusal) => self.extension_failed(RUNTIME, "append_entry", refusal.message),
                }
            }
            ExtensionInput::WaitIdle { reply } => {
                self.idle_waiters.push(reply);
                self.release_idle_waiters();
            }
            ExtensionInput::GetContext { reply } => {
                let messages = self.transcript.messages().to_vec();
                let changes = self.instructions.run_changes();
                let context = move |built: BuiltPrompt| SessionContext {
                    system_prompt: built.with_changes(changes.as_deref()),
                    parts: built.parts,
                    messages,
                };
                match self.system_prompt() {
                    Prompt::Built(built) => drop(reply.send(context(built))),
                    // Files are read for it.
                    Prompt::Unbuilt(unbuilt) => drop(tokio::spawn(async move {
                        let _ = reply.send(context(unbuilt.build_in_background().await));
                    })),
                }
            }
            ExtensionInput::FindTool { name, builtin, reply } => {
                let _ = reply.send(self.find_tool(&name, builtin));
            }
            ExtensionInput::Reload { extension, reply } => {
                let _ = reply.send(self.ask_for_reload(extension));
            }
            ExtensionInput::Shutdown => self.quits_when_idle = true,
            ExtensionInput::GiveUp => self.outputs.push(Output::Quit { has_failed: true }),
        }
    }

    /// Reports a failure of an extension.
    pub(super) fn extension_failed(&mut self, extension: &str, event: &str, error: impl Into<String>) {
        let error =
            ExtensionError { extension: extension.to_owned(), event: event.to_owned(), error: error.into() };
        self.emit(Event::ExtensionFailed(error));
    }

    /// Passes on the reply to what an extension sent. Returns it if a client is to get it.
    pub(super) fn reply_to_extension(
        &mut self,
        origin: &Origin,
        result: Result<Answer, Refusal>,
    ) -> Option<Result<Answer, Refusal>> {
        match origin.name {
            EXTENSION_COMMAND => {
                if let Some(reply) = self.extension_replies.take(origin) {
                    let _ = reply.send(result);
                }
                None
            }
            EXTENSION_MESSAGE | CUSTOM_MESSAGE => {
                if let Err(refusal) = result {
                    self.extension_failed(RUNTIME, origin.name, refusal.message);
                }
                None
            }
            _ => Some(result),
        }
    }

    /// Adds a message of an extension to the conversation: at once, or when the run takes it.
    fn send_custom_message(
        &mut self,
        message: CustomMessageDraft,
        delivery: Delivery,
        triggers_turn: Option<bool>,
    ) {
        if delivery == Delivery::NextTurn {
            return self.queues.push_for_next_prompt(message);
        }
        let is_busy = !self.activity.is_idle();
        match (is_busy, triggers_turn) {
            (true, Some(false)) => self.held_custom_messages.push(message),
            (true, _) => {
                let queue = if delivery == Delivery::FollowUp { Queue::FollowUp } else { Queue::Steering };
                self.queues.push_custom(queue, message);
            }
            (false, Some(true)) => self.start_run_with(message),
            (false, _) => self.add_custom_message(message),
        }
    }

    /// Adds a message of an extension to the conversation now.
    pub(super) fn add_custom_message(&mut self, message: CustomMessageDraft) {
        let message = message.into_message(self.now());
        if self.run().is_some() {
            let recorded = self.record(message);
            return self.announce(&recorded);
        }
        match self.store(message) {
            Ok(recorded) => self.announce(&recorded),
            Err(refusal) => self.extension_failed(RUNTIME, CUSTOM_MESSAGE, refusal.message),
        }
    }

    /// Starts a run with a message of an extension.
    fn start_run_with(&mut self, message: CustomMessageDraft) {
        if let Err(refusal) = self.check_model().and_then(|()| self.check_budget()) {
            return self.extension_failed(RUNTIME, CUSTOM_MESSAGE, refusal.message);
        }
        let origin = Origin { id: None, name: CUSTOM_MESSAGE, echo: None };
        self.unanswered.push(origin.clone());
        let draft = Draft { text: join_text(&message.content), ..Draft::default() };
        let message = Box::new(message.into_message(self.now()));
        let submission = Submission::new(origin, draft, Receipt::Due);
        let submission = Submission { of_extension: Some(message), ..submission };
        self.compact_if_full(Continuation::Admit(submission));
    }

    /// Takes the messages of extensions that waited for the start of the session.
    pub(super) fn take_early_messages(&mut self) {
        for EarlyInput { host, input } in self.attachment.take_early() {
            self.extension_input(host, input);
        }
    }

    /// Takes the messages that extensions sent while the end of a run was shown to them.
    pub(super) fn take_deferred_messages(&mut self) {
        for EarlyInput { host, input } in std::mem::take(&mut self.deferred_messages) {
            self.extension_input(host, input);
        }
    }

    /// Refuses the messages of extensions that wait for the start of the session.
    pub(super) fn refuse_early_messages(&mut self) {
        for _ in self.attachment.take_early() {
            self.extension_failed(RUNTIME, EXTENSION_MESSAGE, "aborted before it started");
        }
    }

    /// Adds the messages of extensions that waited for the end of the turn.
    pub(super) fn add_held_custom_messages(&mut self) {
        for message in std::mem::take(&mut self.held_custom_messages) {
            self.add_custom_message(message);
        }
    }

    /// Tells those who wait for it that nothing is in progress, if so.
    pub(super) fn release_idle_waiters(&mut self) {
        if self.activity.is_idle() {
            for reply in self.idle_waiters.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
