//! What an attempt is, what is expected of it, and what comes of it.

use std::fmt::Display;
use std::io;

use bowline_core::sandbox::SandboxLevel;
use serde::{Deserialize, Serialize};

use super::inside::Inside;

/// A way out of the sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Its number in the matrix, with a letter where one number has several attempts.
    pub number: &'static str,
    /// The promise that it tests.
    pub promise: &'static str,
    /// What is tried, in a few words.
    pub name: &'static str,
    /// What is expected at the level `full`.
    pub full: Expectation,
    /// What is expected at the level `landlock`.
    pub landlock: Expectation,
    /// Who gets through when nothing confines.
    pub reach: Reach,
    /// Whether it needs a sandbox whose network is a list of hosts.
    pub proxied: bool,
    /// Tries it, inside.
    pub(super) act: fn(&Inside) -> Tried,
    /// What the shell does before, in the same command.
    pub(super) shell: &'static str,
    /// Looks, in the next command, at what the attempt has left.
    pub(super) then: Option<fn(&Inside) -> Tried>,
}

/// What is expected of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// It is refused, and nothing changes outside.
    Refused,
    /// It may succeed, on something that only the sandbox has.
    Harmless,
    /// It is not prevented, and the report of the sandbox says so.
    NotEnforced,
    /// It may succeed, and is undone when the command has ended.
    Undone,
    /// The level does not have what is attacked.
    Absent,
}

/// Who gets through when nothing confines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Every user.
    Anyone,
    /// Root only.
    Root,
    /// Nobody: it can only be tried, or only exists, within a sandbox.
    Nobody,
    /// That depends on the kernel and its settings.
    Machine,
}

/// What came of an attempt, as it says itself.
pub(super) type Tried = Result<(), Stop>;

/// Why an attempt did not get through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// It was refused.
    Refused(String),
    /// This machine lacks what would be attacked.
    Absent(String),
    /// It could not be tried, which says nothing about the promise.
    Failed(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<rustix::io::Errno> for Stop {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<nix::errno::Errno> for Stop {
    fn from(error: nix::errno::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Marks the steps of an attempt that must succeed for it to be one.
pub(super) trait Preparation<T> {
    /// Returns the value; an error means that the attempt could not be tried.
    fn prepared(self, doing: &str) -> Result<T, Stop>;
}

impl<T, E: Display> Preparation<T> for Result<T, E> {
    fn prepared(self, doing: &str) -> Result<T, Stop> {
        self.map_err(|error| Stop::Failed(format!("{doing}: {error}")))
    }
}

/// Returns that something was refused.
pub(super) fn refused(why: impl Into<String>) -> Tried {
    Err(Stop::Refused(why.into()))
}

impl Attempt {
    /// Returns what is expected at a level.
    pub fn expectation(&self, level: SandboxLevel) -> Option<Expectation> {
        match level {
            SandboxLevel::Full => Some(self.full),
            SandboxLevel::Landlock => Some(self.landlock),
            SandboxLevel::None | SandboxLevel::External => None,
        }
    }
}

impl Expectation {
    /// Returns the word of the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Harmless => "harmless",
            Self::NotEnforced => "not enforced",
            Self::Undone => "undone",
            Self::Absent => "absent",
        }
    }
}

/// Builds the rows of the tables.
pub(super) const fn row(
    number: &'static str,
    promise: &'static str,
    name: &'static str,
    (full, landlock): (Expectation, Expectation),
    reach: Reach,
    act: fn(&Inside) -> Tried,
) -> Attempt {
    Attempt { number, promise, name, full, landlock, reach, proxied: false, act, shell: "", then: None }
}

/// The pairs of expectations that rows share.
pub(super) mod expected {
    use super::Expectation::{self, Absent, Harmless, NotEnforced, Refused, Undone};

    pub const REFUSED: (Expectation, Expectation) = (Refused, Refused);
    pub const REFUSED_IN_FULL: (Expectation, Expectation) = (Refused, NotEnforced);
    pub const NOT_ENFORCED: (Expectation, Expectation) = (NotEnforced, NotEnforced);
    pub const HARMLESS: (Expectation, Expectation) = (Harmless, Harmless);
    pub const PRIVATE_OR_NOT_ENFORCED: (Expectation, Expectation) = (Harmless, NotEnforced);
    pub const PRIVATE_OR_REFUSED: (Expectation, Expectation) = (Harmless, Refused);
    pub const REFUSED_OR_UNDONE: (Expectation, Expectation) = (Refused, Undone);
    pub const UNDONE: (Expectation, Expectation) = (Undone, Undone);
    pub const REFUSED_OR_ABSENT: (Expectation, Expectation) = (Refused, Absent);
}
