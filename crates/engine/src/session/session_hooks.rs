//! What extensions see and decide when sessions start, change and end, and when the user runs a shell command.

use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::command::{Command, Origin, Request};
use bowline_core::hook::{
    DiscoverReason, ForkPosition, HookEvent, HookKind, HookResult, SessionReason, ShellAnswer,
};
use bowline_core::policy::ForkPoint;
use bowline_core::reply::{Answer, CancelledChange, Refusal, RefusalCode};
use bowline_tools::CommandOutcome;

use super::Session;
use super::extension_inputs::RUNTIME;
use super::hook_points::HookPoint;
use crate::attachment::Occasion;
use crate::hook_chain::HookOutcome;
use crate::hook_lane::AfterLane;
use crate::input::{Output, Step};
use crate::pending::Awaited;

/// What an extension reads whose command was running when its session was left.
pub(super) const STALE: &str = "This extension ctx is stale after session replacement or reload.";

impl Session {
    /// Goes on once every extension has registered: the session has started.
    pub(super) fn extensions_ready(&mut self) {
        let Some(Occasion { reason, previous_file, .. }) = self.attachment.occasion().cloned() else {
            return;
        };
        // Whether the project is trusted may have been decided only now.
        self.instructions.forget_prompt();
        self.look_up_models_again();
        if let Some(text) = self.models.missing().map(ToOwned::to_owned) {
            self.extension_failed(RUNTIME, "model", text);
        }
        // From now on they are told of every entry.
        self.mirror();
        self.announce_session(reason, previous_file);
    }

    /// Tells extensions of the session that they are in.
    pub(super) fn announce_session(&mut self, reason: SessionReason, previous_file: Option<PathBuf>) {
        if self.extensions.is_empty() {
            return;
        }
        self.instructions.forget_discovered();
        self.show_to_extensions(HookEvent::SessionStart { reason, previous_file });
        let reason =
            if reason == SessionReason::Reload { DiscoverReason::Reload } else { DiscoverReason::Startup };
        self.after_events_shown(AfterLane::DiscoverResources(reason));
    }

    /// Asks extensions for the places of further skills and templates, unless they are being left.
    pub(super) fn discover_resources(&mut self, reason: DiscoverReason) {
        if self.attachment.is_leaving() || self.extensions.is_empty() {
            return;
        }
        let directory = self.transcript.working_directory().to_owned();
        let event = HookEvent::ResourcesDiscover { directory, reason };
        if self.is_awaited(HookKind::ResourcesDiscover, None) {
            self.call_extensions(event, HookPoint::Resources);
        } else {
            self.tell_extensions(&event);
            self.after_events_shown(AfterLane::Started);
        }
    }

    /// Takes the places of skills and templates that extensions named.
    pub(super) fn resources_hooked(&mut self, outcome: HookOutcome) {
        for result in outcome.results {
            if let HookResult::Resources(paths) = result {
                self.instructions.add_resources(paths);
            }
        }
        self.after_events_shown(AfterLane::Started);
    }

    /// Tells extensions that their session is left, and ends what they do in it.
    pub(super) fn leave_session(&mut self, reason: SessionReason, target: Option<PathBuf>) {
        self.withdraw_dialogs();
        if self.extensions.is_empty() {
            return;
        }
        self.cancel_extension_commands(Some(STALE));
        self.show_to_extensions(HookEvent::SessionShutdown { reason, target });
    }

    /// Asks extensions whether the client may change to another session. Returns the request if nobody is to be asked.
    pub(super) fn ask_about_session_change(&mut self, request: Request) -> Option<Request> {
        let event = match &request.command {
            Command::NewSession { .. } => {
                HookEvent::SessionBeforeSwitch { reason: SessionReason::New, target: None }
            }
            Command::SwitchSession { path } => {
                let target = Some(self.working_directory.join(path));
                HookEvent::SessionBeforeSwitch { reason: SessionReason::Resume, target }
            }
            Command::Fork { entry, point } => {
                let position = match point.unwrap_or_else(|| self.agent.policy().fork_point) {
                    ForkPoint::BeforeUserMessage => ForkPosition::Before,
                    ForkPoint::AfterEntry => ForkPosition::At,
                };
                HookEvent::SessionBeforeFork { entry: entry.clone(), position }
            }
            Command::Clone => {
                let entry = self.transcript.leaf().map(|leaf| leaf.to_string()).unwrap_or_default();
                HookEvent::SessionBeforeFork { entry, position: ForkPosition::At }
            }
            _ => return Some(request),
        };
        self.tell_extensions(&event);
        if !self.is_awaited(event.kind(), None) {
            return Some(request);
        }
        self.call_extensions(event, HookPoint::SessionChange(request));
        None
    }

