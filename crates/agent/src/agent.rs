//! An agent in this process.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

use bowline_dialect::Entry;
use bowline_protocol::Connection;
use bowline_server::Limits;
use bowline_wire::Outbox;

use crate::assembly::{Assembly, assemble};
use crate::builder::Builder;
use crate::error::StartError;
use crate::serving::{Serving, serve};

/// The dialect of the connection in memory.
const DIALECT: &str = "pi";

/// A running agent. Its commands and events are those of the [`Connection`].
///
/// [`stop`](Agent::stop) it, so that it can finish what it writes. When it is dropped, that happens in the background while the
/// runtime lives.
#[must_use = "the agent is stopped when this is dropped"]
pub struct Agent {
    connection: Connection,
    serving: Option<Serving>,
}

impl Agent {
    /// Returns a builder for an agent that works in a folder.
    pub fn builder(working_directory: impl Into<PathBuf>) -> Builder {
        Builder::new(working_directory.into())
    }

    pub(crate) async fn start(builder: Builder) -> Result<Self, StartError> {
        let entry: &'static Entry = bowline_dialect::find(DIALECT)
            .ok_or_else(|| StartError::Internal(format!("there is no dialect {DIALECT}")))?;
        let dialect = entry.make();
        let policy = dialect.policy();
        let (handlers, options) = (builder.handlers.clone(), builder.options.clone());
        let assembling = tokio::task::spawn_blocking(move || assemble(&builder, policy));
        let Assembly { agent, session, working_directory } =
            assembling.await.map_err(|error| StartError::Internal(error.to_string()))??;
        let limits = Limits { line: usize::MAX, outbox: Outbox::default() };
        let mut engine = bowline_server::Connection::new(agent, dialect, limits);
        engine.start_with(session, working_directory)?;
        let connection = Connection::new(options, handlers);
        let (introduction, serving) = serve(engine, &connection)?;
        let agent = Self { connection, serving: Some(serving) };
        introduction.accepted().await?;
        Ok(agent)
    }

    /// Returns a handle to the connection, for other tasks.
    pub fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Ends what is in progress, and waits until the agent has ended. Events that were not read yet can still be read.
    pub async fn stop(mut self) {
        let _rest = self.connection.keep_reading();
        self.close();
        if let Some(serving) = self.serving.take() {
            // A panic in there has been reported as the end of the connection.
            let _ = serving.over.await;
        }
    }

    fn close(&self) {
        self.connection.close("the agent was stopped");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.close();
    }
}

impl Deref for Agent {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Agent").finish_non_exhaustive()
    }
}
