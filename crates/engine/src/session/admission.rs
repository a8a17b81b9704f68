//! Which requests are carried out at once, which wait, and which are refused while a run is in progress.

use bowline_core::command::{Command, Request};
use bowline_core::policy::{AbortAnswer, Order, WhileCompacting, WhileRunning};
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use super::Session;

impl Session {
    /// Carries out a request, or appends it to the backlog.
    pub(super) fn receive(&mut self, request: Request) {
        self.unanswered.push(request.origin.clone());
        if self.shutting_down {
            return self.reply(request.origin, Err(shutting_down()));
        }
        let Some(request) = self.local_command(request) else { return };
        if matches!(request.command, Command::Prompt { .. }) {
            self.reply_on_receipt(&request.origin);
        }
        if matches!(request.command, Command::Abort | Command::AbortAndPrompt { .. }) {
            self.stop_waiting_for_extensions();
        }
        if self.waits_for_compaction()
            && matches!(request.command, Command::Abort | Command::AbortAndPrompt { .. })
        {
            self.stop();
        }
        if self.cancels_what_waits(&request.command) {
            self.reply(request.origin, Ok(Answer::Done));
            self.stop();
            self.refuse_waiting_prompts();
        } else if self.overtakes(&request.command) && !self.waits_for_extensions(&request.command) {
            self.carry_out(request);
        } else {
            self.backlog.push_back(request);
        }
    }

    /// Carries out the requests that need not wait any longer.
    pub(super) fn work_off_backlog(&mut self) {
        loop {
            while self.may_continue()
                && let Some(request) = self.backlog.pop_front()
            {
                self.carry_out(request);
                if self.shutting_down {
                    self.abort_run();
                    self.abort_commands();
                }
            }
            // An abort that waits for what came before it does not wait for extensions.
            let has_abort = self.backlog.iter().any(|request| request.command == Command::Abort);
            if !has_abort || !self.give_up_exclusive_hooks() {
                return;
            }
        }
    }

    /// Tells whether the next request of the backlog can be carried out.
    fn may_continue(&self) -> bool {
        self.backlog.front().is_some_and(|next| {
            !self.waits_for_extensions(&next.command)
                && (!self.must_wait() || self.reaches_run(&next.command))
        })
    }

    /// Tells whether a command is for the run in progress, which would be over if the command waited for its end.
    fn reaches_run(&self, command: &Command) -> bool {
        let is_reachable = self.activity.is_running() && !self.activity.is_stopping();
        let is_held = self.is_using_files() || self.waits_for_compaction();
        matches!(command, Command::Enqueue { .. }) && is_reachable && !is_held
    }

    /// Tells whether the backlog has to wait.
    fn must_wait(&self) -> bool {
        let is_busy = !self.activity.is_idle() || self.pending.has_jobs();
        let is_serial = self.agent.policy().order == Order::OneAtATime;
        self.activity.is_stopping()
            || self.is_using_files()
            || (is_serial && is_busy)
            || self.waits_for_compaction()
    }

    /// Tells whether a command has to wait until extensions have registered, because they may change what it does.
    fn waits_for_extensions(&self, command: &Command) -> bool {
        let depends_on_them = brings_message(command)
            || matches!(
                command,
                Command::GetCommands
                    | Command::GetAvailableModels
                    | Command::GetLoginProviders
                    | Command::Login { .. }
                    | Command::SetModel { .. }
                    | Command::ChooseModel { .. }
                    | Command::CycleModel
                    | Command::Shell { .. }
                    | Command::NewSession { .. }
                    | Command::SwitchSession { .. }
                    | Command::Fork { .. }
                    | Command::Clone
                    | Command::NavigateTree { .. }
                    | Command::Compact { .. }
            );
        !self.attachment.is_started() && depends_on_them
    }

    /// Tells whether there is a compaction that requests wait for.
    fn waits_for_compaction(&self) -> bool {
        self.activity.is_compacting_on_request()
            && self.agent.policy().while_compacting != WhileCompacting::PromptsRefused
    }

    /// Tells whether a command is an abort that has to be answered at once although prompts wait, so that it cannot
    /// wait for the runs that they would start.
    fn cancels_what_waits(&self, command: &Command) -> bool {
        *command == Command::Abort
            && (self.agent.policy().abort_answer == AbortAnswer::AtOnce || !self.attachment.is_started())
            && self.backlog.iter().any(|request| starts_run(&request.command))
            && !self.is_using_files()
    }

    /// Refuses the prompts that wait.
    fn refuse_waiting_prompts(&mut self) {
        let waiting = std::mem::take(&mut self.backlog);
        let (prompts, others) = waiting.into_iter().partition(|request| starts_run(&request.command));
        self.backlog = others;
        for request in prompts {
            let refusal = Refusal::new(RefusalCode::Cancelled, "aborted before it started");
            self.reply(request.origin, Err(refusal));
        }
    }

    /// Tells whether session files are opened, copied, deleted or listed in the background, or images are resized for
    /// a queue.
    pub(super) fn is_using_files(&self) -> bool {
        self.activity.is_changing_session() || self.pending.has_exclusive_jobs()
    }

    /// Tells whether a request is carried out although others may wait. An abort waits behind the messages that came
    /// before it, because it is meant for the runs that they start.
    fn overtakes(&self, command: &Command) -> bool {
        let is_serial = self.agent.policy().order == Order::OneAtATime;
        // A run that waits for an answer cannot end before it.
        if matches!(command, Command::AnswerApproval { .. }) {
            return true;
        }
        let cancels = matches!(command, Command::Abort | Command::AbortRetry | Command::AbortShell);
        if self.is_using_files() {
            return match command {
                Command::Abort => !self.backlog.iter().any(|request| brings_message(&request.command)),
                // Opening a large session takes a while, during which the state is that of the current session. A
                // request that waits for the system prompt keeps its place before the others.
                Command::GetState => !is_serial && !self.pending.has_state_request(),
                _ => cancels,
            };
        }
        if self.waits_for_compaction() {
            let comes_first = self.backlog.is_empty() && !brings_message(command);
            return cancels
                || (self.agent.policy().while_compacting == WhileCompacting::MessagesWait
                    && (comes_first || *command == Command::GetState));
        }
        if is_serial {
            return cancels || self.reaches_run(command) || (self.backlog.is_empty() && !self.must_wait());
        }
        self.backlog.is_empty()
            || *command == Command::AbortShell
            || (!self.attachment.is_started() && matches!(command, Command::GetState | Command::Abort))
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
        let applies = (self.activity.is_running() || self.activity.is_admitting())
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
            Command::NavigateTree { summarize: false, instructions: Some(_), .. } => false,
            Command::Fork { entry, .. } | Command::NavigateTree { entry, .. } => {
                self.transcript.file().has_entry(entry)
            }
            _ => false,
        }
    }
}

/// Tells whether a command brings a message for the model.
fn brings_message(command: &Command) -> bool {
    starts_run(command) || matches!(command, Command::Enqueue { .. })
}

/// Tells whether a command is to start a run.
fn starts_run(command: &Command) -> bool {
    matches!(command, Command::Prompt { .. } | Command::Continue { .. } | Command::AbortAndPrompt { .. })
}

/// Returns the refusal of what comes too late.
pub(super) fn shutting_down() -> Refusal {
    Refusal::new(RefusalCode::ShuttingDown, "bowline is shutting down")
}
