//! The engine: what it holds, what can happen to it, and who takes care of each.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::command::{Command, Draft, InterruptMode, Origin, Request};
use bowline_core::event::Event;
use bowline_core::model::Model;
use bowline_core::policy::{Order, Policy, PromptAnswer, WhileRunning};
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode, Reply};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::ToolDefinition;
use bowline_llm::{Providers, Resolved};
use bowline_session::{Clock, Session};
use bowline_tools::{CommandOutcome, Toolbox};
use tokio::sync::mpsc;

use crate::answer::AnswerStep;
use crate::commands::export::Exporting;
use crate::commands::navigation::Navigating;
use crate::commands::shell::Shells;
use crate::compaction::{Compacting, Futile, SummaryStep};
use crate::conversation::Conversation;
use crate::queue::Queues;
use crate::refusal::Refusals;
use crate::run::Run;
use crate::settings::{SessionPlan, Settings};
use crate::system_prompt::SystemPrompt;
use crate::tool_batch::ToolStep;

/// Everything that can happen to the engine.
#[derive(Debug)]
pub enum Input {
    /// A client asks for something.
    Request(Request),
    /// The model that was called has more to say.
    Answer { number: u64, step: AnswerStep },
    /// A tool has something to tell.
    Tool { number: u64, index: usize, step: ToolStep },
    /// The time for another try has come.
    RetryDue { number: u64 },
    /// The images of a prompt are small enough.
    Resized { number: u64, message: Draft },
    /// All is known that there is to say about a prompt that cannot be accepted.
    Refused { number: u64, origin: Origin, refusal: Refusal },
    /// A summary that was asked for is there, or takes longer.
    Summary { number: u64, step: SummaryStep },
    /// A shell command that was started by hand wrote something.
    ShellOutput { number: u64, text: String },
    /// A shell command that was started by hand is over.
    ShellDone { number: u64, result: Result<CommandOutcome, String> },
    /// A page was written, or could not be.
    Exported { number: u64, result: Result<PathBuf, String> },
    /// The process is to end: stop everything.
    Shutdown,
}

/// What the engine has to say.
#[derive(Debug, Clone)]
pub enum Output {
    Event(Event),
    Reply(Reply),
}

/// What an engine is made of.
#[derive(Debug)]
pub struct Parts {
    pub settings: Settings,
    /// How clients of the chosen dialect expect the agent to behave.
    pub policy: Policy,
    pub providers: Providers,
    pub toolbox: Toolbox,
    pub system_prompt: SystemPrompt,
    pub session_plan: SessionPlan,
    pub session: Session,
    pub working_directory: PathBuf,
    /// The model and the level that the user chose for this process; they outlive a change of session.
    pub chosen_model: Option<Arc<Model>>,
    pub chosen_thinking_level: Option<ThinkingLevel>,
    /// The model to use when neither the user nor the session names one.
    pub default_model: Option<Arc<Model>>,
    pub default_thinking_level: ThinkingLevel,
    /// The models to cycle through, when the user limited them.
    pub scope: Vec<Resolved>,
    /// Where times, ids and chance come from.
    pub clock: Clock,
}

/// The agent: one session at a time, at most one run.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) interrupt_mode: InterruptMode,
    pub(crate) providers: Providers,
    pub(crate) toolbox: Toolbox,
    pub(crate) system_prompt: SystemPrompt,
    pub(crate) session_plan: SessionPlan,
    pub(crate) session: Session,
    /// Where a new session works.
    pub(crate) working_directory: PathBuf,
    /// In step with the session's current branch.
    pub(crate) conversation: Conversation,
    pub(crate) chosen_model: Option<Arc<Model>>,
    pub(crate) chosen_thinking_level: Option<ThinkingLevel>,
    pub(crate) default_model: Option<Arc<Model>>,
    pub(crate) default_thinking_level: ThinkingLevel,
    pub(crate) scope: Vec<Resolved>,
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) queues: Queues,
    pub(crate) run: Option<Run>,
    pub(crate) compacting: Option<Compacting>,
    /// Whether a compaction at the threshold was tried in this run and came to nothing.
    pub(crate) futile_compaction: Option<Futile>,
    pub(crate) navigating: Option<Navigating>,
    pub(crate) shells: Shells,
    pub(crate) exporting: Vec<Exporting>,
    pub(crate) refusals: Refusals,
    /// Requests that wait for the end of a run that is being stopped, and those behind them.
    pub(crate) waiting: VecDeque<Request>,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) clock: Clock,
    tool_definitions: Arc<[ToolDefinition]>,
    tool_names: Arc<[String]>,
    outputs: VecDeque<Output>,
    last_number: u64,
    shutting_down: bool,
}

