//! A session: the parts of its state, and what happens to them next.
//!
//! This module holds the parts together and takes inputs in; each of the others holds one piece of the flow.

mod aborting;
mod admission;
mod backoff;
mod budgeting;
mod call_approval;
mod call_hooks;
mod call_verdict;
mod commands;
mod compacting;
mod continuation;
mod delegating;
mod dialogs;
mod extension_inputs;
mod file_changes;
mod hook_points;
mod hooks;
mod host_calls;
mod host_questions;
mod images;
mod local_commands;
mod message_preparation;
mod messages;
mod mirroring;
mod missing_model;
mod model_answer;
mod output;
mod overflow;
mod panics;
mod passed_on;
mod pending_changes;
mod prompting;
mod question_review;
mod reattaching;
mod request_hooks;
mod routing;
mod run_preparation;
mod sandboxing;
mod session_hooks;
mod steering;
mod stream_rules;
mod summarizing;
mod summary_hooks;
mod todos;
mod tool_calls;
mod turn_boundaries;
mod turns;
mod unsandboxed_commands;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::command::{InterruptMode, Origin, Request};
use bowline_core::event::Event;
use bowline_core::hook::{CustomMessageDraft, SessionReason};
use bowline_core::message::BashExecutionMessage;
use bowline_core::reply::{Answer, Refusal, Reply};
use bowline_core::ui::{DialogAnswer, Screen};
use bowline_extension::Resources;
use bowline_tools::{Editor, Toolbox};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::activity::Activity;
use crate::agent::{Agent, OpenedSession};
use crate::approvals::Approvals;
use crate::attachment::{Attachment, EarlyInput};
use crate::budget::Budget;
use crate::extension::Mirror;
use crate::extensions::Extensions;
use crate::file_changes::FileChanges;
use crate::hook_lane::{Lane, Outputs};
use crate::host::Addresses;
use crate::input::{Input, Inputs, Output, Step, TaskStep};
use crate::instructions::{Instructions, Prompt};
use crate::model_choice::ModelChoice;
use crate::pending::{Awaited, JobOrder, Pending, PendingId};
use crate::queues::Queues;
use crate::rule_watch::RuleWatch;
use crate::run::Run;
use crate::settings::RetrySettings;
use crate::subagents::Roster;
use crate::system_prompt::SystemPrompt;
use crate::tool_set::ToolSet;
use crate::transcript::Transcript;
pub(crate) use budgeting::Counting;
pub(crate) use call_approval::{OpenQuestion, Subject};
pub(crate) use call_verdict::CheckedCall;
pub(crate) use compacting::Futile;
pub(crate) use continuation::Continuation;
pub(crate) use dialogs::OpenDialog;
use extension_inputs::ExtensionReplies;
use file_changes::track_files;
pub(crate) use hook_points::HookPoint;
pub(crate) use hooks::OpenHook;
use local_commands::LocalCommands;
pub(crate) use message_preparation::{Incoming, RunningCommand};
pub(crate) use model_answer::AnswerStep;
pub use passed_on::PassedAnswer;
pub(crate) use passed_on::{Asker, PassedOn};
use pending_changes::PendingNotes;
pub(crate) use prompting::Receipt;
use sandboxing::NotedSandbox;
use todos::Todos;

/// One session: a conversation, at most one run, and whatever else is in progress.
#[derive(Debug)]
pub struct Session {
    agent: Agent,
    /// Where a new session of this client works.
    working_directory: PathBuf,
    transcript: Transcript,
    models: ModelChoice,
    instructions: Instructions,
    switches: Switches,
    queues: Queues,
    budget: Budget,
    /// What wakes the session up because of the time that a run takes.
    deadline: Option<PendingId>,
    activity: Activity,
    pending: Pending,
    /// Why compaction at the threshold failed in this run, if it did.
    futile_compaction: Option<Futile>,
    /// Results of user-initiated commands that wait for the end of the turn or of a copy of the session.
    held_command_results: Vec<BashExecutionMessage>,
    /// Requests that wait for what is in progress, and those behind them.
    backlog: VecDeque<Request>,
    /// The requests that were received and not replied to, so that not even a panic loses a reply.
    unanswered: Vec<Origin>,
    outputs: Outputs,
    local_commands: LocalCommands,
    shutting_down: bool,
    /// Stops the logins in progress.
    logins: CancellationToken,
    /// Whether the client sends nothing any more, so that it answers nothing.
    has_input_ended: bool,
    rules: RuleWatch,
    todos: Todos,
    subagents: Roster,
    /// What runs change in files.
    files: FileChanges,
    pending_notes: PendingNotes,
    extensions: Extensions,
    /// The events that extensions see before anybody else.
    lane: Lane,
    attachment: Attachment,
    /// What extensions were last told of the session.
    last_mirror: Option<Arc<Mirror>>,
    extension_replies: ExtensionReplies,
    /// Messages of extensions that wait for the end of the turn.
    held_custom_messages: Vec<CustomMessageDraft>,
    /// Messages of extensions that wait until the end of the run before was shown to all of them.
    deferred_messages: Vec<EarlyInput>,
    /// The extensions that wait until nothing is in progress.
    idle_waiters: Vec<oneshot::Sender<()>>,
    /// Whether an extension wants the process to end.
    quits_when_idle: bool,
    /// The schemes of the addresses that the client serves.
    addresses: Addresses,
    /// What changes of files go through, if the client wants that.
    editor: Option<Arc<dyn Editor>>,
    /// What the file says of the sandbox.
    noted_sandbox: Option<NotedSandbox>,
    approvals: Approvals,
}

