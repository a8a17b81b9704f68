//! What a run has done about its list of tasks, and when the model is reminded of it.

/// How many changes without a look at the list lead to a nudge, and how many nudges a run gets.
const CHANGES_PER_NUDGE: u32 = 12;
const MAX_NUDGES: u32 = 2;

/// Ends of answers that ask the user for something. A reminder would answer in the user's place.
const REQUESTS: [&str; 9] = [
    "let me know",
    "please confirm",
    "please reply",
    "please choose",
    "please provide",
    "please tell me",
    "waiting for your",
    "awaiting your",
    "your decision",
];

/// What counts for reminders since the user's prompt.
#[derive(Debug, Default)]
pub(crate) struct TodoProgress {
    reminders: u32,
    /// Whether a tool was called since the last reminder.
    has_called: bool,
    /// How many calls changed something since the last look at the list.
    changes: u32,
    nudges: u32,
}

impl TodoProgress {
    /// Notes that a call has ended.
    pub fn call_ended(&mut self, is_todo: bool, has_changed: bool) {
        self.has_called = true;
        if is_todo {
            self.changes = 0;
        } else if has_changed {
            self.changes += 1;
        }
    }

    /// Returns the number of the reminder that is due, if one is. A model that only talked after the last one would do so
    /// again.
    pub fn remind(&mut self, max_reminders: u32) -> Option<u32> {
        let is_due = self.reminders < max_reminders && (self.reminders == 0 || self.has_called);
        is_due.then(|| {
            self.reminders += 1;
            self.has_called = false;
            self.reminders
        })
    }

    /// Tells whether the model has worked for long without a look at the list. Asking counts as telling it.
    pub fn nudge(&mut self) -> bool {
        let is_due = self.changes >= CHANGES_PER_NUDGE && self.nudges < MAX_NUDGES;
        if is_due {
            self.changes = 0;
            self.nudges += 1;
        }
        is_due
    }
}

/// Tells whether an answer ends with a question or a request to the user.
pub(crate) fn asks_user(answer: &str) -> bool {
    let Some(line) = answer.lines().rev().map(str::trim).find(|line| !line.is_empty()) else { return false };
    let line = line.trim_end_matches(['*', '_', '`', ')', '"', '\'', ' ', '”']).to_lowercase();
    line.ends_with(['?', '？']) || REQUESTS.iter().any(|request| line.contains(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_end_with_their_number_or_when_the_model_only_talks() {
        let mut progress = TodoProgress::default();
        assert_eq!((progress.remind(2), progress.remind(2)), (Some(1), None));
        progress.call_ended(false, false);
        assert_eq!(progress.remind(2), Some(2));
        progress.call_ended(true, false);
        assert_eq!((progress.remind(2), TodoProgress::default().remind(0)), (None, None));
    }

    #[test]
    fn twelve_changes_without_a_look_at_the_list_lead_to_a_nudge_twice() {
        let mut progress = TodoProgress::default();
        let mut nudged_after = |changes: u32| {
            (0..changes).for_each(|_| progress.call_ended(false, true));
            progress.nudge()
        };
        assert!(
            !nudged_after(11) && nudged_after(1) && !nudged_after(11) && nudged_after(1) && !nudged_after(50)
        );
        let mut progress = TodoProgress::default();
        (0..11).for_each(|_| progress.call_ended(false, true));
        progress.call_ended(true, false);
        progress.call_ended(false, false);
        progress.call_ended(false, true);
        assert!(!progress.nudge());
    }

    #[test]
    fn questions_and_requests_are_recognised_by_the_last_line() {
        for answer in
            ["Shall I go on?", "Done.\n\n**Which one do you want?**\n", "Let me know what you think."]
        {
            assert!(asks_user(answer), "{answer}");
        }
        for answer in ["", "Why? Because.", "What now?\nI stopped here."] {
            assert!(!asks_user(answer), "{answer}");
        }
    }
}
