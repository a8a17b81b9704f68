//! The sessions of a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use bowline_core::SessionTag;
use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Refusal, RefusalCode, Reply};
use bowline_core::session_tag::SessionRequest;
use bowline_engine::{Agent, Input, Inputs, OpenedSession, Output, Session, Tagged};
use tokio::sync::mpsc;

/// How many inputs from tasks may wait. Small, so that a stream soon feels it when the client lags.
const INPUT_CAPACITY: usize = 64;

/// The sessions of a connection and the channel by which their tasks report.
#[derive(Debug)]
pub(crate) struct Sessions {
    agent: Agent,
    open: BTreeMap<SessionTag, Seat>,
    inputs: mpsc::Sender<Tagged>,
    tasks: mpsc::Receiver<Tagged>,
    opened_sender: mpsc::Sender<Box<Opened>>,
    opened: mpsc::Receiver<Box<Opened>>,
    /// The sessions that are being opened.
    opening: BTreeSet<SessionTag>,
}

#[derive(Debug)]
struct Seat {
    session: Session,
    /// The command that closes the session, which is replied to when it is idle.
    closing: Option<Origin>,
}

/// A session that was opened in the background, or could not be.
#[derive(Debug)]
pub(crate) struct Opened {
    tag: SessionTag,
    origin: Origin,
    working_directory: PathBuf,
    result: Result<OpenedSession, Refusal>,
}

/// Something that a session's task or the opening of a session reports.
#[derive(Debug)]
pub(crate) enum Report {
    Task(Tagged),
    Opened(Box<Opened>),
}

impl Sessions {
    pub fn new(agent: Agent) -> Self {
        let (inputs, tasks) = mpsc::channel(INPUT_CAPACITY);
        let (opened_sender, opened) = mpsc::channel(INPUT_CAPACITY);
        Self { agent, open: BTreeMap::new(), inputs, tasks, opened_sender, opened, opening: BTreeSet::new() }
    }

    /// Adds a session that is open.
    pub fn add(
        &mut self,
        tag: SessionTag,
        opened: OpenedSession,
        working_directory: PathBuf,
    ) -> Result<(), Refusal> {
        let inputs = Inputs::new(tag, self.inputs.clone());
        let session = Session::new(self.agent.clone(), opened, working_directory, inputs)?;
        self.open.insert(tag, Seat { session, closing: None });
        Ok(())
    }

    /// Opens a session in the background.
    pub fn open(&mut self, tag: SessionTag, origin: Origin, request: SessionRequest) -> Option<Reply> {
        if self.open.contains_key(&tag) || !self.opening.insert(tag) {
            let refusal = Refusal::new(RefusalCode::InvalidArgument, "this session is open already");
            return Some(Reply { origin, result: Err(refusal) });
        }
        let (agent, sender) = (self.agent.clone(), self.opened_sender.clone());
        let working_directory = request.working_directory.clone();
        tokio::spawn(async move {
            let opening = tokio::task::spawn_blocking(move || agent.open(request)).await;
            let result = opening.unwrap_or_else(|error| {
                Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}")))
            });
            let _ = sender.send(Box::new(Opened { tag, origin, working_directory, result })).await;
        });
        None
    }

    /// Adds a session that was opened in the background and returns the reply to whoever asked for it.
    pub fn finish_opening(&mut self, opened: Opened) -> (SessionTag, Reply) {
        let Opened { tag, origin, working_directory, result } = opened;
        self.opening.remove(&tag);
        let added = result.and_then(|opened| self.add(tag, opened, working_directory));
        let result = added.map(|()| {
            let session = self.open.get(&tag).map(|seat| &seat.session);
            Answer::SessionOpened {
                id: session.map(|session| session.id().to_owned()).unwrap_or_default(),
                file: session.and_then(|session| session.file().map(ToOwned::to_owned)),
            }
        });
        (tag, Reply { origin, result })
    }

    /// Closes a session: what is in progress is stopped, and the reply comes when nothing is left.
    pub fn close(&mut self, tag: SessionTag, origin: Origin) -> Option<Reply> {
        let Some(seat) = self.open.get_mut(&tag) else {
            return Some(Reply { origin, result: Err(unknown_session()) });
        };
        if seat.closing.is_some() {
            return Some(Reply { origin, result: Ok(Answer::Done) });
        }
        seat.closing = Some(origin);
        self.handle(tag, Input::Shutdown);
        None
    }

    pub fn is_open(&self, tag: SessionTag) -> bool {
        self.open.contains_key(&tag)
    }

    /// Gives a session something to handle, if it is open. A panic ends what was in progress in that session, and
    /// nothing else.
    pub fn handle(&mut self, tag: SessionTag, input: Input) {
        let Some(seat) = self.open.get_mut(&tag) else { return };
        let handling = catch_unwind(AssertUnwindSafe(|| seat.session.handle(input)));
        if let Err(panic) = handling {
            let recovery = catch_unwind(AssertUnwindSafe(|| seat.session.recover_from_panic(&*panic)));
            // A session that cannot even end its run is of no use any more.
            if recovery.is_err() {
                self.open.remove(&tag);
            }
        }
    }

    /// Returns the next output of a session.
    pub fn next_output(&mut self, tag: SessionTag) -> Option<Output> {
        let seat = self.open.get_mut(&tag)?;
        let output = seat.session.next_output();
        if output.is_none() && seat.closing.is_some() && seat.session.is_idle() {
            let closed = self.open.remove(&tag)?;
            let reply = closed.closing.map(|origin| Reply { origin, result: Ok(Answer::Done) });
            return reply.map(Output::Reply);
        }
        output
    }

    /// Returns the tags of all sessions.
    pub fn tags(&self) -> Vec<SessionTag> {
        self.open.keys().copied().collect()
    }

    /// Tells whether nothing is in progress in any session.
    pub fn are_idle(&self) -> bool {
        self.opening.is_empty() && self.open.values().all(|seat| seat.session.is_idle())
    }

    /// Waits for the next report of a task.
    pub async fn next_report(&mut self) -> Option<Report> {
        // Sessions are opened seldom, and waiting for two things costs every command something.
        if self.opening.is_empty() {
            return self.tasks.recv().await.map(Report::Task);
        }
        tokio::select! {
            biased;
            task = self.tasks.recv() => task.map(Report::Task),
            opened = self.opened.recv() => opened.map(Report::Opened),
        }
    }

    /// Returns a report of a task that is there already.
    pub fn try_report(&mut self) -> Option<Tagged> {
        self.tasks.try_recv().ok()
    }
}

pub(crate) fn unknown_session() -> Refusal {
    Refusal::new(RefusalCode::SessionUnavailable, "there is no such session on this connection")
}