/// What a client can switch for this session; nothing is written back to the settings.
#[derive(Debug, Clone, Copy)]
struct Switches {
    auto_compaction: bool,
    auto_retry: bool,
    interrupt_mode: InterruptMode,
    /// Whether the client wants to know what runs change in files.
    shows_changes: bool,
    /// The place that the client has for components of extensions, if it shows them.
    screen: Option<Screen>,
}

impl Session {
    /// Returns a session of `agent`. `inputs` leads back to [`Session::handle`].
    pub fn new(
        agent: Agent,
        mut opened: OpenedSession,
        working_directory: PathBuf,
        inputs: Inputs,
    ) -> Result<Self, Refusal> {
        let notes = std::mem::take(&mut opened.notes);
        // What the extensions of one session add is not for the others.
        let agent = match agent.hosts() {
            [] => agent,
            _ => agent.with(|parts| parts.providers = parts.providers.for_session()),
        };
        let agent = match agent.gate().for_session() {
            Some(gate) => agent.with(|parts| parts.gate = gate),
            None => agent,
        };
        let settings = agent.settings();
        let defaults = agent.model_defaults().clone();
        let mut models = ModelChoice::for_session(defaults, &opened.context, agent.providers());
        let queues = Queues::new(settings.steering_mode, settings.follow_up_mode);
        let switches = Switches {
            auto_compaction: settings.auto_compaction,
            auto_retry: settings.retry.enabled,
            interrupt_mode: agent.policy().interrupt_mode,
            shows_changes: false,
            screen: None,
        };
        let subagents = Roster::new(settings.subagents.max_parallel);
        let built_in = unsandboxed_commands::with_unsandboxed(&agent, agent.toolbox().clone());
        let tools = ToolSet::new(built_in, settings.offered_tools.clone());
        let (system_prompt, resources) = (agent.system_prompt().clone(), agent.resources().clone());
        let instructions = Instructions::new(tools, system_prompt, resources);
        let mut budget = Budget::new(settings.limits, agent.clock().clone());
        opened.count_spent(&agent)?;
        budget.enter(opened.spent());
        let transcript = commands::sessions::enter(&agent, opened, &mut models)?;
        let pending = Pending::new(inputs);
        let files = track_files(&agent, &transcript);
        let mut session = Self {
            transcript,
            working_directory,
            models,
            instructions,
            switches,
            queues,
            budget,
            deadline: None,
            activity: Activity::Idle,
            pending,
            futile_compaction: None,
            held_command_results: Vec::new(),
            backlog: VecDeque::new(),
            unanswered: Vec::new(),
            outputs: Outputs::default(),
            local_commands: LocalCommands::default(),
            shutting_down: false,
            logins: CancellationToken::new(),
            has_input_ended: false,
            rules: RuleWatch::restored(notes.rules),
            todos: Todos::restored(notes.todos),
            subagents,
            files,
            pending_notes: PendingNotes::default(),
            extensions: Extensions::default(),
            attachment: Attachment::starting(SessionReason::Startup),
            lane: Lane::default(),
            last_mirror: None,
            extension_replies: ExtensionReplies::default(),
            held_custom_messages: Vec::new(),
            deferred_messages: Vec::new(),
            idle_waiters: Vec::new(),
            quits_when_idle: false,
            addresses: Addresses::default(),
            editor: None,
            noted_sandbox: None,
            approvals: Approvals::default(),
            agent,
        };
        session.attach_hosts();
        Ok(session)
    }

