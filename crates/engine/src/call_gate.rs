//! The decision about a tool call before it runs.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::ask::{ReasonCode, Remembered};
use bowline_core::message::Arguments;
use bowline_core::sandbox::{AskMode, Grants};
use bowline_core::tool::ToolTraits;
use bowline_tools::{BoxFuture, Confinement};
use serde_json::Value;

/// Decides which tool calls run. It is asked on the session's thread, so it must not block.
pub trait CallGate: Debug + Send + Sync {
    /// Returns a gate for one session and its subagents, with a memory of its own; `None` if this one serves them.
    fn for_session(&self) -> Option<Arc<dyn CallGate>> {
        None
    }

    /// Decides about a call.
    fn check(&self, call: &GatedCall<'_>) -> Check;

    /// Decides again about a call that the user has agreed to. It has waited for that: a rule may forbid what it is about
    /// by now. `target` is where its path led when the user was asked.
    fn check_again(&self, _call: &GatedCall<'_>, _target: Option<&Path>) -> Check {
        Verdict::run().into()
    }

    /// Returns a number that changes when the user has agreed to more than a call, so that verdicts from before may be
    /// others.
    fn revision(&self) -> u64 {
        0
    }

    /// Decides whether tools may reach a host that is not on the list of the sandbox.
    fn check_host(&self, _host: &HostName<'_>) -> Verdict {
        Verdict::refused("No host can be allowed here.")
    }

    /// Returns when the user is asked.
    fn ask_mode(&self) -> AskMode {
        AskMode::Never
    }

    /// Returns when the user wants to be asked, whatever a client has chosen since.
    fn wanted_ask_mode(&self) -> AskMode {
        self.ask_mode()
    }

    /// Changes when the user is asked. Returns whether it did.
    fn set_ask_mode(&self, _mode: AskMode) -> bool {
        false
    }

    /// Remembers that the user allowed more than one call. It holds from now on; what is returned writes it to a file,
    /// and may block no thread.
    fn remember(&self, _consent: &Consent<'_>, _for: Remembered) -> Option<Remembering> {
        None
    }
}

/// The work of writing down what the user decided. The error is for the user.
pub type Remembering = BoxFuture<'static, Result<(), String>>;

/// A tool call that is about to run.
#[derive(Debug, Clone)]
pub struct GatedCall<'call> {
    pub call_id: &'call str,
    pub tool: &'call str,
    /// What the tool does; `None` if it is not built in.
    pub traits: Option<&'static ToolTraits>,
    pub arguments: &'call Arc<Arguments>,
    pub working_directory: &'call Path,
    /// What confines the built-in tools, if anything does.
    pub confinement: Option<&'call Arc<dyn Confinement>>,
}

/// A host that a tool wants to reach.
#[derive(Debug, Clone, Copy)]
pub struct HostName<'ask> {
    pub host: &'ask str,
    pub port: u16,
    pub working_directory: &'ask Path,
}

/// What the user agreed to.
#[derive(Debug, Clone, Copy)]
pub struct Consent<'call> {
    pub working_directory: &'call Path,
    pub digest: &'call str,
    /// The rule that the user was shown, if there was one.
    pub rule: Option<&'call Value>,
}

/// The decision about a call, now or after a look at the file system.
pub enum Check {
    Now(Verdict),
    Later(BoxFuture<'static, Verdict>),
}

/// What becomes of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It runs, with what rules of the user grant it beyond the sandbox.
    Run { grants: Grants },
    /// The model is told the reason.
    Refuse { reason: String },
    /// The user decides.
    Ask(Box<Asking>),
}

/// What the user is asked about a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asking {
    pub code: ReasonCode,
    /// Shown to the user.
    pub reason: String,
    /// Where the path that the call is about leads, if it is about one.
    pub target: Option<PathBuf>,
    /// What the call gets beyond the sandbox if the user agrees.
    pub grants: Grants,
    /// The rule that could be remembered. Without one, only this very call can be, and only for the session.
    pub rule: Option<Value>,
}

impl Verdict {
    /// Returns the verdict that a call runs as usual.
    pub fn run() -> Self {
        Self::Run { grants: Grants::default() }
    }

    /// Returns the verdict that a call does not run.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refuse { reason: reason.into() }
    }
}

impl From<Verdict> for Check {
    fn from(verdict: Verdict) -> Self {
        Self::Now(verdict)
    }
}

/// Lets every call run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunEverything;

impl CallGate for RunEverything {
    fn check(&self, _call: &GatedCall<'_>) -> Check {
        Verdict::run().into()
    }
}
