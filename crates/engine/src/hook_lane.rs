//! Events that extensions want to see before anybody else: while one is being shown to them, everything that the session
//! emits after it is held back, and neither the model nor a tool is called.

use std::collections::VecDeque;

use bowline_core::event::RunOutcome;
use bowline_core::hook::{DiscoverReason, HookEvent};

use crate::input::Output;
use crate::pending::PendingId;

/// What a session has to say, in order, and what holds it back.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    items: VecDeque<Item>,
    last_barrier: u64,
    /// Whether what is emitted goes before the first barrier: it comes from the extensions that hold it.
    goes_ahead: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "barriers are rare")]
enum Item {
    Output(Output),
    Barrier(Barrier),
}

/// A place in the outputs that nothing passes until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier(u64);

impl Outputs {
    /// Returns the next output, unless it is held back.
    pub fn next(&mut self) -> Option<Output> {
        match self.items.pop_front()? {
            Item::Output(output) => Some(output),
            barrier @ Item::Barrier(_) => {
                self.items.push_front(barrier);
                None
            }
        }
    }

    pub fn push(&mut self, output: Output) {
        if self.goes_ahead {
            self.push_ahead(output);
        } else {
            self.items.push_back(Item::Output(output));
        }
    }

    /// Puts an output before everything that is held back.
    pub fn push_ahead(&mut self, output: Output) {
        let held = self.items.iter().position(|item| matches!(item, Item::Barrier(_)));
        self.items.insert(held.unwrap_or(self.items.len()), Item::Output(output));
    }

    /// Sets whether what is emitted goes before what is held back. Returns what was set before.
    pub fn set_ahead(&mut self, goes_ahead: bool) -> bool {
        std::mem::replace(&mut self.goes_ahead, goes_ahead)
    }

    /// Holds back what comes next.
    pub fn hold(&mut self) -> Barrier {
        self.last_barrier += 1;
        let barrier = Barrier(self.last_barrier);
        self.items.push_back(Item::Barrier(barrier));
        barrier
    }

    /// Removes a barrier.
    pub fn release(&mut self, barrier: Barrier) {
        self.items.retain(|item| !matches!(item, Item::Barrier(held) if *held == barrier));
    }

    /// Removes every barrier.
    pub fn release_all(&mut self) {
        self.items.retain(|item| matches!(item, Item::Output(_)));
    }
}

/// The events that extensions are shown one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    showing: Option<(PendingId, Barrier)>,
    waiting: VecDeque<(HookEvent, Barrier)>,
    /// What is done when nothing is left to be shown.
    then: Vec<AfterLane>,
}

/// What waits until extensions have seen everything before it.
#[derive(Debug, PartialEq)]
pub(crate) enum AfterLane {
    CallModel,
    /// Calls that may run are run.
    ContinueBatch,
    /// Extensions know that an attempt has ended, and may have queued messages: the run ends if they have not.
    EndRun(RunOutcome),
    /// What extensions sent when the run had ended is carried out.
    TakeDeferred,
    /// Extensions know that the session has started: they can name further resources.
    DiscoverResources(DiscoverReason),
    /// The session's first events were shown: prompts can be taken.
    Started,
    /// Extensions know that they are left: their hosts are stopped.
    StopHosts,
}

impl Lane {
    pub fn is_idle(&self) -> bool {
        self.showing.is_none() && self.waiting.is_empty()
    }

    pub fn push(&mut self, event: HookEvent, barrier: Barrier) {
        self.waiting.push_back((event, barrier));
    }

    /// Returns the next event to show, unless one is being shown.
    pub fn take_next(&mut self) -> Option<(HookEvent, Barrier)> {
        if self.showing.is_some() { None } else { self.waiting.pop_front() }
    }

    pub fn set_showing(&mut self, id: PendingId, barrier: Barrier) {
        self.showing = Some((id, barrier));
    }

    /// Ends showing an event. Returns the barrier that it was shown behind.
    pub fn shown(&mut self, id: PendingId) -> Option<Barrier> {
        let (_, barrier) = self.showing.take_if(|(showing, _)| *showing == id)?;
        Some(barrier)
    }

    /// Forgets every event. Returns the one that was being shown.
    pub fn clear(&mut self) -> Option<PendingId> {
        self.waiting.clear();
        self.showing.take().map(|(id, _)| id)
    }

    pub fn wait(&mut self, then: AfterLane) {
        if !self.then.contains(&then) {
            self.then.push(then);
        }
    }

    /// Takes what waited, if nothing is left to be shown.
    pub fn take_waiting(&mut self) -> Vec<AfterLane> {
        if self.is_idle() { std::mem::take(&mut self.then) } else { Vec::new() }
    }
}
