//! Shell commands that the user runs by hand, beside whatever else is going on.

use std::collections::HashMap;

use bowline_core::command::Origin;
use bowline_core::event::Event;
use bowline_core::message::BashExecutionMessage;
use bowline_core::reply::{Answer, Refusal, RefusalCode, ShellResult};
use bowline_tools::{CommandOutcome, CommandRequest, run_command};
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, Input};
use crate::task::Task;

/// The commands that are running, and those whose messages wait for the end of the turn.
#[derive(Debug, Default)]
pub(crate) struct Shells {
    running: HashMap<u64, Shell>,
    finished: Vec<BashExecutionMessage>,
}

#[derive(Debug)]
struct Shell {
    origin: Origin,
    command: String,
    exclude_from_context: bool,
    /// The session that it belongs to.
    session_id: String,
    cancel: CancellationToken,
    _task: Task,
}

impl Shells {
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub fn keep_finished(&mut self, message: BashExecutionMessage) {
        self.finished.push(message);
    }

    pub fn take_finished(&mut self) -> Vec<BashExecutionMessage> {
        std::mem::take(&mut self.finished)
    }
}

impl Engine {
    /// Starts a command; it is answered when it is over.
    pub(crate) fn start_shell(&mut self, origin: Origin, command: String, exclude_from_context: bool) {
        let number = self.next_number();
        let cancel = CancellationToken::new();
        let request = CommandRequest {
            command: command.clone(),
            working_directory: self.session.working_directory().to_owned(),
            environment: Vec::new(),
            shell: self.settings.shell.clone(),
            command_prefix: self.settings.command_prefix.clone(),
            cancel: cancel.clone(),
        };
        let inputs = self.inputs.clone();
        let task = Task::spawn(async move {
            let outputs = inputs.clone();
            // Waiting for the engine here is what slows the command down when the client does not read.
            let on_output = |text| {
                let outputs = outputs.clone();
                async move {
                    let _ = outputs.send(Input::ShellOutput { number, text }).await;
                }
            };
            let result = run_command(request, on_output).await.map_err(|error| error.to_string());
            let _ = inputs.send(Input::ShellDone { number, result }).await;
        });
        let session_id = self.session.id().to_owned();
        let shell = Shell { origin, command, exclude_from_context, session_id, cancel, _task: task };
        self.shells.running.insert(number, shell);
    }

    pub(crate) fn shell_output(&mut self, number: u64, delta: String) {
        // Where output is cut depends on the time, which a fixed clock does not have; the result has all of it.
        if let Some(shell) = self
            .shells
            .running
            .get(&number)
            .filter(|_| !matches!(self.clock, bowline_session::Clock::Fixed(_)))
        {
            let origin = shell.origin.clone();
            self.emit(Event::ShellOutput { origin, delta });
        }
    }

    pub(crate) fn shell_done(&mut self, number: u64, result: Result<CommandOutcome, String>) {
        let Some(shell) = self.shells.running.remove(&number) else { return };
        let result = match result {
            Ok(outcome) => self.shell_result(&shell, outcome).map(Answer::Shell),
            Err(text) => Err(Refusal::new(RefusalCode::InvalidArgument, text)),
        };
        self.reply(shell.origin, result);
    }

    fn shell_result(&mut self, shell: &Shell, outcome: CommandOutcome) -> Result<ShellResult, Refusal> {
        let full_output_path = outcome.full_output_path.map(|path| path.display().to_string());
        let message = BashExecutionMessage {
            command: shell.command.clone(),
            output: outcome.output.clone(),
            exit_code: outcome.exit_code,
            cancelled: outcome.cancelled,
            truncated: outcome.truncated,
            full_output_path: full_output_path.clone(),
            timestamp: self.now(),
            exclude_from_context: shell.exclude_from_context.then_some(true),
        };
        // What was begun in another session is no part of this one.
        if shell.session_id == self.session.id() {
            self.record_shell(message)?;
        }
        Ok(ShellResult {
            output: outcome.output,
            exit_code: outcome.exit_code,
            cancelled: outcome.cancelled,
            truncated: outcome.truncated,
            full_output_path,
        })
    }

    /// Kills every command that was started by hand. Each is still answered for itself.
    pub(crate) fn abort_shells(&mut self) -> Answer {
        for shell in self.shells.running.values() {
            shell.cancel.cancel();
        }
        Answer::Done
    }
}