    /// Handles one input to completion.
    pub fn handle(&mut self, input: Input) {
        let may_change_state =
            !self.extensions.is_empty() && matches!(input, Input::Request(_) | Input::Extension { .. });
        match input {
            Input::Request(request) => self.receive(request),
            Input::Answer(answer) => self.question_answered(answer),
            Input::PassedBack(answer) => self.answer_passed_back(*answer),
            Input::Step(TaskStep { id, step }) => self.task_reported(id, step),
            Input::Extension { host, input } => {
                if let Some(place) = self.extensions.place(host) {
                    self.ahead(|session| session.extension_input(place, *input));
                }
            }
            Input::HostCall(request) => self.open_host_call(*request),
            Input::HostReport(report) => self.host_reported(*report),
            Input::HostQuestion(question) => self.host_asked(*question),
            Input::Abort => {
                self.stop();
                self.abort_commands();
            }
            Input::InputEnded => self.input_ended(),
            Input::Shutdown => self.shut_down(),
        }
        if may_change_state && self.attachment.is_started() {
            self.mirror();
        }
        self.begin_reload_if_due();
        self.work_off_backlog();
        self.finish_handling();
    }

    /// Returns the next output.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.next()
    }

    /// Tells whether nothing is in progress: no run, no summary, no command, no request that waits.
    pub fn is_idle(&self) -> bool {
        self.activity.is_idle()
            && self.pending.is_empty()
            && self.backlog.is_empty()
            && !self.attachment.holds_prompts()
            && !self.attachment.keeps_inputs()
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        self.transcript.session_id()
    }

    /// Returns the session's file, also before it exists; a session in memory has none.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.transcript.file().file()
    }

    /// Uses other tools from the next call of the model on.
    pub fn set_tools(&mut self, toolbox: Toolbox) {
        let toolbox = unsandboxed_commands::with_unsandboxed(&self.agent, toolbox);
        self.instructions.set_tools(toolbox);
    }

    /// Uses another system prompt from the next call of the model on.
    pub fn set_system_prompt(&mut self, system_prompt: SystemPrompt) {
        self.instructions.set_system_prompt(system_prompt);
    }

    /// Uses other skills and templates from the next message on.
    pub fn set_resources(&mut self, resources: Resources) {
        self.instructions.set_resources(resources);
    }

    /// Passes on what a task reports, unless nobody waits for it any more.
    fn task_reported(&mut self, id: crate::pending::PendingId, step: Step) {
        let Some(awaited) = self.pending.awaited(id) else { return };
        match (awaited, step) {
            (_, Step::Panicked(message)) => self.task_panicked(id, &message),
            (Awaited::State { .. }, Step::SystemPrompt(built)) => self.state_ready(id, built),
            (_, Step::SystemPrompt(built)) => self.instructions.keep(built),
            (_, Step::StreamRules { directory, loaded }) => self.rules_read(directory, *loaded),
            (Awaited::Answer, Step::Answer(step)) => self.answer_step(step),
            (&Awaited::Call { index }, Step::Tool(step)) => self.tool_step(index, step),
            (Awaited::Verdict(_), Step::Verdict(verdict)) => self.verdict_ready(id, *verdict),
            (Awaited::Review { .. }, Step::Verdict(verdict)) => self.review_done(id, &verdict),
            (Awaited::Question(_), Step::DialogOver(cause)) => self.question_over(id, cause),
            (Awaited::Remembered, Step::Remembered(result)) => self.remembered(id, result),
            (Awaited::Hook(_), Step::HookDone(outcome)) => self.hook_reported(id, outcome),
            (Awaited::Expansion(_), Step::Expanded(expansion)) => self.expanded(id, expansion),
            (Awaited::ExtensionsStopped, Step::ExtensionsStopped) => drop(self.pending.remove(id)),
            (Awaited::HostsStopped, Step::HostsStopped(configured)) => self.hosts_stopped(id, configured),
            (_, Step::HookFailed(failure)) => self.hook_failed(failure),
            (Awaited::ExtensionCommand(_), Step::ExtensionCommandDone(result)) => {
                self.extension_command_done(id, result);
            }
            (Awaited::PassedOn(_), Step::DialogOver(cause)) => self.passed_on_over(id, cause),
            (Awaited::Dialog(_), Step::DialogOver(cause)) => {
                self.close_dialog(id, DialogAnswer::Cancelled, cause);
            }
            (Awaited::HostCall(_), Step::HostCallOver(end)) => self.cancel_host_call(id, end),
            (Awaited::Deadline, Step::DeadlineReached) => self.deadline_reached(id),
            (Awaited::Counting(_), Step::Counted(counted)) => self.counted(id, counted),
            (Awaited::Backoff, Step::BackoffOver) => self.backoff_over(id),
            (Awaited::Images { .. }, Step::ImagesResized(message)) => self.images_resized(id, message),
            (Awaited::QueuedImages(_), Step::ImagesResized(message)) => {
                self.queued_images_resized(id, message);
            }
            (Awaited::Summary, Step::Summary(step)) => self.summary_step(step),
            (Awaited::SessionChange, Step::SessionReady(result)) => self.session_ready(id, *result),
            (Awaited::FileChanges(_), Step::FileChanges(changes)) => self.files_changed(id, changes),
            (Awaited::FileChanges(_), Step::PendingChanges(report)) => self.pending_listed(id, report),
            (Awaited::Job { .. }, Step::Job(result)) => self.job_done(id, *result),
            (Awaited::UserCommand(_), Step::CommandOutput(text)) => self.command_output(id, text),
            (Awaited::UserCommand(_), Step::CommandDone(result)) => self.command_done(id, result),
            // A task reports only what it was started for.
            (awaited, step) => debug_assert!(false, "{step:?} for {awaited:?}"),
        }
    }

    /// Carries out a command in the background and replies with what it returns.
    fn reply_later(
        &mut self,
        origin: Origin,
        order: JobOrder,
        work: impl Future<Output = Result<Answer, Refusal>> + Send + 'static,
    ) {
        self.pending.start(Awaited::Job { origin, order }, |reporter| async move {
            let result = work.await;
            reporter.send(Step::Job(Box::new(result))).await;
        });
    }

    fn job_done(&mut self, id: crate::pending::PendingId, result: Result<Answer, Refusal>) {
        if let Some(Awaited::Job { origin, .. }) = self.pending.remove(id) {
            if let Ok(answer) = &result {
                self.note_reported_sandbox(answer);
                self.note_settled(answer);
            }
            if let Ok(Answer::FilesRestored(restored)) = &result {
                self.note_restored(restored);
            }
            self.reply(origin, result);
        }
    }

    fn emit(&mut self, event: Event) {
        if let Some(run) = self.run_mut() {
            run.note(&event);
        }
        self.observe(&event);
        self.push_counted(event);
    }

    /// Emits an event that extensions have been told of.
    fn emit_unobserved(&mut self, event: Event) {
        if let Some(run) = self.run_mut() {
            run.note(&event);
        }
        self.push_counted(event);
    }

    fn push_counted(&mut self, event: Event) {
        let is_counted = self.budget.observe(&event);
        self.outputs.push(Output::Event(event));
        if is_counted {
            self.spent();
        }
    }

    fn reply(&mut self, origin: Origin, result: Result<Answer, Refusal>) {
        let Some((origin, result)) = self.local_command_done(origin, result) else { return };
        // Most requests are replied to before the next one arrives.
        if let Some(index) = self.unanswered.iter().rposition(|unanswered| *unanswered == origin) {
            self.unanswered.swap_remove(index);
        }
        if let Some(result) = self.reply_to_extension(&origin, result) {
            let overtakes = result.as_ref().is_ok_and(Answer::is_snapshot);
            let reply = Output::Reply(Reply { origin, result });
            if overtakes { self.outputs.push_ahead(reply) } else { self.outputs.push(reply) }
        }
    }

    fn run(&self) -> Option<&Run> {
        self.activity.run()
    }

    fn run_mut(&mut self) -> Option<&mut Run> {
        self.activity.run_mut()
    }

    /// Returns the number of the current turn, from 0.
    fn turn_index(&self) -> u32 {
        self.run().map_or(0, Run::turn_index)
    }

    fn system_prompt(&mut self) -> Prompt {
        self.instructions.prompt(self.transcript.working_directory(), self.agent.clock())
    }

    /// Returns the retry settings with what the client switched.
    fn retry_settings(&self) -> RetrySettings {
        RetrySettings { enabled: self.switches.auto_retry, ..self.agent.settings().retry.clone() }
    }

    /// Returns the time in milliseconds since 1970.
    fn now(&self) -> u64 {
        self.agent.clock().milliseconds()
    }
}
