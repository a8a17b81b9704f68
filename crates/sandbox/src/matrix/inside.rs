//! The part that runs inside: one attempt, in a process that the keeper has started like any other command.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::attempt::{Stop, Tried};
use super::attempts;
use super::facts::Facts;

/// The argument with which the program is started to try an attempt. The number of the attempt and the folder of the
/// fixture follow.
pub const ATTEMPT_ROLE: &str = "__attempt";

/// Instead of a number: says only that the program can be started.
pub(super) const READY: &str = "ready";

/// What follows the number to look at what the attempt has left.
pub(super) const THEN: &str = "-then";

/// What marks the line with the result.
pub(super) const RESULT: &str = "bowline-attempt ";

/// The result of an attempt, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "result", content = "text")]
pub(super) enum Said {
    Through,
    Refused(String),
    Absent(String),
    Failed(String),
}

/// What an attempt works with.
#[derive(Debug)]
pub(super) struct Inside {
    pub facts: Facts,
    pub fixture: PathBuf,
    /// The folder of this attempt within the workspace.
    pub scratch: PathBuf,
    /// The folder of this attempt's victims.
    pub outside: PathBuf,
    /// The environment of this process.
    pub environment: Vec<(String, String)>,
}

impl Inside {
    pub fn workspace(&self) -> PathBuf {
        self.fixture.join("workspace")
    }

    pub fn home(&self) -> PathBuf {
        self.fixture.join("home")
    }

    /// The file outside that most attempts are after.
    pub fn file(&self) -> PathBuf {
        self.outside.join("file")
    }
}

/// Tries one attempt and returns the line that tells the checker what came of it.
pub fn attempt(number: &str, fixture: &Path, environment: Vec<(String, String)>) -> String {
    let said = match said(number, fixture, environment) {
        Ok(()) => Said::Through,
        Err(Stop::Refused(why)) => Said::Refused(why),
        Err(Stop::Absent(why)) => Said::Absent(why),
        Err(Stop::Failed(why)) => Said::Failed(why),
    };
    // Only maps with strange keys cannot be serialised.
    format!("{RESULT}{}", serde_json::to_string(&said).unwrap_or_default())
}

fn said(number: &str, fixture: &Path, environment: Vec<(String, String)>) -> Tried {
    if number == READY {
        return Ok(());
    }
    let (number, is_second) = match number.strip_suffix(THEN) {
        Some(number) => (number, true),
        None => (number, false),
    };
    let attempt = attempts::all()
        .find(|attempt| attempt.number == number)
        .ok_or_else(|| Stop::Failed(format!("there is no attempt {number}")))?;
    let facts = Facts::read(fixture).map_err(Stop::Failed)?;
    let inside = Inside {
        facts,
        fixture: fixture.to_owned(),
        scratch: fixture.join("workspace").join(number),
        outside: fixture.join("outside").join(number),
        environment,
    };
    match attempt.then.filter(|_| is_second) {
        Some(then) => then(&inside),
        None => (attempt.act)(&inside),
    }
}
