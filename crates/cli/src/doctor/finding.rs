//! What a check has found.

use std::path::Path;

use crate::shell_word::typed;

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Fine,
    /// It works, but is probably not what the user wants.
    Look,
    Broken,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Look => "look",
            Self::Broken => "broken",
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub state: State,
    /// What is so.
    pub what: String,
    /// What it means, if that is not clear.
    pub meaning: String,
    /// Command lines that change it, of which one is enough.
    pub remedies: Vec<String>,
}

impl Finding {
    pub fn fine(what: impl Into<String>) -> Self {
        Self { state: State::Fine, what: what.into(), meaning: String::new(), remedies: Vec::new() }
    }

    pub fn look(what: impl Into<String>) -> Self {
        Self { state: State::Look, ..Self::fine(what) }
    }

    pub fn broken(what: impl Into<String>) -> Self {
        Self { state: State::Broken, ..Self::fine(what) }
    }

    /// Adds what it means.
    pub fn because(self, meaning: impl Into<String>) -> Self {
        Self { meaning: meaning.into(), ..self }
    }

    /// Adds a command that changes it.
    pub fn remedy(mut self, command: impl Into<String>) -> Self {
        self.remedies.push(command.into());
        self
    }
}

/// Returns a command line about a path.
pub(super) fn command(words: &str, path: &Path) -> String {
    format!("{words} {}", typed(&path.to_string_lossy()))
}
