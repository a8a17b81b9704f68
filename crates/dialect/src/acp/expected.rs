//! What the replies to commands are for.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::Origin;

use super::opening::Wanted;

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
    },
    /// The file of a session that is to be opened is looked for.
    FileToOpen {
        wanted: Box<Wanted>,
    },
    /// The file of a session that is to be deleted is looked for.
    FileToDelete {
        client: Origin,
        id: String,
    },
    Deleted {
        client: Origin,
    },
    /// A session was closed, for this request or to be deleted.
    Closed {
        tag: SessionTag,
        then: AfterClose,
    },
    /// A steering message was queued for this request.
    Steered {
        client: Origin,
        was_running: bool,
    },
    /// A method beyond the protocol was carried out.
    Extension {
        client: Origin,
    },
    /// Whether there is a model to log in for.
    Authenticated {
        client: Origin,
    },
}

/// What follows when a session is closed.
#[derive(Debug)]
pub(super) enum AfterClose {
    Nothing,
    /// The request to close it is answered.
    Answer(Origin),
    /// Its file is deleted for this request.
    Delete {
        client: Origin,
        id: String,
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
    /// The commands that a user can type.
    Commands,
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
