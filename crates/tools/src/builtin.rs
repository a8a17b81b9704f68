//! The form in which each file of this crate declares its tool, and what all of them share when they are called: the
//! arguments are checked against the parameters first, and work that blocks goes to the blocking pool.

use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::ToolDefinition;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::parameters::{self, Parameter};
use crate::tool::{BoxFuture, CallContext, Outcome, Tool};
use crate::toolbox::Options;

/// One line of the table of tools.
pub(crate) struct Builtin {
    pub name: &'static str,
    /// For the model: what the tool does and when to use it.
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    /// Whether the tool is on when nobody chose.
    pub by_default: bool,
    /// Brings forms that models are known to write into the declared one, before the check.
    pub prepare: fn(&mut Arguments),
    pub run: fn(Arc<Options>, CallContext, Arguments) -> BoxFuture<'static, Outcome>,
}

/// A built-in tool with its options, ready to be called.
pub(crate) struct Ready {
    builtin: &'static Builtin,
    definition: ToolDefinition,
    options: Arc<Options>,
}

impl Ready {
    pub(crate) fn new(builtin: &'static Builtin, options: Arc<Options>) -> Self {
        let definition = ToolDefinition {
            name: builtin.name.to_owned(),
            description: builtin.description.to_owned(),
            parameters: parameters::schema(builtin.parameters),
        };
        Self { builtin, definition, options }
    }
}

impl Tool for Ready {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, mut arguments: Arguments) -> BoxFuture<'static, Outcome> {
        (self.builtin.prepare)(&mut arguments);
        match parameters::check(self.builtin.name, self.builtin.parameters, arguments) {
            Ok(arguments) => (self.builtin.run)(Arc::clone(&self.options), context, arguments),
            Err(error) => Box::pin(std::future::ready(error.into())),
        }
    }
}

/// The `prepare` of a tool whose arguments are taken as they come.
pub(crate) fn unprepared(_arguments: &mut Arguments) {}

/// Runs `work` on the blocking pool. A cancel is answered at once; the work sees its token and ends soon after, as it
/// does when the returned future is dropped.
pub(crate) async fn interruptible<W>(cancel: CancellationToken, work: W) -> Outcome
where
    W: FnOnce(&CancellationToken) -> Result<Outcome, Error> + Send + 'static,
{
    let token = cancel.child_token();
    let _stop_when_dropped = token.clone().drop_guard();
    let worker = tokio::task::spawn_blocking(move || work(&token));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Error::Aborted.into(),
        finished = worker => finished.unwrap_or(Err(Error::WorkerFailed)).unwrap_or_else(Outcome::from),
    }
}

/// Runs `work` on the blocking pool and waits for it, come what may: for work that changes a file, where an answer
/// before the end could be wrong.
pub(crate) async fn uninterrupted<W, T>(work: W) -> Result<T, Error>
where
    W: FnOnce() -> Result<T, Error> + Send + 'static,
    T: Send + 'static,
{
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::WorkerFailed))
}
