//! What the replies to commands are for.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::Origin;

/// What the reply to a command is for.
#[derive(Debug)]
pub(super) enum Expected {
    Nothing,
    /// A session was opened for a request.
    Opened,
    /// A step of opening a session.
    Opening(OpeningStep),
    /// The commands that a user can type.
    Commands,
    /// The turn of this prompt.
    Turn,
    /// An option was changed for this request.
    OptionSet {
        client: Origin,
        method: SetBy,
    },
    /// The state after an option was changed.
    StateAfter {
        client: Origin,
        method: SetBy,
    },
    /// Sessions were listed for this request.
    Listed {
        client: Origin,
        folder: Option<String>,
    },
    /// The file of a session that is to be opened is looked for.
    FileToOpen {
        client: Origin,
        wanted: Box<super::opening::Wanted>,
    },
    /// The file of a session that is to be deleted is looked for.
    FileToDelete {
        client: Origin,
        id: String,
    },
    Deleted {
        client: Origin,
    },
    Closed {
        client: Option<Origin>,
        tag: SessionTag,
    },
    /// A steering message was queued for this request.
    Steered {
        client: Origin,
        was_running: bool,
    },
    /// Whether there is a model to log in for.
    Authenticated {
        client: Origin,
    },
}

/// How a client has changed an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetBy {
    Option,
    Mode,
}

/// A step of opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningStep {
    Models,
    State,
    Entries,
    /// The client wants to see a session again that is open.
    EntriesAgain,
}

/// The commands whose replies are expected, by number.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    last: u64,
    open: HashMap<Arc<str>, Expected>,
}

impl Expectations {
    /// Returns the origin of a command whose reply is expected.
    pub fn add(&mut self, expected: Expected) -> Origin {
        self.last += 1;
        let id: Arc<str> = self.last.to_string().into();
        self.open.insert(Arc::clone(&id), expected);
        Origin { id: Some(id), name: "acp", echo: None }
    }

    /// Returns what a reply is for.
    pub fn take(&mut self, origin: &Origin) -> Option<Expected> {
        self.open.remove(origin.id.as_ref()?)
    }
}
