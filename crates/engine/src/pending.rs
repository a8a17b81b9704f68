//! The registry of everything that a session waits for.
//!
//! An answer of the model, a tool call, a question to the user, a backoff, a summary, a background job: each is an
//! entry with an id, what it is for, and the task that works on it. Reports carry the id, so stale ones are dropped in
//! one place; removing an entry cancels its task.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use bowline_core::ask::AskId;
use bowline_core::command::{Origin, Queue};
use bowline_core::event::RunOutcome;
use bowline_core::hook::StartAdditions;
use bowline_core::host::HostCallId;
use bowline_core::policy::IdleQueue;
use bowline_core::reply::State;
use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::host::OpenHostCall;
use crate::input::{Inputs, Report, Step, TaskStep};
use crate::session::{
    Asker, CheckedCall, Counting, HookPoint, Incoming, OpenDialog, OpenHook, OpenQuestion, Receipt,
    RunningCommand, Subject,
};

/// The id of an entry. No two entries of a session have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PendingId(u64);

/// What an entry is for.
#[derive(Debug)]
pub(crate) enum Awaited {
    /// The model's answer in the current run.
    Answer,
    /// A tool call of the current run, by its place in the answer.
    Call { index: usize },
    /// The gate's verdict about a tool call of the current run.
    Verdict(CheckedCall),
    /// The gate's verdict about a call that the user is to be asked about, by its question.
    Review { question: PendingId },
    /// The user's answer about a tool call of the current run, or about a host.
    Question(Box<OpenQuestion>),
    /// What the user decided is being written down.
    Remembered,
    /// The user's answer to a dialog of an extension.
    Dialog(OpenDialog),
    /// The user's answer to a question of a subagent.
    PassedOn(Asker),
    /// What extensions say at a hook.
    Hook(Box<OpenHook>),
    /// The skill or template that a message names.
    Expansion(Incoming),
    /// The end of all extensions, because the process ends.
    ExtensionsStopped,
    /// The end of all hosts, because others take their place.
    HostsStopped,
    /// The end of a slash command of an extension.
    ExtensionCommand(RunningCommand),
    /// What the client was asked to do.
    HostCall(OpenHostCall),
    /// The time at which a run is near the end of its time, or at it.
    Deadline,
    /// What the session has spent, for a command about the limits.
    Counting(Counting),
    /// The end of the wait before the model is called again.
    Backoff,
    /// The images of a prompt that has not started its run yet.
    Images { additions: Vec<StartAdditions> },
    /// The images of a message that is for a queue.
    QueuedImages(QueuedImages),
    /// The summary of a compaction or of a branch.
    Summary,
    /// The session that the client changes to.
    SessionChange,
    /// The system prompt, for a request of the state that shows it. The state is that at the time of the request.
    State { origin: Origin, state: Box<State> },
    /// What the run changed in files. The run ends when that is known, if it waits for it.
    FileChanges(Option<RunOutcome>),
    /// A command that is carried out in the background and replied to when it is done.
    Job { origin: Origin, order: JobOrder },
    /// A user-initiated shell command.
    UserCommand(UserCommand),
}

/// A message that is queued when its images are small enough. Later commands wait, so that messages keep their order.
#[derive(Debug)]
pub(crate) struct QueuedImages {
    pub origin: Origin,
    pub receipt: Receipt,
    pub queue: Queue,
    /// Whether it starts a run if none is in progress by then.
    pub otherwise: IdleQueue,
}

/// Whether commands wait for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOrder {
    /// Later commands wait, because it changes or lists what they may work on.
    Exclusive,
    /// It runs beside other commands.
    Beside,
}

/// A user-initiated shell command that is running.
#[derive(Debug)]
pub(crate) struct UserCommand {
    pub origin: Origin,
    pub command: String,
    pub exclude_from_context: bool,
    /// The session that it was started in.
    pub session_id: String,
    pub cancel: CancellationToken,
}

/// Everything that a session waits for.
#[derive(Debug)]
pub(crate) struct Pending {
    inputs: Inputs,
    /// Dropped with the session. Another one may be opened under its tag, so what is left of its tasks must not report.
    alive: Arc<()>,
    last_id: u64,
    entries: BTreeMap<PendingId, Entry>,
}

