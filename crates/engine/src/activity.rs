//! What a session is busy with: nothing, or exactly one thing.

use std::path::PathBuf;

use bowline_core::command::Origin;
use bowline_core::event::{CompactionReason, SummaryPurpose};
use bowline_session::Navigation;

use crate::compaction::Plan;
use crate::pending::PendingId;
use crate::run::{Phase, Run};
use crate::session::{Continuation, Receipt};

/// What a session is busy with.
#[derive(Debug, Default)]
pub(crate) enum Activity {
    #[default]
    Idle,
    /// A prompt waits for its images; its run has not started yet.
    Preparing(Preparing),
    Running(Box<Run>),
    /// A summary is written outside a run.
    Summarizing(Box<Summarizing>),
    /// Another session is being opened, forked or cloned.
    ChangingSession(SessionChange),
}

/// A prompt whose images are being resized.
#[derive(Debug)]
pub(crate) struct Preparing {
    pub id: PendingId,
    pub origin: Origin,
    pub receipt: Receipt,
    /// The abort commands that are replied to when the prompt is refused.
    pub aborts: Vec<Origin>,
}

/// A change to another session.
#[derive(Debug)]
pub(crate) struct SessionChange {
    pub id: PendingId,
    pub origin: Origin,
    pub kind: ChangeKind,
}

/// How the other session comes about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// An existing file is opened. It can be given up.
    Open(PathBuf),
    /// The current session is copied, so nothing can be added to it meanwhile.
    Copy,
}

/// A summary that is being written.
#[derive(Debug)]
pub(crate) struct Summarizing {
    pub id: PendingId,
    pub subject: SummarySubject,
    /// What happens when it is done.
    pub then: Continuation,
    /// Whether clients were told of a retry and not yet of its end.
    pub is_retrying: bool,
}

/// What a summary is for.
#[derive(Debug)]
pub(crate) enum SummarySubject {
    Compaction { reason: CompactionReason, plan: Box<Plan> },
    Branch { navigation: Box<Navigation> },
}

impl SummarySubject {
    pub fn purpose(&self) -> SummaryPurpose {
        match self {
            Self::Compaction { reason, .. } => SummaryPurpose::Compaction(*reason),
            Self::Branch { .. } => SummaryPurpose::Branch,
        }
    }
}

impl Activity {
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// Tells whether a prompt was accepted and its run is not over.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Preparing(_) | Self::Running(_))
    }

    /// Tells whether a run was aborted whose tools are still stopping.
    pub fn is_stopping(&self) -> bool {
        self.run().is_some_and(Run::is_aborted)
    }

    pub fn is_changing_session(&self) -> bool {
        matches!(self, Self::ChangingSession(_))
    }

    /// Tells whether the session's file is being copied, so that nothing can be added to it.
    pub fn is_copying_session(&self) -> bool {
        matches!(self, Self::ChangingSession(SessionChange { kind: ChangeKind::Copy, .. }))
    }

    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Running(run) => Some(run),
            _ => None,
        }
    }

    pub fn run_mut(&mut self) -> Option<&mut Run> {
        match self {
            Self::Running(run) => Some(run),
            _ => None,
        }
    }

    /// Ends the run.
    pub fn take_run(&mut self) -> Option<Run> {
        match std::mem::take(self) {
            Self::Running(run) => Some(*run),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Tells whether a summary is being written, in a run or outside one.
    pub fn is_summarizing(&self) -> bool {
        match self {
            Self::Summarizing(_) => true,
            Self::Running(run) => matches!(run.phase(), Phase::Summarizing(_)),
            _ => false,
        }
    }

    /// Tells whether a compaction is in progress that the user asked for.
    pub fn is_compacting_on_request(&self) -> bool {
        let Self::Summarizing(summarizing) = self else { return false };
        matches!(summarizing.subject, SummarySubject::Compaction { reason: CompactionReason::Manual, .. })
    }

    /// Tells whether a prompt waits for a compaction before its run.
    pub fn is_admitting(&self) -> bool {
        matches!(self, Self::Summarizing(summarizing) if matches!(summarizing.then, Continuation::Admit(_)))
    }

    pub fn summarizing_mut(&mut self) -> Option<&mut Summarizing> {
        match self {
            Self::Summarizing(summarizing) => Some(summarizing),
            Self::Running(run) => run.summarizing_mut(),
            _ => None,
        }
    }

    /// Starts a summary: within the run if there is one, else as an activity of its own.
    pub fn start_summarizing(&mut self, summarizing: Summarizing) {
        match self {
            Self::Running(run) => run.set_phase(Phase::Summarizing(Box::new(summarizing))),
            _ => *self = Self::Summarizing(Box::new(summarizing)),
        }
    }

    /// Ends a summary. A run then decides how it goes on.
    pub fn take_summarizing(&mut self) -> Option<Summarizing> {
        if let Self::Running(run) = self {
            return run.take_summarizing();
        }
        match std::mem::take(self) {
            Self::Summarizing(summarizing) => Some(*summarizing),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Tells whether a prompt in preparation waits for this.
    pub fn is_preparing(&self, id: PendingId) -> bool {
        matches!(self, Self::Preparing(preparing) if preparing.id == id)
    }

    /// Ends the preparation of a prompt that waits for this.
    pub fn end_preparing(&mut self, id: PendingId) {
        if self.is_preparing(id) {
            *self = Self::Idle;
        }
    }

    /// Ends the preparation of a prompt.
    pub fn take_preparing(&mut self) -> Option<Preparing> {
        match std::mem::take(self) {
            Self::Preparing(preparing) => Some(preparing),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Ends a change of session.
    pub fn take_session_change(&mut self) -> Option<SessionChange> {
        match std::mem::take(self) {
            Self::ChangingSession(change) => Some(change),
            other => {
                *self = other;
                None
            }
        }
    }
}