impl Engine {
    /// Returns an engine with its session opened. `inputs` leads back to [`Engine::handle`].
    pub fn new(parts: Parts, inputs: mpsc::Sender<Input>) -> Result<Self, Refusal> {
        let tool_definitions = parts.toolbox.definitions();
        let tool_names = parts.toolbox.names();
        let queues = Queues::new(parts.settings.steering_mode, parts.settings.follow_up_mode);
        let mut engine = Self {
            settings: parts.settings,
            interrupt_mode: parts.policy.interrupt_mode,
            policy: parts.policy,
            providers: parts.providers,
            toolbox: parts.toolbox,
            system_prompt: parts.system_prompt,
            session_plan: parts.session_plan,
            session: parts.session,
            working_directory: parts.working_directory,
            conversation: Conversation::default(),
            chosen_model: parts.chosen_model,
            chosen_thinking_level: parts.chosen_thinking_level,
            default_model: parts.default_model,
            default_thinking_level: parts.default_thinking_level,
            scope: parts.scope,
            model: None,
            thinking_level: ThinkingLevel::Off,
            queues,
            run: None,
            compacting: None,
            futile_compaction: None,
            navigating: None,
            shells: Shells::default(),
            exporting: Vec::new(),
            refusals: Refusals::default(),
            waiting: VecDeque::new(),
            inputs,
            clock: parts.clock,
            tool_definitions,
            tool_names,
            outputs: VecDeque::new(),
            last_number: 0,
            shutting_down: false,
        };
        engine.enter_session()?;
        Ok(engine)
    }

