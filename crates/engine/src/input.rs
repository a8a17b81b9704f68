//! What goes into a session and what comes out of it.

use std::path::PathBuf;

use bowline_core::SessionTag;
use bowline_core::ask::AskAnswer;
use bowline_core::command::{Draft, Request};
use bowline_core::event::{AskEnd, Event};
use bowline_core::file_changes::RunChanges;
use bowline_core::host::HostReport;
use bowline_core::limits::Spent;
use bowline_core::pending_changes::PendingReport;
use bowline_core::reply::{Answer, Refusal, Reply};
use bowline_extension::Expansion;
use bowline_extension::stream_rules::Loaded;
use bowline_tools::CommandOutcome;
use tokio::sync::mpsc;

use crate::agent::{Agent, OpenedSession};
use crate::call_gate::Verdict;
use crate::compaction::SummaryStep;
use crate::configuration::Configured;
use crate::extension::{CommandResult, ExtensionInput, HostId};
use crate::hook_chain::{ChainOutcome, HookFailure};
use crate::host::{HostCallEnd, HostRequest};
use crate::host_question::HostQuestion;
use crate::instructions::BuiltPrompt;
use crate::pending::PendingId;
use crate::session::{AnswerStep, PassedAnswer};
use crate::tool_call_states::ToolStep;

/// Everything that can happen to a session.
#[derive(Debug)]
pub enum Input {
    /// A client sent a command.
    Request(Request),
    /// The user answered a question.
    Answer(AskAnswer),
    /// The parent of this session, which is a subagent, says what was decided about a question.
    PassedBack(Box<PassedAnswer>),
    /// A task of the session reports.
    Step(TaskStep),
    /// An extension of this host wants something.
    Extension { host: HostId, input: Box<ExtensionInput> },
    /// A tool wants the client to do something.
    HostCall(Box<HostRequest>),
    /// The client says something about what it was asked to do.
    HostReport(Box<HostReport>),
    /// Something that serves the tools wants to know whether they may reach a host.
    HostQuestion(Box<HostQuestion>),
    /// What is in progress is to be stopped; nobody is replied to for it.
    Abort,
    /// The client sends nothing any more, so nobody can answer. What is in progress goes on.
    InputEnded,
    /// The session is to end: everything is stopped.
    Shutdown,
}

/// A report of a task.
#[derive(Debug)]
pub struct TaskStep {
    pub(crate) id: PendingId,
    pub(crate) step: Step,
}

/// What a task can report.
#[derive(Debug)]
pub(crate) enum Step {
    Answer(AnswerStep),
    Tool(ToolStep),
    /// The gate has decided about a call.
    Verdict(Box<Verdict>),
    /// What the user decided was written down, or could not be.
    Remembered(Result<(), String>),
    BackoffOver,
    /// It is time to look at the time that the run has taken.
    DeadlineReached,
    /// What a session has spent was counted.
    Counted(Result<Spent, Refusal>),
    ImagesResized(Draft),
    Summary(SummaryStep),
    /// A user-initiated command wrote something.
    CommandOutput(String),
    CommandDone(Result<CommandOutcome, String>),
    /// A command of the client was carried out in the background.
    Job(Box<Result<Answer, Refusal>>),
    /// What a run changed in files is known.
    FileChanges(Option<Box<RunChanges>>),
    /// What is pending after a run is known.
    PendingChanges(Option<Box<PendingReport>>),
    /// The session to change to was opened, forked or cloned.
    SessionReady(Box<Result<(OpenedSession, Answer), Refusal>>),
    /// The system prompt was built for what the task is about.
    SystemPrompt(BuiltPrompt),
    /// Extensions were called at a hook.
    HookDone(ChainOutcome),
    /// An extension failed at a hook; others are still called.
    HookFailed(HookFailure),
    /// The skill or template that a message names was read.
    Expanded(Expansion),
    /// Extensions have ended, because the process ends.
    ExtensionsStopped,
    /// The hosts have ended, and others take their place. What users configure was read again if that was wanted.
    HostsStopped(Option<Box<Result<Configured, String>>>),
    /// A slash command of an extension is over.
    ExtensionCommandDone(Result<CommandResult, String>),
    /// A call of the client timed out or is not wanted any more.
    HostCallOver(HostCallEnd),
    /// A dialog timed out or was withdrawn.
    DialogOver(AskEnd),
    /// The stream rules of a folder were read.
    StreamRules {
        directory: PathBuf,
        loaded: Box<Loaded>,
    },
    /// The task panicked, with this message.
    Panicked(String),
}

/// What something in the background reports, together with the session that it is for.
#[derive(Debug)]
pub struct Tagged {
    pub session: SessionTag,
    pub report: Report,
}

/// A report from the background.
#[derive(Debug)]
pub enum Report {
    /// A task of the session reports. It becomes an [`Input`].
    Step(TaskStep),
    /// The session was opened, or could not be.
    Opened(Box<Result<(Agent, OpenedSession), Refusal>>),
    /// An extension of the session wants something. It becomes an [`Input`].
    Extension { host: HostId, input: Box<ExtensionInput> },
    /// A tool of the session wants the client to do something. It becomes an [`Input`].
    HostCall(Box<HostRequest>),
    /// Whether tools of the session may reach a host. It becomes an [`Input`].
    HostQuestion(Box<HostQuestion>),
}

/// The way back into a session for its tasks.
#[derive(Debug, Clone)]
pub struct Inputs {
    session: SessionTag,
    sender: mpsc::Sender<Tagged>,
}

impl Inputs {
    /// Returns the way back into the session with this tag; `sender` leads to whoever drives the sessions.
    pub fn new(session: SessionTag, sender: mpsc::Sender<Tagged>) -> Self {
        Self { session, sender }
    }

    /// Sends a report, waiting for room. Returns whether anybody still receives.
    pub(crate) async fn send(&self, report: Report) -> bool {
        // A future that has the report in another form while it waits is larger, and so is whatever waits for it.
        let Ok(permit) = self.sender.reserve().await else { return false };
        permit.send(Tagged { session: self.session, report });
        true
    }

    /// Sends a report unless the channel is full.
    pub(crate) fn try_send(&self, step: TaskStep) {
        let _ = self.sender.try_send(Tagged { session: self.session, report: Report::Step(step) });
    }
}

/// What a session has to say.
#[derive(Debug, Clone)]
pub enum Output {
    Event(Event),
    Reply(Reply),
    /// An extension wants the process to end, or its host has found that it must not go on.
    Quit {
        has_failed: bool,
    },
}