    /// Changes to another session, unless an extension cancelled that.
    pub(super) fn session_change_hooked(&mut self, request: Request, outcome: &HookOutcome) {
        if outcome.is_cancelled() {
            let change = match request.command {
                Command::Fork { .. } => CancelledChange::Fork,
                _ => CancelledChange::Switch,
            };
            return self.reply(request.origin, Ok(Answer::Cancelled(change)));
        }
        self.change_session(request);
    }

    /// Lets extensions answer a shell command of the user instead of running it.
    pub(super) fn shell_hooked(
        &mut self,
        origin: Origin,
        command: String,
        exclude_from_context: bool,
        outcome: HookOutcome,
    ) {
        let answers = outcome.results.into_iter().find_map(|result| match result {
            HookResult::Shell(answer) => Some(Ok(answer)),
            HookResult::Block { reason, .. } => Some(Err(reason.unwrap_or_default())),
            _ => None,
        });
        match answers {
            Some(Err(reason)) => self.reply(origin, Err(Refusal::new(RefusalCode::Internal, reason))),
            None => self.start_command(origin, command, exclude_from_context),
            Some(Ok(answer)) => {
                self.answer_command(origin, command, exclude_from_context, command_outcome(answer));
            }
        }
    }

    /// Ends the shell commands that extensions have not let run yet.
    pub(super) fn cancel_shell_hooks(&mut self) {
        for id in self.pending.hooks(|point| matches!(point, HookPoint::Shell { .. })) {
            if let Some(Awaited::Hook(open)) = self.pending.remove(id)
                && let HookPoint::Shell { origin, command, exclude_from_context } = open.cancelled()
            {
                let outcome = CommandOutcome {
                    output: String::new(),
                    exit_code: None,
                    cancelled: true,
                    truncated: false,
                    full_output_path: None,
                    protected: Vec::new(),
                };
                self.answer_command(origin, command, exclude_from_context, outcome);
            }
        }
    }

    /// Does what waits for the end of everything in progress.
    pub(super) fn finish_handling(&mut self) {
        self.release_idle_waiters();
        if self.quits_when_idle && self.activity.is_idle() && self.pending.extension_commands().is_empty() {
            self.quits_when_idle = false;
            self.outputs.push(Output::Quit { has_failed: false });
        }
    }

    /// Tells extensions that the process ends, and ends them.
    pub(super) fn stop_extensions(&mut self) {
        self.withdraw_dialogs();
        self.session_started();
        if self.extensions.is_empty() {
            return;
        }
        self.extensions.give_up_waiting();
        self.give_up_hooks();
        self.cancel_extension_commands(None);
        self.mirror();
        let event = HookEvent::SessionShutdown { reason: SessionReason::Quit, target: None };
        self.extensions.tell(&event);
        let event = Arc::new(event);
        let callees = self.extensions.awaiting(HookKind::SessionShutdown, None);
        let stop = self.extensions.stop();
        self.pending.start(Awaited::ExtensionsStopped, |reporter| async move {
            let calls =
                callees.iter().map(|extension| extension.call(Arc::clone(&event), Default::default()));
            let calls = futures_util::future::join_all(calls);
            let _ = tokio::time::timeout(HookKind::SessionShutdown.limit(), calls).await;
            stop.await;
            reporter.send(Step::ExtensionsStopped).await;
        });
    }
}

fn command_outcome(answer: ShellAnswer) -> CommandOutcome {
    let ShellAnswer { output, exit_code, cancelled, truncated, full_output_path } = answer;
    let protected = Vec::new();
    CommandOutcome { output, exit_code, cancelled, truncated, full_output_path, protected }
}
