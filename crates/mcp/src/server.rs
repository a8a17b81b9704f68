//! The life of one server: started when it is needed, restarted when it has ended, given up when it ends too often.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::configuration::ServerConfig;
use crate::connection::{Connection, Session};
use crate::error::Error;
use crate::host::{Notice, ServerContext, Severity};
use crate::inventory::{self, Inventory};
use crate::limits::REFRESH_PAUSE;

/// A configured server.
pub(crate) struct Server {
    pub config: ServerConfig,
    pub context: ServerContext,
    state: watch::Sender<State>,
    /// What it offered when it was last asked.
    inventory: Mutex<Arc<Inventory>>,
    has_begun: AtomicBool,
    stop: CancellationToken,
}

/// What a server is doing.
#[derive(Clone)]
pub(crate) enum State {
    /// It is not needed yet.
    Idle,
    Starting,
    Ready(Box<Connection>),
    /// It has ended and is started again then.
    Waiting {
        reason: String,
        until: Instant,
    },
    /// It is not started again.
    Failed(Error),
    Stopped,
}

impl State {
    /// Returns the state in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready(_) => "ready",
            Self::Waiting { .. } => "restarting",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
        }
    }

    fn is_settled(&self) -> bool {
        !matches!(self, Self::Idle | Self::Starting)
    }
}

/// Why a session is over.
enum Over {
    Stopped,
    Ended(String),
}

impl Server {
    pub fn new(config: ServerConfig, context: ServerContext) -> Arc<Self> {
        Arc::new(Self {
            config,
            context,
            state: watch::Sender::new(State::Idle),
            inventory: Mutex::default(),
            has_begun: AtomicBool::new(false),
            stop: CancellationToken::new(),
        })
    }

    /// Starts the server, if that has not happened.
    pub fn begin(self: &Arc<Self>) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            self.set(State::Starting);
            tokio::spawn(Arc::clone(self).supervise());
        }
    }

    /// Waits until the server is ready or cannot be used now.
    pub async fn settled(&self) {
        // The sender lives as long as this server.
        let _ = self.state.subscribe().wait_for(State::is_settled).await;
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub fn inventory(&self) -> Arc<Inventory> {
        Arc::clone(&self.inventory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the way to the server, or why there is none.
    pub fn connection(&self) -> Result<Connection, Error> {
        let reason = match self.state() {
            State::Ready(connection) => return Ok(*connection),
            State::Idle | State::Starting => "it is still starting. Try again later.".to_owned(),
            State::Waiting { reason, until } => {
                let seconds = until.saturating_duration_since(Instant::now()).as_secs() + 1;
                format!("{reason}. It is restarted in {seconds} s; try again then, or go on without it.")
            }
            State::Failed(error) => format!("{error}. It is not started again; go on without it."),
            State::Stopped => "bowline is ending.".to_owned(),
        };
        Err(Error::Unavailable { server: self.config.name.clone(), reason })
    }

    /// Ends the server and waits until it has ended.
    pub async fn stop(&self) {
        self.stop.cancel();
        if self.has_begun.load(Ordering::Relaxed) {
            let is_over = |state: &State| matches!(state, State::Stopped | State::Failed(_));
            let _ = self.state.subscribe().wait_for(is_over).await;
        }
    }

    fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    fn notice(&self, severity: Severity, text: String) {
        self.context.listener.notice(Notice { server: self.config.name.clone(), text, severity });
    }

    async fn supervise(self: Arc<Self>) {
        let mut restarts = VecDeque::new();
        loop {
            self.set(State::Starting);
            let started = tokio::select! {
                () = self.stop.cancelled() => return self.set(State::Stopped),
                started = self.start() => started,
            };
            let error = match started {
                Ok(session) => match self.serve(session).await {
                    Over::Stopped => return self.set(State::Stopped),
                    Over::Ended(reason) => Error::Connection(reason),
                },
                Err(error) => error,
            };
            if error.is_permanent() {
                return self.give_up(error);
            }
            let Some(delay) = self.backoff(&mut restarts) else {
                let times = self.context.timing.backoff.len();
                return self.give_up(Error::Connection(format!("{error} (after {times} restarts)")));
            };
            let name = &self.config.name;
            self.notice(
                Severity::Failure,
                format!("The MCP server {name} failed: {error}. It is restarted in {} s.", delay.as_secs()),
            );
            self.set(State::Waiting { reason: error.to_string(), until: Instant::now() + delay });
            tokio::select! {
                () = self.stop.cancelled() => return self.set(State::Stopped),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    /// Returns after how long the server is started again; `None` if it has been restarted too often.
    fn backoff(&self, restarts: &mut VecDeque<Instant>) -> Option<Duration> {
        let timing = &self.context.timing;
        while restarts.front().is_some_and(|restart| restart.elapsed() > timing.window) {
            restarts.pop_front();
        }
        let delay = timing.backoff.get(restarts.len())?;
        restarts.push_back(Instant::now());
        Some(*delay)
    }

    fn give_up(&self, error: Error) {
        let name = &self.config.name;
        self.notice(Severity::Failure, format!("The MCP server {name} cannot be used: {error}."));
        self.set(State::Failed(error));
        self.context.listener.changed();
    }

    /// Opens a session and asks what the server offers.
    async fn start(&self) -> Result<Session, Error> {
        let limit = self.context.timing.longest_start;
        let start = async {
            let mut session = Session::open(&self.config, &self.context).await?;
            match inventory::take(&session.connection.peer, &self.config).await {
                Ok(inventory) => Ok((session, inventory)),
                Err(error) => {
                    let error = Error::Connection(format!("it did not list what it offers ({error})"));
                    Err(session.explain(error).await)
                }
            }
        };
        let (session, inventory) =
            tokio::time::timeout(limit, start).await.map_err(|_| Error::StartTimeout(limit))??;
        self.keep(inventory);
        Ok(session)
    }

    fn keep(&self, inventory: Inventory) {
        let name = &self.config.name;
        let known = self.inventory();
        for omitted in inventory.omitted.iter().filter(|text| !known.omitted.contains(text)).take(5) {
            self.notice(Severity::Warning, format!("The MCP server {name}: {omitted}."));
        }
        *self.inventory.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(inventory);
    }

    /// Keeps a session until it is over.
    async fn serve(&self, mut session: Session) -> Over {
        self.set(State::Ready(Box::new(session.connection.clone())));
        self.context.listener.changed();
        let handler = session.connection.handler.clone();
        let peer = session.connection.peer.clone();
        let refresh = async {
            loop {
                handler.lists_changed().await;
                let taken =
                    tokio::time::timeout(self.config.timeout, inventory::take(&peer, &self.config)).await;
                if let Ok(Ok(inventory)) = taken {
                    self.keep(inventory);
                    self.context.listener.changed();
                }
                tokio::time::sleep(REFRESH_PAUSE).await;
            }
        };
        let over = tokio::select! {
            () = self.stop.cancelled() => Over::Stopped,
            reason = session.ended() => Over::Ended(reason),
            () = refresh => Over::Stopped,
        };
        session.close(self.context.timing.patience).await;
        over
    }
}
