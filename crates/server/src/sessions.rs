//! The sessions of a connection.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use bowline_core::SessionTag;
use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Refusal, RefusalCode, Reply};
use bowline_core::session_tag::SessionRequest;
use bowline_engine::{Agent, Input, Inputs, OpenedSession, Output, Report, Session, Tagged};
use tokio::sync::mpsc;

/// How many reports may wait. Small, so that a stream soon feels it when the client lags.
const REPORT_CAPACITY: usize = 64;

/// The sessions of a connection and the channel by which everything in the background reports.
#[derive(Debug)]
pub(crate) struct Sessions {
    agent: Agent,
    seats: BTreeMap<SessionTag, Seat>,
    sender: mpsc::Sender<Tagged>,
    reports: mpsc::Receiver<Tagged>,
}

/// The place of a session.
#[derive(Debug)]
enum Seat {
    /// It is being opened.
    Opening {
        origin: Origin,
        working_directory: PathBuf,
    },
    Open(Box<OpenSession>),
}

/// A session that is open.
#[derive(Debug)]
pub(crate) struct OpenSession {
    session: Session,
    /// The command that closes the session, which is replied to when it is idle.
    closing: Option<Origin>,
    /// Whether not even a panic could be recovered from.
    is_broken: bool,
}

impl Sessions {
    pub fn new(agent: Agent) -> Self {
        let (sender, reports) = mpsc::channel(REPORT_CAPACITY);
        Self { agent, seats: BTreeMap::new(), sender, reports }
    }

    /// Adds a session that is open.
    pub fn add(
        &mut self,
        tag: SessionTag,
        opened: OpenedSession,
        working_directory: PathBuf,
    ) -> Result<(), Refusal> {
        self.add_for(self.agent.clone(), tag, opened, working_directory)
    }

    fn add_for(
        &mut self,
        agent: Agent,
        tag: SessionTag,
        opened: OpenedSession,
        working_directory: PathBuf,
    ) -> Result<(), Refusal> {
        let inputs = Inputs::new(tag, self.sender.clone());
        let session = Session::new(agent, opened, working_directory, inputs)?;
        let open = OpenSession { session, closing: None, is_broken: false };
        self.seats.insert(tag, Seat::Open(Box::new(open)));
        Ok(())
    }

    /// Opens a session in the background.
    pub fn open(&mut self, tag: SessionTag, origin: Origin, request: SessionRequest) -> Option<Reply> {
        if self.seats.contains_key(&tag) {
            let refusal = Refusal::new(RefusalCode::InvalidArgument, "this session is open already");
            return Some(Reply { origin, result: Err(refusal) });
        }
        let working_directory = request.working_directory.clone();
        let agent = self.agent.with_servers(&request.servers);
        self.seats.insert(tag, Seat::Opening { origin, working_directory });
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let opening = tokio::task::spawn_blocking(move || agent.open_beside(request)).await;
            let result = opening.unwrap_or_else(|error| {
                Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}")))
            });
            let _ = sender.send(Tagged { session: tag, report: Report::Opened(Box::new(result)) }).await;
        });
        None
    }

    /// Adds a session that was opened in the background and returns the reply to whoever asked for it.
    pub fn finish_opening(
        &mut self,
        tag: SessionTag,
        result: Result<(Agent, OpenedSession), Refusal>,
    ) -> Option<Reply> {
        let Some(Seat::Opening { origin, working_directory }) = self.seats.remove(&tag) else {
            return None;
        };
        let added = result.and_then(|(agent, opened)| self.add_for(agent, tag, opened, working_directory));
        let result = added.map(|()| {
            let session = self.get(tag).map(|open| &open.session);
            Answer::SessionOpened {
                id: session.map(|session| session.id().to_owned()).unwrap_or_default(),
                file: session.and_then(|session| session.file().map(ToOwned::to_owned)),
            }
        });
        Some(Reply { origin, result })
    }

    /// Returns a session that is open.
    pub fn get(&mut self, tag: SessionTag) -> Option<&mut OpenSession> {
        match self.seats.get_mut(&tag)? {
            Seat::Open(open) => Some(open),
            Seat::Opening { .. } => None,
        }
    }

    /// Removes a session that is over, and returns the reply to the command that closed it, if one did.
    pub fn remove(&mut self, tag: SessionTag) -> Option<Reply> {
        let Some(Seat::Open(over)) = self.seats.remove(&tag) else { return None };
        over.closing.map(|origin| Reply { origin, result: Ok(Answer::Done) })
    }

    /// Returns the tags of the sessions that are open.
    pub fn tags(&self) -> Vec<SessionTag> {
        let open = self.seats.iter().filter(|(_, seat)| matches!(seat, Seat::Open(_)));
        open.map(|(tag, _)| *tag).collect()
    }

    /// Tells whether nothing is in progress in any session.
    pub fn are_idle(&self) -> bool {
        self.seats.values().all(|seat| matches!(seat, Seat::Open(open) if open.session.is_idle()))
    }

    /// Waits for the next report.
    pub async fn next_report(&mut self) -> Option<Tagged> {
        self.reports.recv().await
    }

    /// Returns a report that is there already.
    pub fn try_report(&mut self) -> Option<Tagged> {
        self.reports.try_recv().ok()
    }
}

impl OpenSession {
    /// Gives the session something to handle. A panic ends what was in progress in it, and nothing else.
    pub fn handle(&mut self, input: Input) {
        let handling = catch_unwind(AssertUnwindSafe(|| self.session.handle(input)));
        if let Err(panic) = handling {
            let recovery = catch_unwind(AssertUnwindSafe(|| self.session.recover_from_panic(&*panic)));
            // A session that cannot even end its run is of no use any more.
            self.is_broken |= recovery.is_err();
        }
    }

    /// Notes the command that closes the session: it is replied to when nothing is left in progress. If another one
    /// closes it already, the reply is returned.
    pub fn close(&mut self, origin: Origin) -> Option<Reply> {
        if self.closing.is_some() {
            return Some(Reply { origin, result: Ok(Answer::Done) });
        }
        self.closing = Some(origin);
        None
    }

    /// Returns the next output.
    pub fn next_output(&mut self) -> Option<Output> {
        self.session.next_output()
    }

    /// Tells whether the session has to be removed.
    pub fn is_over(&self) -> bool {
        self.is_broken || (self.closing.is_some() && self.session.is_idle())
    }
}

pub(crate) fn unknown_session() -> Refusal {
    Refusal::new(RefusalCode::SessionUnavailable, "there is no such session on this connection")
}
