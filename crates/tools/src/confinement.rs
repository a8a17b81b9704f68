//! What confines the built-in tools and the user's commands. The tools know that something may, and hand their calls
//! over to it; how it confines them is its own affair.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::pending_changes::{
    AcceptReport, DiscardReport, PendingQuery, PendingReport, PendingSelection,
};
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_core::sandbox::{Grants, ReportedConnection, SandboxChange, SandboxReport, SandboxSummary};

use crate::command::{CommandOutcome, CommandRequest};
use crate::error::Error;
use crate::tool::{BoxFuture, CallContext, Outcome};

/// Why nothing is pending.
pub const NOT_AN_OVERLAY: &str = "tools write the working folder directly; start bowline with --sandbox workspace-write \
                              --workspace overlay to accept changes first";

/// Returns the refusal of a command about pending changes where there are none.
pub fn not_an_overlay() -> Refusal {
    Refusal::new(RefusalCode::InvalidArgument, format!("There are no pending changes: {NOT_AN_OVERLAY}"))
}

/// Receives the output of a command. No more is read until the returned future is ready.
pub type OutputSink<'sink> = Box<dyn FnMut(String) -> BoxFuture<'sink, ()> + Send + 'sink>;

/// Decides about hosts that are not on the list, as a rule by asking the user.
pub trait HostGate: Debug + Send + Sync {
    /// Asks whether a host may be reached. The connection waits for the answer.
    fn ask(&self, host: &str, port: u16) -> BoxFuture<'static, HostAnswer>;
}

/// What was decided about a host that is not on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAnswer {
    Allowed,
    /// The user was asked and did not allow it.
    Declined,
    /// The user was asked and nobody answered in time.
    Unanswered,
    /// Nobody was asked, so it stays closed.
    NotAsked,
}

/// Whether a file tool may write to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAccess {
    Allowed,
    /// It is outside of what is writable.
    Outside,
    /// It is in the workspace, but git, an editor or an agent would run what is written there.
    Protected,
    /// It holds credentials or belongs to bowline. Nobody can grant it.
    Masked,
}

/// Confines the built-in tools of a session.
pub trait Confinement: Debug + Send + Sync {
    /// Tells whether calls are confined now. If not, the tools run them themselves.
    fn is_active(&self) -> bool;

    /// Returns what holds now in short. Cheap: clients ask for the state often.
    fn summary(&self) -> SandboxSummary;

    /// Returns what holds now, without starting anything.
    fn report(&self) -> SandboxReport;

    /// Returns a number that changes whenever the report may. Cheap: it is compared after each call.
    fn revision(&self) -> u64;

    /// Starts what is needed, tries the promises, and returns what holds. The error says why tools cannot run.
    /// `session` is the one whose tools are to run.
    fn prove(&self, session: Option<&str>) -> BoxFuture<'static, Result<SandboxReport, String>>;

    /// Changes what holds. The error says why it stays as it is. May block for a moment.
    fn change(&self, change: SandboxChange) -> Result<(), String>;

    /// Returns whether a file tool may write to this path, which is absolute, as things are now. Looks at files.
    fn write_access(&self, path: &Path) -> WriteAccess;

    /// Returns the folder for texts that are too long for a result, where confined tools can read them.
    fn kept_texts(&self) -> Option<PathBuf>;

    /// Returns the last connections through the proxy, the oldest first.
    fn connections(&self) -> Vec<ReportedConnection> {
        Vec::new()
    }

    /// Sets who is asked about hosts from now on: the session whose tools run.
    fn ask_about_hosts(&self, gate: Arc<dyn HostGate>);

    /// Grants something for the rest of the session.
    fn grant(&self, grants: &Grants);

    /// Returns what a session changed and nobody has accepted, if the workspace is an overlay.
    fn pending_changes(
        &self,
        _session: &str,
        _query: PendingQuery,
    ) -> BoxFuture<'static, Result<PendingReport, Refusal>> {
        let report = PendingReport { reason: Some(NOT_AN_OVERLAY.to_owned()), ..PendingReport::default() };
        Box::pin(std::future::ready(Ok(report)))
    }

    /// Applies pending changes of a session to the real workspace. No call of the session may be in progress.
    fn accept_changes(
        &self,
        _session: &str,
        _selection: PendingSelection,
    ) -> BoxFuture<'static, Result<AcceptReport, Refusal>> {
        Box::pin(std::future::ready(Err(not_an_overlay())))
    }

    /// Throws pending changes of a session away. No call of the session may be in progress.
    fn discard_changes(
        &self,
        _session: &str,
        _selection: PendingSelection,
    ) -> BoxFuture<'static, Result<DiscardReport, Refusal>> {
        Box::pin(std::future::ready(Err(not_an_overlay())))
    }

    /// Has a subagent work on the same pending changes as the session that started it.
    fn share_changes(&self, _subagent: &str, _session: &str) {}

    /// Removes the pending changes of a session that was deleted. Blocks.
    fn forget_changes(&self, _session: &str) {}

    /// Runs a call of the built-in tool of this name. What the context grants holds for this call.
    fn call(
        &self,
        tool: &'static str,
        context: CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'static, Outcome>;

    /// Runs a user-initiated command.
    fn run_command<'sink>(
        &'sink self,
        request: CommandRequest,
        output: OutputSink<'sink>,
    ) -> BoxFuture<'sink, Result<CommandOutcome, Error>>;
}
