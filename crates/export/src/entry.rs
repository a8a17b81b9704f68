//! What the page shows: the entries of a session in the form that rendering needs.

use bowline_core::Usage;
use bowline_core::message::Arguments;
use jiff::Timestamp;
use serde_json::Value;

/// The place of an entry: its number in the order of the file.
pub(crate) type Position = usize;

/// A session, read.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub id: String,
    pub version: u64,
    pub started: Option<Timestamp>,
    pub working_directory: String,
    /// The session that this one came from, as its creator named it.
    pub parent_session: Option<String>,
    /// The name that was given last.
    pub name: Option<String>,
    pub entries: Vec<Entry>,
    /// How many lines are not entries of a session.
    pub malformed_lines: usize,
}

/// An entry of a session.
#[derive(Debug)]
pub(crate) struct Entry {
    pub id: String,
    pub parent: Option<Position>,
    pub time: Option<Timestamp>,
    pub body: Body,
}

/// What an entry says.
#[derive(Debug, PartialEq)]
pub(crate) enum Body {
    User(Vec<Block>),
    Answer(Box<Answer>),
    ToolResult(Box<ToolResult>),
    Bash(Box<BashExecution>),
    /// A message of an extension.
    Custom {
        kind: String,
        content: Vec<Block>,
        /// Whether people are meant to see it; models always do.
        is_shown: bool,
    },
    /// The prompt and the tools that newer programs store.
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
    /// A mark on another entry; none clears it.
    Label {
        target: String,
        label: Option<String>,
    },
    /// An edit of what models see of another entry; none removes it.
    ContextEdit {
        target: String,
        replacement: Option<Vec<Block>>,
    },
    /// Tokens that were spent on something else than an answer.
    Spending {
        kind: String,
        provider: String,
        model: String,
        usage: Usage,
    },
    /// Something that an extension keeps in the session.
    ExtensionData {
        kind: String,
        data: Value,
    },
    /// An entry of a kind that we do not know, or cannot read.
    Unknown(Value),
}

/// A block of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Block {
    Text(String),
    Thinking {
        text: String,
        is_redacted: bool,
    },
    Call(Call),
    /// An image as base64.
    Image {
        data: String,
        mime_type: String,
    },
    Unknown(Value),
}

/// A call of a tool.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
}

/// What a model answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub content: Vec<Block>,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    pub stop_reason: String,
    pub error: Option<String>,
}

/// What a tool gave back.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolResult {
    pub call_id: String,
    pub tool: String,
    pub content: Vec<Block>,
    pub details: Value,
    pub usage: Option<Usage>,
    pub is_error: bool,
}

/// A command that the user ran by hand.
#[derive(Debug, PartialEq)]
pub(crate) struct BashExecution {
    pub command: String,
    pub output: String,
    pub exit_code: Option<i64>,
    pub is_cancelled: bool,
    pub is_truncated: bool,
    pub full_output_path: Option<String>,
    /// Whether the model is kept from seeing it.
    pub is_private: bool,
}

impl Answer {
    /// Returns the calls of tools in the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.content.iter().filter_map(|block| if let Block::Call(call) = block { Some(call) } else { None })
    }
}

impl Body {
    /// Returns the tokens that the entry stands for, with the provider and the model if it names them.
    pub fn usage(&self) -> Option<(&Usage, Option<(&str, &str)>)> {
        match self {
            Self::Answer(answer) => Some((&answer.usage, Some((&answer.provider, &answer.model)))),
            Self::Spending { provider, model, usage, .. } => Some((usage, Some((provider, model)))),
            Self::ToolResult(result) => result.usage.as_ref().map(|usage| (usage, None)),
            Self::Compaction { usage, .. } | Self::BranchSummary { usage, .. } => {
                usage.as_ref().map(|usage| (usage, None))
            }
            _ => None,
        }
    }
}
