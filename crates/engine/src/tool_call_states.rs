//! The tool calls of one answer, each in one of four states.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bowline_core::limits::Spent;
use bowline_core::message::{Arguments, Message, StopReason, ToolCall};
use bowline_core::sandbox::Grants;
use bowline_core::sandbox::ProtectedChange;
use bowline_core::subagent::SubagentEvent;
use bowline_core::ui::ExtensionError;
use bowline_tools::{Outcome, Progress};

use crate::pending::PendingId;
use crate::session::PassedOn;

/// The calls of one answer.
#[derive(Debug)]
pub(crate) struct Batch {
    message: Arc<Message>,
    reason: StopReason,
    calls: Vec<Call>,
    /// Calls are taken up in order: all before this one were.
    taken_up: usize,
    /// How many were taken up and have not ended.
    open: usize,
    /// Whether the calls run one after the other.
    is_sequential: bool,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Call {
    pub id: String,
    pub tool: String,
    pub arguments: Arc<Arguments>,
    /// Why it is not carried out, if its arguments could not be accepted.
    pub refusal: Option<String>,
    /// What it may do beyond the sandbox.
    pub grants: Grants,
    state: CallState,
}

/// What a call is doing.
#[derive(Debug)]
pub(crate) enum CallState {
    /// It was not taken up yet.
    Waiting,
    /// It is decided whether it runs, by extensions and the gate.
    Deciding {
        started: Instant,
    },
    /// It may run, and waits for others that are taken up with it.
    Cleared {
        started: Instant,
    },
    /// The user decides whether it runs.
    Asked {
        question: PendingId,
        started: Instant,
    },
    Running {
        task: PendingId,
        started: Instant,
        progress: ProgressSlot,
    },
    /// It has run, and extensions see its result.
    Finishing {
        started: Instant,
    },
    /// It ended. The result is its message, once recorded.
    Done {
        outcome: Outcome,
        result: Option<Arc<Message>>,
    },
}

/// The newest report of a running tool. Older ones are replaced, so that a tool that reports faster than the client
/// reads costs no memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressSlot(Arc<Mutex<Option<Progress>>>);

/// What a running tool reports.
#[derive(Debug)]
pub(crate) enum ToolStep {
    /// There is a new report in the call's slot.
    Progress,
    /// Something happened to a subagent that the call started.
    Subagent(SubagentEvent),
    /// What a subagent has spent since the last report.
    Spent(Spent),
    /// A subagent asks the user something.
    Asks(PassedOn),
    /// An extension failed at a hook of a subagent.
    ExtensionFailed(ExtensionError),
    /// A call of a subagent changed a protected path.
    ProtectedPathChanged(ProtectedChange),
    Done(Outcome),
}

impl Batch {
    /// Returns the calls of an answer; `refusals` has for each why it is not carried out, if so.
    pub fn new(
        message: Arc<Message>,
        calls: Vec<ToolCall>,
        refusals: Vec<Option<String>>,
        reason: StopReason,
    ) -> Self {
        let calls = calls.into_iter().zip(refusals).map(|(ToolCall { id, name, arguments, .. }, refusal)| {
            let (arguments, grants) = (Arc::new(arguments), Grants::default());
            Call { id, tool: name, arguments, refusal, grants, state: CallState::Waiting }
        });
        Self { message, reason, calls: calls.collect(), taken_up: 0, open: 0, is_sequential: false }
    }

    /// Has the calls run one after the other if one of them is of a tool that runs alone.
    pub fn set_sequential(&mut self, runs_alone: impl Fn(&str) -> bool) {
        self.is_sequential = self.calls.iter().any(|call| runs_alone(&call.tool));
    }

    /// Tells whether the calls run one after the other.
    pub fn is_sequential(&self) -> bool {
        self.is_sequential
    }

