//! Which requests are carried out at once, which wait, and which are refused while a run is in progress.

use bowline_core::command::{Command, Request};
use bowline_core::policy::{Order, WhileRunning};
use bowline_core::reply::{Refusal, RefusalCode};

use super::Session;

impl Session {
    /// Carries out a request, or appends it to the backlog.
    pub(super) fn receive(&mut self, request: Request) {
        self.unanswered.push(request.origin.clone());
        if self.shutting_down {
            let refusal = Refusal::new(RefusalCode::ShuttingDown, "bowline is shutting down");
            return self.reply(request.origin, Err(refusal));
        }
        if matches!(request.command, Command::Prompt { .. }) {
            self.reply_on_receipt(&request.origin);
        }
        if self.overtakes(&request.command) {
            self.carry_out(request);
        } else {
            self.backlog.push_back(request);
        }
    }

    /// Carries out the requests that need not wait any longer.
    pub(super) fn work_off_backlog(&mut self) {
        while self.may_continue()
            && let Some(request) = self.backlog.pop_front()
        {
            self.carry_out(request);
            if self.shutting_down {
                self.abort_run();
                self.abort_commands();
            }
        }
    }

    /// Tells whether the next request of the backlog can be carried out.
    fn may_continue(&self) -> bool {
        let reaches_run = |request: &Request| self.reaches_run(&request.command);
        !self.must_wait() || self.backlog.front().is_some_and(reaches_run)
    }

    /// Tells whether a command is for the run in progress, which would be over if the command waited for its end.
    fn reaches_run(&self, command: &Command) -> bool {
        let is_reachable = self.activity.is_running() && !self.activity.is_stopping();
        matches!(command, Command::Enqueue { .. }) && is_reachable && !self.is_using_files()
    }

    /// Tells whether the backlog has to wait.
    fn must_wait(&self) -> bool {
        let is_busy = !self.activity.is_idle() || self.pending.has_jobs();
        let is_serial = self.agent.policy().order == Order::OneAtATime;
        self.activity.is_stopping() || self.is_using_files() || (is_serial && is_busy)
    }

    /// Tells whether session files are opened, copied, deleted or listed in the background, or images are resized for
    /// a queue.
    fn is_using_files(&self) -> bool {
        self.activity.is_changing_session() || self.pending.has_exclusive_jobs()
    }

    /// Tells whether a request is carried out although others may wait. An abort waits behind the messages that came
    /// before it, because it is meant for the runs that they start.
    fn overtakes(&self, command: &Command) -> bool {
        let is_serial = self.agent.policy().order == Order::OneAtATime;
        let cancels = matches!(command, Command::Abort | Command::AbortRetry | Command::AbortShell);
        if self.is_using_files() {
            return match command {
                Command::Abort => !self.backlog.iter().any(brings_message),
                // Opening a large session takes a while, during which the state is that of the current session.
                Command::GetState => !is_serial,
                _ => cancels,
            };
        }
        if is_serial {
            return cancels || self.reaches_run(command) || (self.backlog.is_empty() && !self.must_wait());
        }
        self.backlog.is_empty() || *command == Command::AbortShell
    }

    /// Puts a request back to the front of the backlog, to be carried out when what is in progress is over.
    pub(super) fn postpone(&mut self, request: Request) {
        self.backlog.push_front(request);
    }

    /// Returns the refusal of a command that this dialect does not allow during a run.
    pub(super) fn refuse_while_running(&self, command: &Command) -> Option<Refusal> {
        let is_refused = matches!(
            command,
            Command::SetModel { .. }
                | Command::ChooseModel { .. }
                | Command::SetThinkingLevel { .. }
                | Command::Compact { .. }
                | Command::GetState
                | Command::GetSessionStatistics
        );
        let applies = self.activity.is_running()
            && match self.agent.policy().while_running {
                WhileRunning::Allowed => false,
                WhileRunning::AllowedButCompaction => matches!(command, Command::Compact { .. }),
                WhileRunning::Refused => is_refused,
            };
        applies.then(|| Refusal::new(RefusalCode::Busy, "the agent is running; wait until it has ended"))
    }

    /// Tells whether a command needs the session to be idle first, and it is not. A command that is bound to fail does
    /// not end a run for nothing.
    pub(super) fn needs_idle(&self, command: &Command) -> bool {
        match command {
            _ if self.activity.is_idle() => false,
            Command::NewSession { .. } | Command::Clone | Command::Compact { .. } => true,
            Command::SwitchSession { path } => self.working_directory.join(path).exists(),
            Command::Fork { entry } | Command::NavigateTree { entry, .. } => {
                self.transcript.file().has_entry(entry)
            }
            _ => false,
        }
    }
}

/// Tells whether a request brings a message for the model.
fn brings_message(request: &Request) -> bool {
    matches!(
        request.command,
        Command::Prompt { .. }
            | Command::Continue { .. }
            | Command::AbortAndPrompt { .. }
            | Command::Enqueue { .. }
    )
}
