//! What extensions return from hooks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::command::SummaryInstructions;
use crate::custom_content::CustomContent;
use crate::message::{Arguments, Content, CustomMessage, Message};
use crate::prompt::PromptChanges;
use crate::usage::Usage;

/// What an extension returns from a hook. A result that the hook does not have is an error of the extension.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum HookResult {
    /// Nothing changes.
    #[default]
    None,
    /// The action is not carried out: of the hooks named `…_before_…`.
    Cancel,
    /// Whether a project is trusted.
    Trust {
        is_trusted: bool,
        /// Whether the decision holds for later processes too.
        remember: bool,
    },
    Resources(DiscoveredPaths),
    /// A message that replaces the user's.
    Transform {
        text: String,
        images: Option<Vec<Content>>,
    },
    /// The extension has dealt with the user's message.
    Handled,
    /// What is added to a prompt.
    Start(StartAdditions),
    /// What is added at the end of a turn or a run.
    Boundary {
        entries: Vec<EntryDraft>,
        continues: Option<bool>,
    },
    /// A message of the same role that replaces the one at its end.
    Message(Arc<Message>),
    /// The system prompt to send instead.
    SystemPrompt(String),
    /// The conversation to send instead.
    Messages(Vec<Arc<Message>>),
    Headers(BTreeMap<String, Option<String>>),
    Payload(Value),
    /// Arguments that replace those of a tool call. They are not checked against the tool's schema, unless
    /// `validate` says so.
    Arguments {
        arguments: Arguments,
        validate: bool,
    },
    /// The tool is not run.
    Block {
        reason: Option<String>,
        /// Whether the run ends once every call of the answer was ended in this way.
        terminate: bool,
    },
    /// The user decides whether the tool runs; the reason is shown to them.
    Ask {
        reason: String,
    },
    ToolResult(ToolResultChange),
    /// The result of a shell command that was not run.
    Shell(ShellAnswer),
    /// A summary that replaces that of a model.
    Compaction(SummaryDraft),
    Tree(TreeChange),
    /// The run ends after this turn, for this reason.
    Stop {
        reason: Option<String>,
    },
    /// Several results at once, applied in order.
    All(Vec<HookResult>),
}

/// What an extension adds to a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartAdditions {
    /// Follows the user's message.
    pub message: Option<CustomMessageDraft>,
    /// What changes of the system prompt and the tools for this run.
    pub changes: Box<PromptChanges>,
}

/// A message of an extension that is not part of the conversation yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomMessageDraft {
    pub custom_type: String,
    pub content: CustomContent,
    pub display: bool,
    pub details: Option<Value>,
}

impl CustomMessageDraft {
    /// Returns the message that becomes part of the conversation.
    pub fn into_message(self, timestamp: u64) -> Message {
        let Self { custom_type, content, display, details } = self;
        Message::Custom(CustomMessage { custom_type, content, display, details, timestamp })
    }
}

/// An entry of the session's file that an extension wants to add.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryDraft {
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    Message(CustomMessageDraft),
    /// The replacement is the new content of the message; without it the model does not see the message any more.
    ContextEdit {
        target: String,
        replacement: Option<Value>,
    },
    Compaction {
        summary: String,
        /// The first entry that is kept; without it none is.
        first_kept: Option<String>,
        details: Option<Value>,
        usage: Option<Usage>,
    },
}

/// What a tool's result becomes; what is absent stays. New content takes the structured content away if it brings none, as
/// the two may not match any more.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultChange {
    pub content: Option<Vec<Content>>,
    pub details: Option<Value>,
    pub structured_content: Option<Box<Value>>,
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
}

/// The result of a shell command that an extension carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAnswer {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    pub full_output_path: Option<PathBuf>,
}

/// A summary that an extension wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryDraft {
    pub summary: String,
    /// The first entry that is kept; that of the preparation when absent.
    pub first_kept: Option<String>,
    pub tokens_before: Option<u64>,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
}

/// What an extension changes about a move to another entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeChange {
    pub summary: Option<SummaryDraft>,
    pub instructions: Option<String>,
    /// Whether the instructions take the place of the usual ones instead of adding to them.
    pub replaces_instructions: Option<bool>,
    pub label: Option<String>,
}

impl TreeChange {
    /// Returns the instructions for the summary that there are instead of these.
    pub fn instructions_for(&self, before: Option<SummaryInstructions>) -> Option<SummaryInstructions> {
        let replaced_before = before.as_ref().is_some_and(|before| before.replaces_usual);
        let text = self.instructions.clone().or(before.map(|before| before.text))?;
        let replaces_usual = self.replaces_instructions.unwrap_or(replaced_before);
        Some(SummaryInstructions { text, replaces_usual })
    }
}

/// Further places of skills and templates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiscoveredPaths {
    /// The name of the extension that named them.
    pub extension: String,
    pub skills: Vec<PathBuf>,
    pub prompts: Vec<PathBuf>,
}