#[derive(Debug)]
struct Entry {
    awaited: Awaited,
    /// Questions have no task: the client answers them.
    task: Option<Task>,
}

impl Pending {
    pub fn new(inputs: Inputs) -> Self {
        Self { inputs, alive: Arc::new(()), last_id: 0, entries: BTreeMap::new() }
    }

    /// Returns the way back into the session, and what tells whether it still exists.
    pub fn way_back(&self) -> (&Inputs, Weak<()>) {
        (&self.inputs, Arc::downgrade(&self.alive))
    }

    /// Starts a task and registers what it is for. If the task panics, that is its last report.
    pub fn start<W>(&mut self, awaited: Awaited, work: impl FnOnce(Reporter) -> W) -> PendingId
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let id = self.next_id();
        let reporter = Reporter { inputs: self.inputs.clone(), session: Arc::downgrade(&self.alive), id };
        let work = AssertUnwindSafe(work(reporter.clone())).catch_unwind();
        let task = tokio::spawn(async move {
            if let Err(panic) = work.await {
                // In a box, because the task is moved several times until it runs.
                Box::pin(reporter.send(Step::Panicked(panic_message(&*panic)))).await;
            }
        });
        self.entries.insert(id, Entry { awaited, task: Some(Task(task)) });
        id
    }

    /// Has a task work on an entry, instead of one that did so far.
    pub fn work_on<W>(&mut self, id: PendingId, work: impl FnOnce(Reporter) -> W)
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let reporter = Reporter { inputs: self.inputs.clone(), session: Arc::downgrade(&self.alive), id };
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.task = Some(Task(tokio::spawn(work(reporter))));
        }
    }

    /// Registers a question, which the client answers.
    pub fn ask(&mut self, awaited: Awaited) -> PendingId {
        let id = self.next_id();
        self.entries.insert(id, Entry { awaited, task: None });
        id
    }

    /// Returns what an entry is for, unless it is no longer waited for.
    pub fn awaited(&self, id: PendingId) -> Option<&Awaited> {
        self.entries.get(&id).map(|entry| &entry.awaited)
    }

    /// Returns what an entry is for, to be changed.
    pub fn awaited_mut(&mut self, id: PendingId) -> Option<&mut Awaited> {
        self.entries.get_mut(&id).map(|entry| &mut entry.awaited)
    }

    /// Returns the calls that the gate is looking at.
    pub fn checks(&self) -> Vec<PendingId> {
        let checks = self.entries.iter().filter(|(_, entry)| matches!(entry.awaited, Awaited::Verdict(_)));
        checks.map(|(id, _)| *id).collect()
    }

    /// Returns the questions about hosts.
    pub fn host_questions(&self) -> Vec<PendingId> {
        let is_about_host = |entry: &Entry| match &entry.awaited {
            Awaited::Question(open) => matches!(open.subject, Subject::Host { .. }),
            _ => false,
        };
        self.entries.iter().filter(|(_, entry)| is_about_host(entry)).map(|(id, _)| *id).collect()
    }

    /// Removes an entry, which cancels its task if it is still running.
    pub fn remove(&mut self, id: PendingId) -> Option<Awaited> {
        self.entries.remove(&id).map(|entry| entry.awaited)
    }

    /// Removes every entry.
    pub fn remove_all(&mut self) -> Vec<Awaited> {
        std::mem::take(&mut self.entries).into_values().map(|entry| entry.awaited).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the questions of the subagents of a call.
    pub fn passed_on(&self, call: usize) -> Vec<PendingId> {
        let is_of_call =
            |entry: &Entry| matches!(&entry.awaited, Awaited::PassedOn(asker) if asker.call == call);
        self.entries.iter().filter(|(_, entry)| is_of_call(entry)).map(|(id, _)| *id).collect()
    }

    /// Tells whether a command of the client is being carried out in the background.
    pub fn has_jobs(&self) -> bool {
        let is_job = |entry: &Entry| {
            matches!(
                entry.awaited,
                Awaited::Job { .. }
                    | Awaited::Counting(_)
                    | Awaited::QueuedImages(_)
                    | Awaited::State { .. }
                    | Awaited::Expansion(_)
            ) || matches!(&entry.awaited, Awaited::Hook(open) if open.point.is_exclusive())
        };
        self.entries.values().any(is_job)
    }

    /// Tells whether there is a job that commands wait for.
    pub fn has_exclusive_jobs(&self) -> bool {
        let is_exclusive = |entry: &Entry| {
            matches!(
                entry.awaited,
                Awaited::Job { order: JobOrder::Exclusive, .. }
                    | Awaited::Counting(_)
                    | Awaited::QueuedImages(_)
                    | Awaited::State { .. }
                    | Awaited::Expansion(_)
            ) || matches!(&entry.awaited, Awaited::Hook(open) if open.point.is_exclusive())
        };
        self.entries.values().any(is_exclusive)
    }

    /// Has nothing wait any longer for what a run changed in files. Returns whether a run did.
    pub fn release_file_changes(&mut self) -> bool {
        let mut waited = false;
        for entry in self.entries.values_mut() {
            if let Awaited::FileChanges(settles) = &mut entry.awaited {
                waited |= settles.take().is_some();
            }
        }
        waited
    }

    /// Tells whether a request of the state waits for the system prompt.
    pub fn has_state_request(&self) -> bool {
        self.entries.values().any(|entry| matches!(entry.awaited, Awaited::State { .. }))
    }

    /// Returns the user-initiated shell commands that are running.
    pub fn user_commands(&self) -> impl Iterator<Item = &UserCommand> {
        self.entries.values().filter_map(|entry| match &entry.awaited {
            Awaited::UserCommand(command) => Some(command),
            _ => None,
        })
    }

    /// Returns the dialogs that are open.
    pub fn dialogs(&self) -> Vec<PendingId> {
        let open = self.entries.iter().filter(|(_, entry)| matches!(entry.awaited, Awaited::Dialog(_)));
        open.map(|(id, _)| *id).collect()
    }

    /// Returns the hooks that are being called at certain points.
    pub fn hooks(&self, is_wanted: impl Fn(&HookPoint) -> bool) -> Vec<PendingId> {
        let open = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(&entry.awaited, Awaited::Hook(open) if is_wanted(&open.point)));
        open.map(|(id, _)| *id).collect()
    }

    /// Returns the slash commands of extensions that are running.
    pub fn extension_commands(&self) -> Vec<PendingId> {
        let running =
            self.entries.iter().filter(|(_, entry)| matches!(entry.awaited, Awaited::ExtensionCommand(_)));
        running.map(|(id, _)| *id).collect()
    }

    /// Returns what is known of the slash commands of extensions that are running.
    pub fn running_commands(&mut self) -> impl Iterator<Item = &mut RunningCommand> {
        self.entries.values_mut().filter_map(|entry| match &mut entry.awaited {
            Awaited::ExtensionCommand(running) => Some(running),
            _ => None,
        })
    }

    fn next_id(&mut self) -> PendingId {
        self.last_id += 1;
        PendingId(self.last_id)
    }
}

impl From<PendingId> for AskId {
    fn from(id: PendingId) -> Self {
        Self(id.0)
    }
}

impl From<PendingId> for HostCallId {
    fn from(id: PendingId) -> Self {
        Self(id.0)
    }
}

impl From<HostCallId> for PendingId {
    fn from(id: HostCallId) -> Self {
        Self(id.0)
    }
}

impl From<AskId> for PendingId {
    fn from(id: AskId) -> Self {
        Self(id.0)
    }
}

/// How a task reports to its session.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    inputs: Inputs,
    session: Weak<()>,
    id: PendingId,
}

impl Reporter {
    /// Sends a report, waiting for room. Returns whether the session still exists.
    pub async fn send(&self, step: Step) -> bool {
        self.is_awaited() && self.inputs.send(Report::Step(TaskStep { id: self.id, step })).await
    }

    /// Sends a report unless the channel is full.
    pub fn try_send(&self, step: Step) {
        if self.is_awaited() {
            self.inputs.try_send(TaskStep { id: self.id, step });
        }
    }

    fn is_awaited(&self) -> bool {
        self.session.strong_count() > 0
    }
}

/// A spawned task that is cancelled when this is dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns what a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown panic".to_owned())
}
