//! Carrying out commands: one arm each, the work in a file for each group.

mod approvals;
mod commands_list;
mod completions;
mod export;
mod host;
mod login;
mod message_pages;
mod models;
mod navigation;
pub(super) mod sessions;
mod shell;
mod state;
mod subagents;
mod tree;

use bowline_core::command::{Command, Request};
use bowline_core::hook::{HookEvent, InputSource};
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use super::Session;
use super::hook_points::HookPoint;
use super::message_preparation::{Destination, Incoming};
use super::prompting::{Receipt, Submission};

impl Session {
    /// Carries out a command. Commands that reply later, or between events, return early.
    pub(super) fn carry_out(&mut self, request: Request) {
        let Request { origin, command } = request;
        if let Some(refusal) = self.refuse_while_running(&command) {
            return self.reply(origin, Err(refusal));
        }
        let result = match command {
            // It came after the abort, so it is meant for the time after the run.
            Command::Prompt { .. } | Command::Continue { .. } if self.activity.is_stopping() => {
                return self.postpone(Request { origin, command });
            }
            Command::AbortAndPrompt { .. } if !self.activity.is_idle() => {
                self.postpone(Request { origin, command });
                return self.stop();
            }
            Command::Compact { .. } if self.activity.is_compacting_on_request() => {
                Err(Refusal::new(RefusalCode::Compacting, "Compaction already in progress"))
            }
            command if self.needs_idle(&command) => {
                self.postpone(Request { origin, command });
                return self.stop();
            }
            Command::NewSession { .. }
            | Command::SwitchSession { .. }
            | Command::Fork { .. }
            | Command::Clone => {
                if let Some(request) = self.ask_about_session_change(Request { origin, command }) {
                    self.change_session(request);
                }
                return;
            }
            Command::Prompt { message, when_busy } => {
                if let Err(refusal) = Self::check_output_request(&message) {
                    return self.reply(origin, Err(refusal));
                }
                let receipt = self.prompt_receipt();
                let submission = Submission::new(origin, message, receipt);
                let destination = Destination::Run { when_busy };
                return self.take_message(Incoming {
                    submission,
                    destination,
                    source: InputSource::Rpc,
                    expands: true,
                });
            }
            Command::AbortAndPrompt { message } => return self.prompt_after_abort(origin, message),
            Command::Continue { message } => return self.continue_conversation(origin, message),
            Command::Enqueue { message, queue } => {
                let submission = Submission::new(origin, message, Receipt::Due);
                let otherwise = self.agent.policy().idle_queue;
                let destination = Destination::Queue { queue, otherwise };
                return self.take_message(Incoming {
                    submission,
                    destination,
                    source: InputSource::Rpc,
                    expands: true,
                });
            }
            Command::Abort => return self.abort(origin),
            Command::AbortRetry => return self.abort_retry(origin),
            Command::Compact { instructions } => return self.compact(origin, instructions),
            Command::NavigateTree { entry, summarize, instructions } => {
                return self.navigate(origin, &entry, summarize, instructions);
            }
            Command::GetChanges { query } => return self.get_changes(origin, query),
            Command::Undo { target, dry_run } => return self.undo(origin, target, dry_run),
            Command::Redo { dry_run } => return self.redo(origin, dry_run),
            Command::GetPendingChanges { query } => return self.get_pending_changes(origin, query),
            Command::AcceptChanges { selection } => return self.accept_changes(origin, selection),
            Command::DiscardChanges { selection } => return self.discard_changes(origin, selection),
            Command::ExportHtml { path } => return self.export_html(origin, path),
            Command::Shell { command, exclude_from_context } => {
                let directory = self.transcript.working_directory().to_owned();
                let event = HookEvent::UserBash { command: command.clone(), exclude_from_context, directory };
                return self.hook(event, HookPoint::Shell { origin, command, exclude_from_context });
            }
            Command::ListSessions { query } => return self.list_sessions(origin, query),
            Command::DeleteSession { path } => return self.delete_session(origin, &path),
            Command::GetForkMessages => return self.fork_messages(origin),
            Command::GetEntries { since } => return self.entries(origin, since),
            Command::GetTree { format } => return self.tree(origin, format),
            Command::GetSessionStatistics => return self.session_statistics(origin),
            Command::SetLimits { changes } => return self.limits(origin, changes),
            Command::GetLimits => return self.limits(origin, Vec::new()),
            Command::GetState => return self.get_state(origin),
            Command::GetCommands => return self.get_commands(origin),
            Command::GetCompletions { command, prefix } => {
                return self.get_completions(origin, &command, &prefix);
            }
            Command::GetLoginProviders => return self.login_providers(origin),
            Command::Login { provider } => return self.login(origin, &provider),
            Command::GetSandbox { connections } => return self.get_sandbox(origin, connections),
            Command::SetSandbox { change } => return self.set_sandbox(origin, change),
            Command::AbortShell => Ok(self.abort_commands()),
            Command::ClearQueue => Ok(self.clear_queue()),
            Command::GetMessages => Ok(Answer::Messages(self.transcript.messages().to_vec())),
            Command::GetMessagesPage { cursor, limit } => self.messages_page(cursor.as_deref(), limit),
            Command::GetLastAssistantText => Ok(self.last_assistant_text()),
            Command::SetModel { provider, id } => self.set_model(&provider, &id),
            Command::ChooseModel { provider, pattern } => self.choose_model(provider.as_deref(), &pattern),
            Command::CycleModel => self.cycle_model(),
            Command::GetAvailableModels => Ok(self.available_models()),
            Command::SetThinkingLevel { level } => self.choose_thinking_level(level),
            Command::CycleThinkingLevel => self.cycle_thinking_level(),
            Command::GetAvailableThinkingLevels => Ok(Answer::ThinkingLevels(self.models.levels())),
            Command::SetQueueMode { queue, mode } => self.set(|session| session.queues.set_mode(queue, mode)),
            Command::SetInterruptMode { mode } => self.set(|session| session.switches.interrupt_mode = mode),
            Command::SetAutoCompaction { enabled } => {
                self.set(|session| session.switches.auto_compaction = enabled)
            }
            Command::SetAutoRetry { enabled } => self.set(|session| session.switches.auto_retry = enabled),
            Command::SetSessionName { name } => self.set_session_name(&name),
            Command::SetTodos { phases } => self.set_todos(phases),
            Command::SetApprovals { ask } => self.set_approvals(ask),
            Command::SetClientCapabilities { approvals, changes, screen, files } => {
                Ok(self.set_client_capabilities(approvals, changes, screen, files))
            }
            Command::WidgetInput { key, input } => self.widget_input(&key, &input),
            Command::AnswerApproval { approval, decision, message } => {
                self.answer_approval(&approval, &decision, message)
            }
            Command::GetSubagentMessages { subagent, from_byte } => {
                return self.subagent_messages(origin, subagent, from_byte);
            }
            Command::GetSubagents => Ok(Answer::Subagents(self.subagents.running())),
            Command::SetSubagentSubscription { level } => Ok(self.subscribe_to_subagents(level)),
            Command::SetLabel { entry, label } => self.set_label(&entry, label.as_deref()),
            Command::SetHostTools { tools } => self.set_host_tools(tools),
            Command::SetUriSchemes { schemes } => self.set_uri_schemes(schemes),
        };
        self.reply(origin, result);
    }

    #[expect(clippy::unnecessary_wraps, reason = "an arm of the match above")]
    fn set(&mut self, change: impl FnOnce(&mut Self)) -> Result<Answer, Refusal> {
        change(self);
        Ok(Answer::Done)
    }
}
