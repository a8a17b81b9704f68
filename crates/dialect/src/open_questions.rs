//! The questions that the client has not answered yet, by their ids on the wire.

use bowline_core::SessionTag;
use bowline_core::ask::{AskAnswer, AskId, Decision, Remembered};
use bowline_core::ui::{DialogAnswer, DialogKind, UiToken};

use crate::Incoming;
use crate::approval_text::{APPROVE, PROJECT, SESSION};

/// How many questions are remembered. The engine bounds how many are open, and tells when one is not; this holds even if
/// it failed to.
const MOST: usize = 1_000;

/// The open questions.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Vec<Open>);

/// A question that the client has not answered yet.
#[derive(Debug)]
pub(crate) struct Open {
    pub ask: AskId,
    /// The id on the wire.
    pub id: String,
    pub token: UiToken,
    pub subject: Subject,
    pub wanted: Wanted,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Dialog,
    /// Whether a tool call may run.
    Approval,
    /// The same, with options to remember the answer.
    Choice,
    /// The same, as a record that a command answers.
    Record,
}

/// What the answer to a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Text,
    YesOrNo,
}

impl Wanted {
    /// Returns what the answer to a dialog is.
    pub fn of(dialog: &DialogKind) -> Self {
        match dialog {
            DialogKind::Confirm { .. } => Self::YesOrNo,
            DialogKind::Select { .. } | DialogKind::Input { .. } | DialogKind::Editor { .. } => Self::Text,
        }
    }
}

impl OpenQuestions {
    pub fn add(&mut self, open: Open) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(open);
    }

    /// Returns what a question is about.
    pub fn subject(&self, ask: AskId) -> Option<Subject> {
        self.0.iter().find(|open| open.ask == ask).map(|open| open.subject)
    }

    /// Forgets a question that is decided.
    pub fn remove(&mut self, ask: AskId) -> Option<Open> {
        let index = self.0.iter().position(|open| open.ask == ask)?;
        Some(self.0.remove(index))
    }

    /// Returns the client's answer for the session, as `read` finds it in the line; `None` if the question is not open.
    /// Only `consent` allows a tool call.
    pub fn answer(
        &self,
        id: &str,
        read: impl FnOnce(Wanted) -> DialogAnswer,
        consent: &DialogAnswer,
    ) -> Option<Incoming> {
        let open = self.0.iter().find(|open| open.id == id)?;
        let decision = match (open.subject, read(open.wanted)) {
            (Subject::Dialog, answer) => Decision::Dialog(answer),
            (Subject::Approval, answer) if answer == *consent => Decision::Allow,
            (Subject::Choice, DialogAnswer::Value(word)) => choice(&word),
            (Subject::Approval | Subject::Choice, _) => Decision::Deny { reason: None },
            (Subject::Record, _) => return None,
        };
        let answer = AskAnswer { id: open.ask, decision };
        Some(Incoming::Answer { session: SessionTag::FIRST, answer })
    }
}

/// Returns the decision that an option stands for. Any other text is a no.
fn choice(word: &str) -> Decision {
    match word {
        APPROVE => Decision::Allow,
        SESSION => Decision::AllowFor(Remembered::Session),
        PROJECT => Decision::AllowFor(Remembered::Project),
        _ => Decision::Deny { reason: None },
    }
}

/// Returns a token as the text of a UUID.
pub(crate) fn uuid(token: UiToken) -> String {
    let digits = format!("{:032x}", token.0);
    let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(number: u64) -> Open {
        let (subject, wanted) = (Subject::Dialog, Wanted::Text);
        Open { ask: AskId(number), id: number.to_string(), token: UiToken(number.into()), subject, wanted }
    }

    #[test]
    fn questions_that_nobody_decides_are_forgotten_at_some_point() {
        let mut questions = OpenQuestions::default();
        (0..=MOST as u64).for_each(|number| questions.add(open(number)));
        let nothing = DialogAnswer::Cancelled;
        let answer = |id: &str| questions.answer(id, |_| nothing.clone(), &nothing);
        assert_eq!((answer("0").is_some(), answer("1").is_some()), (false, true));
        assert_eq!(questions.0.len(), MOST);
    }

    #[test]
    fn token_is_written_as_a_uuid() {
        let token = UiToken(0x1516_151f_ccfa_462b_b7b1_8b1e_664f_b441);
        assert_eq!(uuid(token), "1516151f-ccfa-462b-b7b1-8b1e664fb441");
        assert_eq!(uuid(UiToken(0)), "00000000-0000-0000-0000-000000000000");
    }
}
