//! User-initiated shell commands, which run beside whatever else is in progress.

use bowline_core::command::Origin;
use bowline_core::event::Event;
use bowline_core::message::BashExecutionMessage;
use bowline_core::reply::{Answer, Refusal, RefusalCode, ShellResult};
use bowline_tools::{CommandOutcome, CommandRequest, run_command};
use tokio_util::sync::CancellationToken;

use crate::input::Step;
use crate::pending::{Awaited, PendingId, UserCommand};
use crate::session::Session;

impl Session {
    /// Starts a command and replies when it has ended.
    pub(in crate::session) fn start_command(
        &mut self,
        origin: Origin,
        command: String,
        exclude_from_context: bool,
    ) {
        let cancel = CancellationToken::new();
        let request = CommandRequest {
            command: command.clone(),
            working_directory: self.transcript.working_directory().to_owned(),
            environment: Vec::new(),
            session_id: Some(self.transcript.session_id().to_owned()),
            options: self.instructions.toolbox().options(),
            cancel: cancel.clone(),
        };
        let session_id = self.transcript.session_id().to_owned();
        let awaited = UserCommand { origin, command, exclude_from_context, session_id, cancel };
        self.pending.start(Awaited::UserCommand(awaited), |reporter| async move {
            let outputs = reporter.clone();
            // Waiting for the session here is what slows the command down when the client does not read.
            let on_output = |text| {
                let outputs = outputs.clone();
                async move {
                    outputs.send(Step::CommandOutput(text)).await;
                }
            };
            let result = run_command(request, on_output).await.map_err(|error| error.to_string());
            reporter.send(Step::CommandDone(result)).await;
        });
    }

    /// Records and replies to a command that was not run here.
    pub(in crate::session) fn answer_command(
        &mut self,
        origin: Origin,
        command: String,
        exclude_from_context: bool,
        outcome: CommandOutcome,
    ) {
        let session_id = self.transcript.session_id().to_owned();
        let cancel = CancellationToken::new();
        let command = UserCommand { origin, command, exclude_from_context, session_id, cancel };
        let result = self.command_result(&command, outcome).map(Answer::Shell);
        self.reply(command.origin, result);
    }

    pub(in crate::session) fn command_output(&mut self, id: PendingId, delta: String) {
        if !self.agent.settings().reports_progress {
            return;
        }
        if let Some(Awaited::UserCommand(command)) = self.pending.awaited(id) {
            let origin = command.origin.clone();
            self.emit(Event::ShellOutput { origin, delta });
        }
    }

    pub(in crate::session) fn command_done(&mut self, id: PendingId, result: Result<CommandOutcome, String>) {
        let Some(Awaited::UserCommand(command)) = self.pending.remove(id) else { return };
        let result = match result {
            Ok(mut outcome) => {
                self.report_protected(None, std::mem::take(&mut outcome.protected));
                let result = self.command_result(&command, outcome).map(Answer::Shell);
                self.note_sandbox();
                result
            }
            Err(text) => Err(Refusal::new(RefusalCode::InvalidArgument, text)),
        };
        self.reply(command.origin, result);
    }

    fn command_result(
        &mut self,
        command: &UserCommand,
        outcome: CommandOutcome,
    ) -> Result<ShellResult, Refusal> {
        let full_output_path = outcome.full_output_path.map(|path| path.display().to_string());
        let message = BashExecutionMessage {
            command: command.command.clone(),
            output: outcome.output.clone(),
            exit_code: outcome.exit_code,
            cancelled: outcome.cancelled,
            truncated: outcome.truncated,
            full_output_path: full_output_path.clone(),
            timestamp: self.now(),
            exclude_from_context: command.exclude_from_context.then_some(true),
        };
        // A command that was started in another session is not part of this one.
        if command.session_id == self.transcript.session_id() {
            self.record_command(message)?;
        }
        Ok(ShellResult {
            output: outcome.output,
            exit_code: outcome.exit_code,
            cancelled: outcome.cancelled,
            truncated: outcome.truncated,
            full_output_path,
        })
    }

    /// Kills every user-initiated command. Each still gets its own reply.
    pub(in crate::session) fn abort_commands(&mut self) -> Answer {
        self.cancel_shell_hooks();
        for command in self.pending.user_commands() {
            command.cancel.cancel();
        }
        Answer::Done
    }
}
