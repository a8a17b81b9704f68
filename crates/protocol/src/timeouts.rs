//! How long the responses to commands may take.

use std::collections::HashMap;
use std::time::Duration;

/// The limit of most commands.
const USUAL: Duration = Duration::from_secs(30);

const MINUTE: u64 = 60;

/// The limits of the commands that may take longer, in seconds.
const LONG: [(&str, Option<u64>); 21] = [
    // As long as a model, a command of the user or a compaction takes.
    ("prompt", Some(30 * MINUTE)),
    ("compact", Some(30 * MINUTE)),
    ("navigate_tree", Some(30 * MINUTE)),
    ("bash", None),
    // As long as the user takes.
    ("login", None),
    // Until a run has ended. A tool that does not stop is abandoned after two seconds.
    ("abort", Some(MINUTE)),
    ("new_session", Some(MINUTE)),
    // As long as it takes to read and write files.
    ("switch_session", Some(5 * MINUTE)),
    ("fork", Some(5 * MINUTE)),
    ("clone", Some(5 * MINUTE)),
    ("list_sessions", Some(5 * MINUTE)),
    ("delete_session", Some(5 * MINUTE)),
    ("export_html", Some(5 * MINUTE)),
    ("get_changes", Some(5 * MINUTE)),
    ("undo", Some(5 * MINUTE)),
    ("redo", Some(5 * MINUTE)),
    ("get_pending_changes", Some(5 * MINUTE)),
    ("accept_changes", Some(5 * MINUTE)),
    ("discard_changes", Some(5 * MINUTE)),
    // The sandbox is made first.
    ("get_sandbox", Some(MINUTE)),
    ("set_sandbox", Some(MINUTE)),
];

/// How long the client waits for the response to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    usual: Duration,
    by_command: HashMap<String, Option<Duration>>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let by_command = LONG.map(|(name, seconds)| (name.to_owned(), seconds.map(Duration::from_secs)));
        Self { usual: USUAL, by_command: by_command.into() }
    }
}

impl Timeouts {
    /// Sets the limit of the commands that have none of their own, instead of 30 seconds.
    #[must_use]
    pub fn usual(mut self, limit: Duration) -> Self {
        self.usual = limit;
        self
    }

    /// Sets the limit of a command by its type; `None` waits for ever.
    #[must_use]
    pub fn of(mut self, command: impl Into<String>, limit: Option<Duration>) -> Self {
        self.by_command.insert(command.into(), limit);
        self
    }

    /// Returns the limit of a command by its type; none if there is none.
    pub fn limit(&self, command: &str) -> Option<Duration> {
        self.by_command.get(command).copied().unwrap_or(Some(self.usual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::COMMANDS;

    #[test]
    fn every_long_command_exists() {
        for (name, _) in LONG {
            assert!(COMMANDS.contains(&name), "there is no command {name}");
        }
    }

    #[test]
    fn limits_can_be_changed_for_all_and_for_one() {
        let timeouts = Timeouts::default().usual(Duration::from_secs(1)).of("compact", None);
        assert_eq!(timeouts.limit("get_state"), Some(Duration::from_secs(1)));
        assert_eq!(timeouts.limit("compact"), None);
        assert_eq!(timeouts.limit("bash"), None);
        assert_eq!(timeouts.limit("abort"), Some(Duration::from_secs(60)));
    }
}
