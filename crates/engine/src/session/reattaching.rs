//! Ending the hosts of a session and attaching others: when the session is reloaded, and when it goes on in another folder.
//!
//! Extensions are told that they are left, their hosts are stopped, hosts are attached, and their extensions are told that
//! the session has started. Prompts wait for all of it, as they do at the start; aborts and `get_state` never do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::hook::SessionReason;
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode};

use super::Session;
use super::admission::shutting_down;
use super::hook_points::HookPoint;
use crate::attachment::{HeldPrompt, Occasion};
use crate::configuration::Configured;
use crate::extension::About;
use crate::hook_lane::AfterLane;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// How long hosts may take to stop. Whatever is left of them is then killed.
const STOP_LIMIT: Duration = Duration::from_secs(5);

impl Session {
    /// Lets every host take part in the session, as it is now.
    pub(super) fn attach_hosts(&mut self) {
        let Some(occasion) = self.attachment.occasion() else { return };
        let about = About {
            session_id: self.transcript.session_id().to_owned(),
            session_file: self.transcript.file().file().map(ToOwned::to_owned),
            directory: self.transcript.working_directory().to_owned(),
            providers: self.agent.providers().clone(),
            reason: occasion.reason,
            guards: Arc::clone(&occasion.guards),
        };
        let (inputs, _) = self.pending.way_back();
        self.extensions.attach(self.agent.hosts(), inputs, &about);
        self.attachment.set_attached();
        self.last_mirror = None;
        if self.extensions.is_empty() {
            self.session_started();
        }
    }

    /// Notes that prompts can be taken.
    pub(super) fn session_started(&mut self) {
        for prompt in self.attachment.set_started() {
            self.reply_to_held_prompt(prompt);
        }
        if self.shutting_down {
            self.attachment.take_early();
        }
        self.take_early_messages();
    }

    /// Notes that extensions have seen the start of the session, unless they are being left.
    pub(super) fn start_seen(&mut self) {
        if self.attachment.occasion().is_some() {
            self.session_started();
        }
    }

    /// Reloads the session as soon as nothing is in progress, because an extension wants it.
    pub(super) fn ask_for_reload(&mut self, extension: Arc<str>) -> Result<(), Refusal> {
        if self.shutting_down {
            return Err(shutting_down());
        }
        // An extension that reloads whenever it starts would never let a prompt pass.
        if !self.attachment.is_started() {
            return Err(Refusal::new(RefusalCode::Busy, "extensions are just being started"));
        }
        self.attachment.ask_for_reload(extension);
        Ok(())
    }

    /// Reloads the session if an extension wants it and nothing is in progress.
    pub(super) fn begin_reload_if_due(&mut self) {
        if !self.attachment.is_reload_due() || !self.may_reload() {
            return;
        }
        let Some(extension) = self.attachment.take_reload() else { return };
        self.let_commands_end_with_reload(&extension);
        self.leave_session(SessionReason::Reload, None);
        self.replace_hosts(SessionReason::Reload, None);
    }

    fn may_reload(&self) -> bool {
        self.attachment.is_started()
            && self.activity.is_idle()
            && self.lane.is_idle()
            && !self.pending.has_jobs()
            && self.pending.hooks(|_| true).is_empty()
            && !self.shutting_down
    }

    /// Ends the hosts once their extensions have seen the end of their session, and attaches those that belong to the
    /// session now.
    pub(super) fn replace_hosts(&mut self, reason: SessionReason, previous_file: Option<PathBuf>) {
        if self.shutting_down {
            return;
        }
        let occasion = Occasion { reason, previous_file, guards: self.extensions.guards() };
        if self.extensions.is_empty() {
            self.attachment.start(occasion);
            return self.attach_hosts();
        }
        let question = self.instructions.resources().ask_trust(self.transcript.working_directory());
        self.attachment.leave(occasion, question);
        self.after_events_shown(AfterLane::StopHosts);
    }

    /// Stops the hosts in the background. Nothing of their extensions is left in the session.
    pub(super) fn stop_hosts(&mut self) {
        let Some(occasion) = self.attachment.stop() else { return };
        self.withdraw_dialogs();
        for id in self.pending.hooks(|point| matches!(point, HookPoint::Resources)) {
            if let Some(Awaited::Hook(open)) = self.pending.remove(id) {
                open.cancelled();
            }
        }
        self.idle_waiters.clear();
        let hosts = self.extensions.detach();
        self.instructions.forget_extensions();
        let rereads = occasion.reason == SessionReason::Reload;
        let configuration = self.agent.configuration().filter(|_| rereads);
        let directory = self.transcript.working_directory().to_owned();
        self.pending.start(Awaited::HostsStopped, |reporter| async move {
            let _ = tokio::time::timeout(STOP_LIMIT, hosts.stop()).await;
            drop(hosts);
            let configured = match configuration {
                None => None,
                Some(configuration) => {
                    let read = tokio::task::spawn_blocking(move || configuration.read(&directory)).await;
                    Some(Box::new(read.unwrap_or_else(|error| Err(error.to_string()))))
                }
            };
            reporter.send(Step::HostsStopped(configured)).await;
        });
    }

    /// Attaches hosts in place of those that have stopped.
    pub(super) fn hosts_stopped(
        &mut self,
        id: PendingId,
        configured: Option<Box<Result<Configured, String>>>,
    ) {
        self.pending.remove(id);
        let Some(occasion) = self.attachment.take_stopped() else { return };
        if occasion.reason == SessionReason::Reload {
            self.take_configured(configured);
        }
        self.attach_hosts();
    }

    /// Uses what was read again. Without it, and if it could not be read, what is known stays.
    fn take_configured(&mut self, configured: Option<Box<Result<Configured, String>>>) {
        match configured.map(|configured| *configured) {
            None => {}
            Some(Ok(configured)) => {
                self.instructions.set_tools(configured.toolbox.clone());
                self.instructions.set_system_prompt(configured.system_prompt.clone());
                self.instructions.set_resources(configured.resources.clone());
                self.agent = self.agent.configured(configured);
                self.budget.configure(self.agent.settings().limits);
            }
            Some(Err(error)) => self.extension_failed("<runtime>", "reload", error),
        }
        self.instructions.forget_prompt();
        self.rules.read_again();
    }

    /// Replies to a prompt whose command has ended with its extension, once the new extensions have started.
    pub(super) fn reply_after_reload(&mut self, prompt: HeldPrompt) {
        if self.attachment.is_started() {
            self.reply_to_held_prompt(prompt);
        } else {
            self.attachment.hold(prompt);
        }
    }

    /// Replies to the prompts whose command has ended with its extension, because nothing is to wait any longer.
    pub(super) fn reply_to_held_prompts(&mut self) {
        for prompt in self.attachment.take_held() {
            self.reply_to_held_prompt(prompt);
        }
    }

    fn reply_to_held_prompt(&mut self, HeldPrompt { origin, receipt }: HeldPrompt) {
        self.reply_accepted(origin, receipt, Answer::Accepted(Disposition::Handled));
    }

    /// Goes on after a panic, which has ended every task.
    pub(super) fn recover_attachment(&mut self) {
        // The prompts get the error of the panic.
        self.attachment.take_held();
        if self.attachment.take_stopped().is_some() {
            self.attach_hosts();
        } else if self.extensions.are_ready() {
            self.session_started();
        }
    }
}