    /// Returns the answer that made the calls.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// Returns why the answer ended.
    pub fn reason(&self) -> StopReason {
        self.reason
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn call(&self, index: usize) -> Option<&Call> {
        self.calls.get(index)
    }

    /// Returns the first call that was not taken up yet.
    pub fn next_waiting(&self) -> Option<usize> {
        (self.taken_up < self.calls.len()).then_some(self.taken_up)
    }

    /// Returns how many calls were taken up and have not ended.
    pub fn open_calls(&self) -> usize {
        self.open
    }

    pub fn is_done(&self) -> bool {
        self.taken_up == self.calls.len() && self.open == 0
    }

    /// Changes what a call is doing. Calls leave the state `Waiting` in order.
    pub fn set_state(&mut self, index: usize, state: CallState) {
        let Some(call) = self.calls.get_mut(index) else { return };
        debug_assert!(index <= self.taken_up, "calls are taken up in order");
        self.open -= usize::from(call.state.is_open());
        self.open += usize::from(state.is_open());
        if matches!(call.state, CallState::Waiting) {
            self.taken_up += 1;
        }
        call.state = state;
    }

    /// Changes the arguments of a call.
    pub fn set_arguments(&mut self, index: usize, arguments: Arc<Arguments>) {
        if let Some(call) = self.calls.get_mut(index) {
            call.arguments = arguments;
        }
    }

    /// Sets what a call may do beyond the sandbox.
    pub fn set_grants(&mut self, index: usize, grants: Grants) {
        if let Some(call) = self.calls.get_mut(index) {
            call.grants = grants;
        }
    }

    /// Returns the calls that are running.
    pub fn running(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| matches!(call.state, CallState::Running { .. }))
    }

    /// Tells whether it is still being decided about a call.
    pub fn is_deciding(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.state, CallState::Deciding { .. }))
    }

    /// Returns the calls that may run, with when they were taken up.
    pub fn cleared(&self) -> Vec<(usize, Instant)> {
        let cleared = self.calls.iter().enumerate().filter_map(|(index, call)| match call.state {
            CallState::Cleared { started } => Some((index, started)),
            _ => None,
        });
        cleared.collect()
    }

    /// Returns the calls whose outcome is not a message yet, in order.
    pub fn unrecorded(&self) -> impl Iterator<Item = (&Call, &Outcome)> {
        self.calls.iter().filter_map(|call| match &call.state {
            CallState::Done { outcome, result: None } => Some((call, outcome)),
            _ => None,
        })
    }

    /// Replaces the outcomes that are not messages yet, in order.
    pub fn replace_unrecorded(&mut self, mut replace: impl FnMut(&mut Outcome)) {
        for call in &mut self.calls {
            if let CallState::Done { outcome, result: None } = &mut call.state {
                replace(outcome);
            }
        }
    }

    /// Tells whether every call says that the run ends with it.
    pub fn ends_run(&self) -> bool {
        self.calls
            .iter()
            .all(|call| matches!(&call.state, CallState::Done { outcome, .. } if outcome.ends_run))
    }

    /// Notes the message that a call's outcome became.
    pub fn set_result(&mut self, index: usize, message: Arc<Message>) {
        if let Some(Call { state: CallState::Done { result, .. }, .. }) = self.calls.get_mut(index) {
            *result = Some(message);
        }
    }

    /// Returns the questions that are open, with the calls they are about.
    pub fn questions(&self) -> Vec<(usize, PendingId)> {
        let asked = self.calls.iter().enumerate().filter_map(|(index, call)| match call.state {
            CallState::Asked { question, .. } => Some((index, question)),
            _ => None,
        });
        asked.collect()
    }

    /// Returns the messages with the results, in the order of the calls.
    pub fn results(&self) -> Vec<Arc<Message>> {
        let results = self.calls.iter().filter_map(|call| match &call.state {
            CallState::Done { result, .. } => result.clone(),
            _ => None,
        });
        results.collect()
    }
}

impl CallState {
    /// Tells whether the call was taken up and has not ended.
    fn is_open(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Done { .. })
    }
}

impl Call {
    pub fn state(&self) -> &CallState {
        &self.state
    }

    /// Returns when the call was taken up; `None` before that and after its end.
    pub fn started(&self) -> Option<Instant> {
        match self.state {
            CallState::Deciding { started }
            | CallState::Cleared { started }
            | CallState::Asked { started, .. }
            | CallState::Running { started, .. }
            | CallState::Finishing { started } => Some(started),
            CallState::Waiting | CallState::Done { .. } => None,
        }
    }
}

impl ProgressSlot {
    pub fn put(&self, progress: Progress) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(progress);
    }

    pub fn take(&self) -> Option<Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
