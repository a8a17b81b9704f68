//! What the checker found.

use bowline_core::sandbox::SandboxLevel;
use serde::Serialize;

use super::attempt::{Attempt, Expectation};
use super::inside::Said;

/// What came of an attempt, seen from both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was refused, and nothing has changed outside.
    Refused,
    /// It succeeded on something that only the sandbox has.
    Harmless,
    /// It succeeded and was undone.
    Undone,
    /// It got through.
    Through,
    /// This machine, or this level, lacks what would be attacked.
    Absent,
    /// It could not be tried.
    Untried,
}

/// The result of one attempt.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub number: &'static str,
    /// The subject that it belongs to.
    pub group: &'static str,
    pub promise: &'static str,
    pub name: &'static str,
    /// What was promised; absent if nothing confines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    pub result: Verdict,
    /// Whether the promise holds.
    pub kept: bool,
    /// What it says itself.
    pub detail: String,
    /// What has changed outside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// The results of all attempts.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatrixReport {
    pub level: SandboxLevel,
    pub rows: Vec<Row>,
}

impl MatrixReport {
    /// Tells whether every promise holds.
    pub fn is_kept(&self) -> bool {
        self.rows.iter().all(|row| row.kept)
    }

    /// Returns the attempts that ended in a certain way.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.result == verdict).count()
    }

    /// Returns how many promises are broken.
    pub fn broken(&self) -> usize {
        self.rows.iter().filter(|row| !row.kept).count()
    }
}

impl Verdict {
    /// Returns the word of the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Harmless => "harmless",
            Self::Undone => "undone",
            Self::Through => "got through",
            Self::Absent => "absent",
            Self::Untried => "not tried",
        }
    }

    /// Judges by what an attempt says, what has changed outside, and what was expected.
    pub(super) fn of(said: &Said, has_changed: bool, expected: Option<Expectation>) -> Self {
        match (said, has_changed) {
            (_, true) => Self::Through,
            (Said::Failed(_), _) => Self::Untried,
            (Said::Absent(_), _) => Self::Absent,
            (Said::Refused(_), _) => Self::Refused,
            (Said::Through, false) => match expected {
                Some(Expectation::Harmless) => Self::Harmless,
                Some(Expectation::Undone) => Self::Undone,
                _ => Self::Through,
            },
        }
    }

    /// Tells whether this is at least as good as what was promised.
    pub(super) fn keeps(self, expected: Option<Expectation>) -> bool {
        match (expected, self) {
            // An attempt that could not be tried has proved nothing.
            (_, Self::Untried) => false,
            (None | Some(Expectation::NotEnforced), _) => true,
            (_, verdict) => verdict != Self::Through,
        }
    }
}

impl Row {
    pub(super) fn new(
        group: &'static str,
        attempt: &Attempt,
        level: SandboxLevel,
        said: Said,
        outside: Vec<String>,
    ) -> Self {
        let expected = attempt.expectation(level);
        let result = Verdict::of(&said, !outside.is_empty(), expected);
        let detail = match said {
            Said::Through => String::new(),
            Said::Refused(text) | Said::Absent(text) | Said::Failed(text) => text,
        };
        Self {
            number: attempt.number,
            group,
            promise: attempt.promise,
            name: attempt.name,
            expected,
            result,
            kept: result.keeps(expected),
            detail,
            outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(said: &Said, has_changed: bool, expected: Expectation) -> (Verdict, bool) {
        let verdict = Verdict::of(said, has_changed, Some(expected));
        (verdict, verdict.keeps(Some(expected)))
    }

    #[test]
    fn change_outside_counts_whatever_the_attempt_says() {
        let refused = Said::Refused(String::new());
        assert_eq!(verdict(&refused, true, Expectation::Refused), (Verdict::Through, false));
        assert_eq!(verdict(&refused, true, Expectation::Undone), (Verdict::Through, false));
        assert_eq!(
            verdict(&Said::Failed(String::new()), true, Expectation::Refused),
            (Verdict::Through, false)
        );
    }

    #[test]
    fn success_inside_alone_is_enough_to_break_a_refusal_but_not_a_private_place() {
        assert_eq!(verdict(&Said::Through, false, Expectation::Refused), (Verdict::Through, false));
        assert_eq!(verdict(&Said::Through, false, Expectation::Harmless), (Verdict::Harmless, true));
        assert_eq!(verdict(&Said::Through, false, Expectation::Undone), (Verdict::Undone, true));
        assert_eq!(verdict(&Said::Through, true, Expectation::NotEnforced), (Verdict::Through, true));
    }

    #[test]
    fn attempt_that_could_not_be_tried_proves_nothing() {
        for expected in [Expectation::Refused, Expectation::NotEnforced, Expectation::Harmless] {
            assert_eq!(verdict(&Said::Failed(String::new()), false, expected), (Verdict::Untried, false));
        }
    }
}
