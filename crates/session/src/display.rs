//! Entries as they are displayed: read leniently, so that everything in a file can be shown, whoever wrote it. What is
//! missing is empty, and what is not understood is kept as it is.

mod decode;

use bowline_core::Usage;
use bowline_core::message::Arguments;
use jiff::Timestamp;
use serde_json::Value;

use crate::{EntryId, Error, Session};

/// The place of an entry in a session.
#[derive(Debug, Clone, Copy)]
pub struct EntryPlace<'a> {
    pub id: &'a EntryId,
    /// The number of the parent; none for a root.
    pub parent: Option<usize>,
}

/// An entry to display.
#[derive(Debug, PartialEq)]
pub struct DisplayedEntry {
    pub time: Option<Timestamp>,
    pub body: Body,
}

/// The content of an entry.
#[derive(Debug, PartialEq)]
pub enum Body {
    User(Vec<Block>),
    Answer(Box<Answer>),
    ToolResult(Box<ToolResult>),
    Bash(Box<BashExecution>),
    /// A message from an extension.
    Custom {
        kind: String,
        content: Vec<Block>,
        /// Whether it is meant for people too; models always see it.
        is_shown: bool,
    },
    /// The system prompt and the tools, which newer programs store.
    System(Value),
    Compaction {
        summary: String,
        first_kept: Option<String>,
        tokens_before: u64,
        usage: Option<Usage>,
    },
    BranchSummary {
        summary: String,
        from: Option<String>,
        usage: Option<Usage>,
    },
    ModelChange {
        provider: String,
        model: String,
    },
    ThinkingLevelChange(String),
    Name(String),
    /// A label on another entry; `None` removes it.
    Label {
        target: String,
        label: Option<String>,
    },
    /// An edit of what models see of another entry; `None` hides the entry.
    ContextEdit {
        target: String,
        replacement: Option<Vec<Block>>,
    },
    /// Tokens that were not spent on an answer.
    Spending {
        kind: String,
        usage: Usage,
    },
    /// Data that an extension stores in the session.
    ExtensionData {
        kind: String,
        data: Value,
    },
    /// An entry of an unknown type, or with unexpected content.
    Unknown(Value),
    /// A line that is not valid JSON beyond its id and its parent.
    Unreadable(String),
}

/// A block of a message.
#[derive(Debug, PartialEq)]
pub enum Block {
    Text(String),
    Thinking {
        text: String,
        is_redacted: bool,
    },
    Call(Call),
    /// An image in base64.
    Image {
        data: String,
        mime_type: String,
    },
    Unknown(Value),
}

/// A tool call.
#[derive(Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
}

/// A message of a model.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub content: Vec<Block>,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    pub stop_reason: String,
    pub error: Option<String>,
}

/// The result of a tool call.
#[derive(Debug, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    pub tool: String,
    pub content: Vec<Block>,
    pub details: Value,
    pub usage: Option<Usage>,
    pub is_error: bool,
}

/// A user-initiated command.
#[derive(Debug, PartialEq)]
pub struct BashExecution {
    pub command: String,
    pub output: String,
    pub exit_code: Option<i64>,
    pub is_cancelled: bool,
    pub is_truncated: bool,
    pub full_output_path: Option<String>,
    /// Whether it is hidden from the model.
    pub is_private: bool,
}

impl Answer {
    /// Returns the tool calls in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.content.iter().filter_map(|block| if let Block::Call(call) = block { Some(call) } else { None })
    }
}

impl Body {
    /// Returns the usage that the entry records.
    pub fn usage(&self) -> Option<&Usage> {
        match self {
            Self::Answer(answer) => Some(&answer.usage),
            Self::Spending { usage, .. } => Some(usage),
            Self::ToolResult(result) => result.usage.as_ref(),
            Self::Compaction { usage, .. } | Self::BranchSummary { usage, .. } => usage.as_ref(),
            _ => None,
        }
    }
}

impl Session {
    /// Returns the number of entries on all branches. Entries are numbered from 0 in the order of the file.
    pub fn entry_count(&self) -> usize {
        self.tree.nodes().len()
    }

    /// Returns the place of the entry with a number.
    ///
    /// # Panics
    ///
    /// Panics if the session has no entry with this number.
    pub fn place(&self, number: usize) -> EntryPlace<'_> {
        let node = &self.tree.nodes()[number];
        EntryPlace { id: &node.id, parent: node.parent.map(|parent| parent as usize) }
    }

    /// Returns the number of the entry with an id. If several entries have the id, this is the last one.
    pub fn number_of(&self, id: &str) -> Option<usize> {
        self.tree.position(id).map(|position| position as usize)
    }

    /// Reads the entry with a number for display. Fails only if the file cannot be read.
    ///
    /// # Panics
    ///
    /// Panics if the session has no entry with this number.
    pub fn displayed_entry(&self, number: usize) -> Result<DisplayedEntry, Error> {
        Ok(decode::entry(&self.storage.read(&self.tree.nodes()[number])?))
    }
}
