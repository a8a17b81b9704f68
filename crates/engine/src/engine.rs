//! The engine: what it holds, what can happen to it, and who takes care of each.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::command::{Command, Origin, Request};
use bowline_core::event::Event;
use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::reply::{Answer, Refusal, RefusalCode, Reply};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::ToolDefinition;
use bowline_llm::{Providers, Resolved};
use bowline_session::{Clock, Session};
use bowline_tools::{CommandOutcome, Toolbox};
use tokio::sync::mpsc;

use crate::answer::AnswerStep;
use crate::commands::shell::Shells;
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
    /// All is known that there is to say about a prompt that cannot be accepted.
    Refused { number: u64, origin: Origin, refusal: Refusal },
    /// A shell command that was started by hand wrote something.
    ShellOutput { number: u64, text: String },
    /// A shell command that was started by hand is over.
    ShellDone { number: u64, result: Result<CommandOutcome, String> },
    /// The process is to end: stop everything.
    Shutdown,
}

/// What the engine has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Event(Event),
    Reply(Reply),
}

/// What an engine is made of.
#[derive(Debug)]
pub struct Parts {
    pub settings: Settings,
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
    pub(crate) providers: Providers,
    pub(crate) toolbox: Toolbox,
    pub(crate) system_prompt: SystemPrompt,
    pub(crate) session_plan: SessionPlan,
    pub(crate) session: Session,
    /// Where a new session works.
    pub(crate) working_directory: PathBuf,
    /// The conversation as the model sees it, in step with the session's current branch.
    pub(crate) context: Vec<Arc<Message>>,
    pub(crate) chosen_model: Option<Arc<Model>>,
    pub(crate) chosen_thinking_level: Option<ThinkingLevel>,
    pub(crate) default_model: Option<Arc<Model>>,
    pub(crate) default_thinking_level: ThinkingLevel,
    pub(crate) scope: Vec<Resolved>,
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) queues: Queues,
    pub(crate) run: Option<Run>,
    pub(crate) shells: Shells,
    pub(crate) refusals: Refusals,
    /// Requests that wait for the end of a run that is being stopped, and those behind them.
    pub(crate) waiting: VecDeque<Request>,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) clock: Clock,
    tool_definitions: Arc<[ToolDefinition]>,
    outputs: VecDeque<Output>,
    last_number: u64,
    shutting_down: bool,
}

impl Engine {
    /// Returns an engine with its session opened. `inputs` leads back to [`Engine::handle`].
    pub fn new(parts: Parts, inputs: mpsc::Sender<Input>) -> Result<Self, Refusal> {
        let tool_definitions = parts.toolbox.definitions().into();
        let queues = Queues::new(parts.settings.steering_mode, parts.settings.follow_up_mode);
        let mut engine = Self {
            settings: parts.settings,
            providers: parts.providers,
            toolbox: parts.toolbox,
            system_prompt: parts.system_prompt,
            session_plan: parts.session_plan,
            session: parts.session,
            working_directory: parts.working_directory,
            context: Vec::new(),
            chosen_model: parts.chosen_model,
            chosen_thinking_level: parts.chosen_thinking_level,
            default_model: parts.default_model,
            default_thinking_level: parts.default_thinking_level,
            scope: parts.scope,
            model: None,
            thinking_level: ThinkingLevel::Off,
            queues,
            run: None,
            shells: Shells::default(),
            refusals: Refusals::default(),
            waiting: VecDeque::new(),
            inputs,
            clock: parts.clock,
            tool_definitions,
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
            Input::Refused { number, origin, refusal } => self.refused(number, origin, refusal),
            Input::ShellOutput { number, text } => self.shell_output(number, text),
            Input::ShellDone { number, result } => self.shell_done(number, result),
            Input::Shutdown => self.shut_down(),
        }
        while !self.is_stopping()
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

    /// Tells whether nothing is under way: no run, no command, no request that waits.
    pub fn is_idle(&self) -> bool {
        self.run.is_none() && self.shells.is_empty() && self.refusals.is_empty() && self.waiting.is_empty()
    }

    /// Accepts a request, or lets it wait behind one that waits already. An abort waits too: the run is being stopped
    /// as it is, and the abort is meant for the prompts that came before it.
    fn request(&mut self, request: Request) {
        if self.shutting_down {
            let refusal = Refusal::new(RefusalCode::ShuttingDown, "bowline is shutting down");
            self.reply(request.origin, Err(refusal));
        } else if self.waiting.is_empty() || request.command == Command::AbortShell {
            self.carry_out(request);
        } else {
            self.waiting.push_back(request);
        }
    }

    /// Carries out a command. The commands that answer by themselves, later or between events, return early.
    fn carry_out(&mut self, request: Request) {
        let Request { origin, command } = request;
        let result = match command {
            // It comes after the abort, so it is meant for what comes after the run.
            Command::Prompt { .. } if self.is_stopping() => {
                self.waiting.push_front(Request { origin, command });
                return;
            }
            Command::Prompt { message, when_busy } => return self.prompt(origin, message, when_busy),
            Command::Enqueue { message, queue } => Ok(self.enqueue(message, queue)),
            Command::Abort => return self.abort(origin),
            Command::AbortRetry => return self.abort_retry(origin),
            Command::ClearQueue => Ok(self.clear_queue()),
            Command::GetState => Ok(self.state()),
            Command::GetMessages => Ok(Answer::Messages(self.context.clone())),
            Command::GetCommands => Ok(Answer::Commands(Vec::new())),
            Command::GetLastAssistantText => Ok(self.last_assistant_text()),
            Command::GetSessionStatistics => self.session_statistics(),
            Command::SetModel { provider, id } => self.set_model(&provider, &id),
            Command::CycleModel => self.cycle_model(),
            Command::GetAvailableModels => Ok(self.available_models()),
            Command::SetThinkingLevel { level } => self.choose_thinking_level(level),
            Command::CycleThinkingLevel => self.cycle_thinking_level(),
            Command::GetAvailableThinkingLevels => Ok(Answer::ThinkingLevels(self.thinking_levels())),
            Command::SetQueueMode { queue, mode } => {
                self.queues.set_mode(queue, mode);
                Ok(Answer::Done)
            }
            Command::SetAutoCompaction { enabled } => {
                self.settings.auto_compaction = enabled;
                Ok(Answer::Done)
            }
            Command::SetAutoRetry { enabled } => {
                self.settings.retry.enabled = enabled;
                Ok(Answer::Done)
            }
            Command::Shell { command, exclude_from_context } => {
                return self.start_shell(origin, command, exclude_from_context);
            }
            Command::AbortShell => Ok(self.abort_shells()),
            Command::NewSession { .. } | Command::SwitchSession { .. } if self.run.is_some() => {
                self.waiting.push_front(Request { origin, command });
                return self.abort_run();
            }
            Command::NewSession { parent } => self.new_session(parent),
            Command::SwitchSession { path } => self.switch_session(&path),
            Command::SetSessionName { name } => self.set_session_name(&name),
            Command::Compact { .. }
            | Command::Fork { .. }
            | Command::Clone
            | Command::GetForkMessages
            | Command::GetEntries { .. }
            | Command::GetTree
            | Command::ExportHtml { .. } => {
                let text = format!("not implemented yet: {}", origin.name);
                Err(Refusal::new(RefusalCode::NotImplemented, text))
            }
        };
        self.reply(origin, result);
    }

    /// Stops everything. What is due is still said; whoever drives the engine waits until it is idle.
    fn shut_down(&mut self) {
        self.shutting_down = true;
        self.abort_run();
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
