//! Completions of what a user types after a slash command.

/// A way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What takes the place of the text after the command's name.
    pub value: String,
    /// What to show instead of the value.
    pub label: Option<String>,
    pub description: Option<String>,
}