    /// Takes in one thing that happened and follows it to its end.
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Request(request) => self.request(request),
            Input::Answer { number, step } => self.answer_step(number, step),
            Input::Tool { number, index, step } => self.tool_step(number, index, step),
            Input::RetryDue { number } => self.retry_due(number),
            Input::Resized { number, message } => self.images_resized(number, message),
            Input::Refused { number, origin, refusal } => self.refused(number, origin, refusal),
            Input::Summary { number, step } => self.summary_step(number, step),
            Input::ShellOutput { number, text } => self.shell_output(number, text),
            Input::ShellDone { number, result } => self.shell_done(number, result),
            Input::Exported { number, result } => self.exported(number, result),
            Input::Shutdown => self.shut_down(),
        }
        while !self.must_wait()
            && let Some(request) = self.waiting.pop_front()
        {
            self.carry_out(request);
            if self.shutting_down {
                self.abort_run();
            }
        }
    }

    /// Returns the next thing that the engine has to say.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Tells whether nothing is under way: no run, no summary, no command, no request that waits.
    pub fn is_idle(&self) -> bool {
        let is_working = self.run.is_some() || self.is_occupied() || !self.shells.is_empty();
        !is_working && self.exporting.is_empty() && self.refusals.is_empty() && self.waiting.is_empty()
    }

    /// Tells whether the requests that wait have to go on waiting.
    fn must_wait(&self) -> bool {
        let is_busy = self.run.is_some() || self.is_occupied() || !self.refusals.is_empty();
        self.is_stopping() || (self.policy.order == Order::OneAtATime && is_busy)
    }

    /// Accepts a request, or lets it wait behind one that waits already. An abort waits too: the run is being stopped
    /// as it is, and the abort is meant for the prompts that came before it.
    fn request(&mut self, request: Request) {
        if !self.shutting_down && matches!(request.command, Command::Prompt { .. }) {
            self.answer_on_receipt(&request.origin);
        }
        if self.shutting_down {
            let refusal = Refusal::new(RefusalCode::ShuttingDown, "bowline is shutting down");
            self.reply(request.origin, Err(refusal));
        } else if self.overtakes(&request.command) {
            self.carry_out(request);
        } else {
            self.waiting.push_back(request);
        }
    }

    /// Answers a prompt before anything is known of it, where the policy says so.
    pub(crate) fn answer_on_receipt(&mut self, origin: &Origin) {
        if self.policy.prompt_answer == PromptAnswer::OnReceipt {
            self.reply(origin.clone(), Ok(Answer::Accepted(Disposition::Started)));
        }
    }

    fn overtakes(&self, command: &Command) -> bool {
        let cancels = matches!(command, Command::Abort | Command::AbortRetry | Command::AbortShell);
        match self.policy.order {
            Order::OneAtATime => cancels || (self.waiting.is_empty() && !self.must_wait()),
            Order::Concurrent => self.waiting.is_empty() || *command == Command::AbortShell,
        }
    }

    /// Says no to a command that this dialect's clients do not expect to be carried out during a run.
    fn refuse_while_running(&self, command: &Command) -> Option<Refusal> {
        let is_refused = matches!(
            command,
            Command::SetModel { .. }
                | Command::ChooseModel { .. }
                | Command::SetThinkingLevel { .. }
                | Command::Compact { .. }
                | Command::GetState
                | Command::GetSessionStatistics
        );
        let applies = self.run.is_some()
            && match self.policy.while_running {
                WhileRunning::Allowed => false,
                WhileRunning::AllowedButCompaction => matches!(command, Command::Compact { .. }),
                WhileRunning::Refused => is_refused,
            };
        applies.then(|| Refusal::new(RefusalCode::Busy, "the agent is running; wait until it has ended"))
    }

    /// Carries out a command. The commands that answer by themselves, later or between events, return early.
    fn carry_out(&mut self, request: Request) {
        let Request { origin, command } = request;
        if let Some(refusal) = self.refuse_while_running(&command) {
            return self.reply(origin, Err(refusal));
        }
        let result = match command {
            // It comes after the abort, so it is meant for what comes after the run.
            Command::Prompt { .. } | Command::Continue { .. } if self.is_stopping() => {
                return self.waiting.push_front(Request { origin, command });
            }
            Command::AbortAndPrompt { message } if self.run.is_some() || self.is_occupied() => {
                self.waiting.push_front(Request { origin, command: Command::AbortAndPrompt { message } });
                return self.stop();
            }
            command if self.needs_an_end(&command) => {
                self.waiting.push_front(Request { origin, command });
                return self.stop();
            }
            Command::Prompt { message, when_busy } => return self.prompt(origin, message, when_busy),
            Command::AbortAndPrompt { message } => {
                self.answer_on_receipt(&origin);
                return self.prompt(origin, message, None);
            }
            Command::Continue { message } => return self.continue_conversation(origin, message),
            Command::Enqueue { message, queue } => return self.steer(origin, message, queue),
            Command::Abort => return self.abort(origin),
            Command::AbortRetry => return self.abort_retry(origin),
            Command::Compact { instructions } => return self.compact(origin, instructions),
            Command::NavigateTree { entry, summarize, instructions } => {
                return self.navigate(origin, &entry, summarize, instructions);
            }
            Command::ExportHtml { path } => return self.export_html(origin, path),
            Command::Shell { command, exclude_from_context } => {
                return self.start_shell(origin, command, exclude_from_context);
            }
            Command::AbortShell => Ok(self.abort_shells()),
            Command::ClearQueue => Ok(self.clear_queue()),
            Command::GetState => Ok(self.state()),
            Command::GetMessages => Ok(Answer::Messages(self.conversation.messages().to_vec())),
            Command::GetCommands => Ok(Answer::Commands(Vec::new())),
            Command::GetLastAssistantText => Ok(self.last_assistant_text()),
            Command::GetSessionStatistics => self.session_statistics(),
            Command::SetModel { provider, id } => self.set_model(&provider, &id),
            Command::ChooseModel { provider, pattern } => self.choose_model(provider.as_deref(), &pattern),
            Command::CycleModel => self.cycle_model(),
            Command::GetAvailableModels => Ok(self.available_models()),
            Command::SetThinkingLevel { level } => self.choose_thinking_level(level),
            Command::CycleThinkingLevel => self.cycle_thinking_level(),
            Command::GetAvailableThinkingLevels => Ok(Answer::ThinkingLevels(self.thinking_levels())),
            Command::SetQueueMode { queue, mode } => self.set(|engine| engine.queues.set_mode(queue, mode)),
            Command::SetInterruptMode { mode } => self.set(|engine| engine.interrupt_mode = mode),
            Command::SetAutoCompaction { enabled } => {
                self.set(|engine| engine.settings.auto_compaction = enabled)
            }
            Command::SetAutoRetry { enabled } => self.set(|engine| engine.settings.retry.enabled = enabled),
            Command::NewSession { parent } => self.new_session(parent),
            Command::SwitchSession { path } => self.switch_session(&path),
            Command::Fork { entry } => self.fork(&entry),
            Command::Clone => self.clone_session(),
            Command::SetSessionName { name } => self.set_session_name(&name),
            Command::GetForkMessages => self.fork_messages(),
            Command::GetEntries { since } => self.entries(since.as_deref()),
            Command::GetTree => self.tree(),
            Command::SetLabel { entry, label } => self.set_label(&entry, label.as_deref()),
            Command::ListSessions { query } => self.list_sessions(query),
            Command::DeleteSession { path } => self.delete_session(&path),
        };
        self.reply(origin, result);
    }

    fn set(&mut self, change: impl FnOnce(&mut Self)) -> Result<Answer, Refusal> {
        change(self);
        Ok(Answer::Done)
    }

    /// Tells whether a command can only be carried out when nothing is under way, and something is. A command that
    /// is bound to fail does not end a run for nothing.
    fn needs_an_end(&self, command: &Command) -> bool {
        let is_free = self.run.is_none() && !self.is_occupied();
        match command {
            _ if is_free => false,
            Command::NewSession { .. } | Command::Clone | Command::Compact { .. } => true,
            Command::SwitchSession { path } => self.working_directory.join(path).exists(),
            Command::Fork { entry } | Command::NavigateTree { entry, .. } => self.session.has_entry(entry),
            _ => false,
        }
    }

    /// Stops the run, or whatever works on a summary.
    fn stop(&mut self) {
        self.abort_run();
        self.abort_summaries();
    }

    /// Stops everything. What is due is still said; whoever drives the engine waits until it is idle.
    fn shut_down(&mut self) {
        self.shutting_down = true;
        self.stop();
        self.abort_shells();
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    pub(crate) fn reply(&mut self, origin: Origin, result: Result<Answer, Refusal>) {
        self.outputs.push_back(Output::Reply(Reply { origin, result }));
    }

    /// Returns a number that no earlier call, batch, timer or command has.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(crate) fn tool_names(&self) -> Arc<[String]> {
        Arc::clone(&self.tool_names)
    }

    pub(crate) fn tool_definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::clone(&self.tool_definitions)
    }

    pub(crate) fn system_prompt(&mut self) -> Arc<str> {
        let directory = self.session.working_directory();
        self.system_prompt.text(directory, &self.tool_definitions, &self.clock)
    }

    /// Returns the time in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.milliseconds()
    }
}
