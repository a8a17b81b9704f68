//! What extensions show to the user of a client, and what they ask.
//!
//! A dialog waits for the user; a display does not. Dialects that have no words for either say so in their policy: then
//! a dialog has its default answer at once, and a display is dropped.

use std::time::Duration;

/// The random part of a request's id on the wire, by which a dialect builds an id in its own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UiToken(pub u128);

/// A dialog that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    pub kind: DialogKind,
    pub title: String,
    /// After this time the default answer is taken. Clients are told, the session keeps the time.
    pub timeout: Option<Duration>,
}

/// What a dialog asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    /// One of several options.
    Select {
        options: Vec<String>,
        /// What is said about each option, in their order; empty if nothing is.
        descriptions: Vec<Option<String>>,
    },
    /// Yes or no.
    Confirm { message: String },
    /// A line of text.
    Input { placeholder: Option<String> },
    /// Text of any length.
    Editor {
        prefill: Option<String>,
        /// Whether it is to look and behave like the place where prompts are written.
        is_prompt: bool,
    },
}

impl DialogKind {
    /// Returns the name of the dialog's method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Select { .. } => "select",
            Self::Confirm { .. } => "confirm",
            Self::Input { .. } => "input",
            Self::Editor { .. } => "editor",
        }
    }

    /// Returns what a client's answer means for this dialog. An answer of the wrong kind counts as none.
    pub fn accept(&self, answer: DialogAnswer) -> DialogAnswer {
        match (self, answer) {
            (Self::Confirm { .. }, answer @ DialogAnswer::Confirmed(_)) => answer,
            (
                Self::Select { .. } | Self::Input { .. } | Self::Editor { .. },
                answer @ DialogAnswer::Value(_),
            ) => answer,
            _ => DialogAnswer::Cancelled,
        }
    }
}

/// The user's answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    /// A text or a chosen option; one that was not offered is passed on.
    Value(String),
    Confirmed(bool),
    /// There is no answer: the user closed the dialog, it timed out, or it can no longer be answered.
    Cancelled,
}

/// Something that is shown and not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Display {
    Notify {
        message: String,
        level: Option<NotifyLevel>,
    },
    /// A short text under a key; none removes it.
    Status {
        key: String,
        text: Option<String>,
    },
    /// Lines of text under a key; none remove it.
    Widget {
        key: String,
        lines: Option<Vec<String>>,
        placement: Option<WidgetPlacement>,
        /// Whether it is a component, which the client passes the user's keys on to.
        takes_keys: bool,
    },
    Title {
        title: String,
    },
    /// Replaces what the user is typing.
    EditorText {
        text: String,
    },
    /// A web page that the user is to open.
    OpenUrl(OpenUrl),
}

/// A web page that the user is to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUrl {
    pub url: String,
    /// What the client opens instead, if the page is only to be shown.
    pub launch_url: Option<String>,
    /// What the user is to do there.
    pub instructions: Option<String>,
}

impl OpenUrl {
    /// Returns the address as a message, for clients that open none.
    pub fn message(&self) -> String {
        match &self.instructions {
            Some(instructions) => format!("{instructions}\n{}", self.url),
            None => self.url.clone(),
        }
    }
}

/// How much a notification matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyLevel {
    Info,
    Warning,
    Error,
}

impl NotifyLevel {
    /// Returns the level's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Returns the level with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Info, Self::Warning, Self::Error].into_iter().find(|level| level.as_str() == name)
    }
}

/// Where a widget is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WidgetPlacement {
    AboveEditor,
    BelowEditor,
}

impl WidgetPlacement {
    /// Returns the placement's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AboveEditor => "aboveEditor",
            Self::BelowEditor => "belowEditor",
        }
    }

    /// Returns the placement with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::AboveEditor, Self::BelowEditor].into_iter().find(|placement| placement.as_str() == name)
    }
}

/// The place that a client has for components of extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// In characters.
    pub columns: u16,
    pub rows: u16,
}

/// What the user does with a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WidgetInput {
    /// Presses keys, as a terminal sends them.
    Keys(String),
    /// Closes it.
    Close,
}

/// A failure of an extension, as clients are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionError {
    /// The extension's path, or what stands for it: `command:<name>`, `hook:<event>`, `<runtime>`.
    pub extension: String,
    /// What it was doing: the name of a hook, `command`, `load`, `process`.
    pub event: String,
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_wrong_kind_count_as_none() {
        let confirm = DialogKind::Confirm { message: String::new() };
        let input = DialogKind::Input { placeholder: None };
        let value = DialogAnswer::Value(String::new());
        assert_eq!(confirm.accept(DialogAnswer::Confirmed(true)), DialogAnswer::Confirmed(true));
        assert_eq!(confirm.accept(value.clone()), DialogAnswer::Cancelled);
        assert_eq!(input.accept(value.clone()), value);
        assert_eq!(input.accept(DialogAnswer::Confirmed(true)), DialogAnswer::Cancelled);
    }
}
