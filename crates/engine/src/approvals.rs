//! The questions about calls that a session has open: which one the user sees, which ones wait, and whether the client
//! answers at all.

use std::collections::VecDeque;
use std::time::Duration;

use bowline_core::ask::ApprovalForm;
use bowline_tools::HostAnswer;

use crate::pending::PendingId;

/// How users are asked about calls.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalSettings {
    /// After this time the answer is no; `None` is without end.
    pub timeout: Option<Duration>,
    /// Whether dialogs also offer to remember.
    pub full_dialogs: bool,
}

/// Long enough for somebody who is at lunch, short enough that a client that shows nothing does not hold a run forever.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_mins(10);

/// How many questions about calls may wait, and how many hosts are kept. More are denied.
pub(crate) const MOST_WAITING: usize = 1_000;

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { timeout: Some(DEFAULT_APPROVAL_TIMEOUT), full_dialogs: false }
    }
}

/// The questions about calls, and what is known of the client.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    /// The question that the user sees. There is one at a time, so that an answer cannot be for another.
    open: Option<PendingId>,
    waiting: VecDeque<PendingId>,
    /// Those of the waiting ones that the gate looks at again. They are not shown before it has.
    held: Vec<PendingId>,
    /// How many the user has seen.
    shown: u64,
    client: Client,
    /// Whether the client wants records instead of dialogs.
    wants_records: bool,
    /// What was decided about hosts in this turn. A command may connect many times.
    hosts: Vec<(String, HostAnswer)>,
}

/// Whether the client answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Client {
    #[default]
    Unknown,
    Answers,
    /// It let one time out and never answered any.
    IsSilent,
}

impl Approvals {
    /// Takes a question up. It waits until it is the next one.
    pub fn add(&mut self, id: PendingId) {
        self.waiting.push_back(id);
    }

    /// Keeps a question from being shown, once more.
    pub fn hold(&mut self, id: PendingId) {
        self.held.push(id);
    }

    /// Lets a question be shown that was kept from it as often as it is released.
    pub fn release(&mut self, id: PendingId) {
        if let Some(place) = self.held.iter().position(|held| *held == id) {
            self.held.swap_remove(place);
        }
    }

    /// Tells whether there is no room for another question.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// Tells whether the user sees a question.
    pub fn is_open(&self, id: PendingId) -> bool {
        self.open == Some(id)
    }

    /// Returns the number of a question that is shown now.
    pub fn number(&mut self) -> u64 {
        self.shown += 1;
        self.shown
    }

    /// Returns the question with this number, if the user sees it.
    pub fn with_number(&self, number: u64) -> Option<PendingId> {
        self.open.filter(|_| self.shown == number)
    }

    /// Forgets a question that is decided.
    pub fn remove(&mut self, id: PendingId) {
        self.waiting.retain(|waiting| *waiting != id);
        self.held.retain(|held| *held != id);
        self.open = self.open.filter(|open| *open != id);
    }

    /// Returns the question to show next, unless the user sees one.
    pub fn next(&mut self) -> Option<PendingId> {
        if self.open.is_some() || self.waiting.front().is_some_and(|front| self.held.contains(front)) {
            return None;
        }
        self.open = self.waiting.pop_front();
        self.open
    }

    /// Returns all questions, the one that the user sees at the end.
    pub fn all(&self) -> Vec<PendingId> {
        self.waiting.iter().copied().chain(self.open).collect()
    }

    /// Returns the questions that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = PendingId> {
        self.waiting.iter().copied()
    }

    /// Forgets all questions.
    pub fn clear(&mut self) {
        self.open = None;
        self.waiting.clear();
        self.held.clear();
        self.hosts.clear();
    }

    /// Notes that the client answered something, in time or not.
    pub fn client_answered(&mut self) {
        self.client = Client::Answers;
    }

    /// Notes that the client let a question time out.
    pub fn client_was_silent(&mut self) {
        if self.client == Client::Unknown {
            self.client = Client::IsSilent;
        }
    }

    /// Notes how the client wants to be asked.
    pub fn client_declared(&mut self, wants_records: bool) {
        self.wants_records = wants_records;
        if self.client == Client::IsSilent {
            self.client = Client::Unknown;
        }
    }

    /// Tells whether the client is known not to answer.
    pub fn client_is_silent(&self) -> bool {
        self.client == Client::IsSilent
    }

    /// Returns how the client is asked.
    pub fn form(&self, settings: &ApprovalSettings) -> ApprovalForm {
        match (self.wants_records, settings.full_dialogs) {
            (true, _) => ApprovalForm::Record,
            (false, true) => ApprovalForm::FullDialog,
            (false, false) => ApprovalForm::Dialog,
        }
    }

    /// Returns what was decided about a host in this turn.
    pub fn host(&self, host: &str) -> Option<HostAnswer> {
        self.hosts.iter().find(|(known, _)| known == host).map(|(_, answer)| *answer)
    }

    /// Notes what was decided about a host for the rest of the turn.
    pub fn set_host(&mut self, host: String, answer: HostAnswer) {
        if self.hosts.len() < MOST_WAITING {
            self.hosts.push((host, answer));
        }
    }

    /// Forgets what was decided for the turn, which is over.
    pub fn end_turn(&mut self) {
        self.hosts.clear();
    }
}
