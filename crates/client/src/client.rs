//! A client: a connection to a process that is looked after.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bowline_protocol::{Connection, Ending};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::builder::{Builder, Restarts};
use crate::error::StartError;
use crate::session_choice::session_flag;
use crate::supervisor::Supervisor;

/// A running agent. Its commands and events are those of the [`Connection`].
///
/// [`stop`](Client::stop) it, so that it can finish what it writes. When it is dropped, that happens in the background while
/// the runtime lives.
#[must_use = "the process is stopped when this is dropped"]
pub struct Client {
    connection: Connection,
    process_id: Arc<AtomicU32>,
    /// Dropping it stops the process.
    stop: oneshot::Sender<()>,
    supervision: JoinHandle<Ending>,
}

impl Client {
    /// Returns a builder for a client.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) async fn start(builder: Builder) -> Result<Self, StartError> {
        let Builder { program, handlers, options, restarts, stop_limit, session } = builder;
        let flag = program.arguments.iter().find_map(|argument| session_flag(&argument.to_string_lossy()));
        if let Some(flag) = flag.filter(|_| restarts != Restarts::Never) {
            return Err(StartError::SessionFlag { flag });
        }
        let connection = Connection::new(options, handlers);
        let process_id = Arc::new(AtomicU32::new(0));
        let supervisor = Supervisor {
            connection: connection.clone(),
            program,
            restarts,
            stop_limit,
            session: session.clone(),
            process_id: Arc::clone(&process_id),
        };
        let (introduction, served) = supervisor.start()?;
        let (stop, stopped) = oneshot::channel();
        let supervision = tokio::spawn(supervisor.run(served, stopped));
        let client = Self { connection, process_id, stop, supervision };
        introduction.accepted().await?;
        // Whatever keeps bowline from serving shows in its first response.
        session.remember(&client.connection.get_state().await?);
        if restarts != Restarts::Never {
            tokio::spawn(session.follow(client.connection.clone()));
        }
        Ok(client)
    }

    /// Returns the id of the process; none once it has ended.
    pub fn process_id(&self) -> Option<u32> {
        Some(self.process_id.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// Returns a handle to the connection, for other tasks.
    pub fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Has bowline end what is in progress, and waits until the process has ended. Returns how it did.
    ///
    /// Events that were not read yet can still be read.
    pub async fn stop(self) -> Ending {
        let _ = self.stop.send(());
        match self.supervision.await {
            Ok(ending) => ending,
            Err(error) => Ending { reason: format!("the client failed: {error}"), ..Ending::default() },
        }
    }
}

impl Deref for Client {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}
