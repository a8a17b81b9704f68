//! What the engine asks the user of a client, and how the user answers.
//!
//! A question has an id, and an answer that is assumed when nobody gives one. A dialect that has words for questions
//! says so in its policy; in the others the assumed answer is taken at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::message::Arguments;
use crate::sandbox::Grants;
use crate::ui::{Dialog, DialogAnswer, UiToken};

/// The id of a question, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub id: AskId,
    /// The random part of the id on the wire.
    pub token: UiToken,
    pub question: Question,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Whether a tool call may run. Without an answer it may not.
    Approval(Box<Approval>),
    /// What an extension wants to know. Without an answer it is cancelled.
    Dialog(Dialog),
}

/// A tool call that needs the user's consent.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Empty if the question is about a host and no single call is known to be the cause.
    pub call_id: String,
    pub tool: String,
    pub arguments: Arc<Arguments>,
    /// Why consent is needed, in a sentence for the user.
    pub reason: String,
    pub terms: Terms,
}

/// What consent to a call would mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    /// Why consent is needed, for programs.
    pub code: ReasonCode,
    pub kind: ApprovalKind,
    /// Which question about a call it is that the user of this session sees, from 1; 0 before it is shown.
    pub number: u64,
    /// The folder that the call runs in.
    pub working_directory: PathBuf,
    /// Where the path that the call is about leads, with all links followed, if that is known.
    pub target: Option<PathBuf>,
    /// What the call gets beyond the sandbox.
    pub grants: Grants,
    /// The rule that is remembered if the user allows more than this call.
    pub rule: Option<Value>,
    /// Whether the user may allow more than this call.
    pub may_remember: Vec<Remembered>,
    /// The hash of the call, its folder, where its path leads, and its grants.
    pub digest: String,
    /// After this time the answer is no; never if absent.
    pub timeout: Option<Duration>,
    pub form: ApprovalForm,
}

/// Why consent to a call is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasonCode {
    /// An extension wants it.
    #[default]
    Extension,
    /// A rule of the user wants it.
    Rule,
    /// Calls that may change something need it.
    Untrusted,
    /// It writes where the sandbox does not let it.
    Path,
    /// It writes a file that has other names, which may be anywhere.
    HardLink,
    /// It wants to run outside of the sandbox.
    Unsandboxed,
    /// It wants to reach a host that is not on the list.
    Network,
}

impl ReasonCode {
    pub const ALL: &'static [Self] = &[
        Self::Extension,
        Self::Rule,
        Self::Untrusted,
        Self::Path,
        Self::HardLink,
        Self::Unsandboxed,
        Self::Network,
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Rule => "rule",
            Self::Untrusted => "untrusted",
            Self::Path => "path",
            Self::HardLink => "hard-link",
            Self::Unsandboxed => "unsandboxed",
            Self::Network => "network",
        }
    }
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalKind {
    Command,
    File,
    Network,
    #[default]
    Tool,
}

impl ApprovalKind {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::File => "file",
            Self::Network => "network",
            Self::Tool => "tool",
        }
    }
}

/// How long consent is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    /// Until the process ends.
    Session,
    /// For this project, in a file.
    Project,
}

impl Remembered {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
        }
    }
}

/// How a client is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalForm {
    /// A dialog that its protocol has, with yes and no.
    #[default]
    Dialog,
    /// A dialog that also offers to remember.
    FullDialog,
    /// A record of its own.
    Record,
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskAnswer {
    pub id: AskId,
    pub decision: Decision,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This call may run.
    Allow,
    /// This call may run, and so may others like it.
    AllowFor(Remembered),
    /// The reason is passed on to the model.
    Deny { reason: Option<String> },
    /// Nobody answered in time.
    Expired,
    /// The user cannot be asked; `why` is the second half of a sentence.
    NotAsked { why: &'static str },
    /// The answer to a dialog.
    Dialog(DialogAnswer),
}

impl Decision {
    /// Returns the name of a decision about a call.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "once",
            Self::AllowFor(remembered) => remembered.as_str(),
            Self::Deny { .. } | Self::Expired | Self::NotAsked { .. } | Self::Dialog(_) => "deny",
        }
    }
}
