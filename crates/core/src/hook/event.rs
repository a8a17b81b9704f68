//! What hooks are about.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::command::SummaryInstructions;
use crate::event::{CompactionReason, EntryName, FileOperations};
use crate::message::{Arguments, Content, Message};
use crate::model::Model;
use crate::prompt::{PromptChanges, PromptParts};
use crate::stream::Update;
use crate::thinking::ThinkingLevel;
use crate::ui::NotifyLevel;
use crate::usage::Usage;

use super::{EntryDraft, HookKind};

/// What a hook is about.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    ProjectTrust {
        directory: PathBuf,
    },
    ResourcesDiscover {
        directory: PathBuf,
        reason: DiscoverReason,
    },
    SessionStart {
        reason: SessionReason,
        previous_file: Option<PathBuf>,
    },
    SessionInfoChanged {
        name: Option<String>,
    },
    SessionBeforeSwitch {
        reason: SessionReason,
        target: Option<PathBuf>,
    },
    SessionBeforeFork {
        entry: String,
        position: ForkPosition,
    },
    SessionBeforeCompact(Box<CompactionPreparation>),
    SessionCompact {
        /// The entry as it is in the file.
        entry: Arc<str>,
        from_extension: bool,
        reason: CompactionReason,
        will_retry: bool,
    },
    SessionCompactFailed {
        reason: CompactionReason,
        error: Option<String>,
        aborted: bool,
        will_retry: bool,
        from_extension: bool,
    },
    SessionBeforeTree(Box<TreePreparation>),
    SessionTree {
        new_leaf: Option<EntryName>,
        old_leaf: Option<EntryName>,
        /// The entry with a summary, as it is in the file.
        summary_entry: Option<Arc<str>>,
        from_extension: bool,
    },
    SessionShutdown {
        reason: SessionReason,
        target: Option<PathBuf>,
    },
    Input {
        text: String,
        images: Vec<Content>,
        source: InputSource,
        /// How the message is queued, while a run is in progress.
        streaming_behavior: Option<crate::command::Queue>,
    },
    BeforeAgentStart {
        prompt: String,
        images: Vec<Content>,
        /// The message of an extension that starts the run, if none of the user does.
        message: Option<Arc<Message>>,
        system_prompt: Arc<str>,
        parts: Arc<PromptParts>,
        /// What extensions have changed of it already.
        changes: Box<PromptChanges>,
    },
    AgentStart,
    AgentEnd {
        messages: Vec<Arc<Message>>,
    },
    TurnStart {
        index: u32,
        timestamp: u64,
    },
    TurnEnd {
        index: u32,
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
        message_entry: Option<EntryName>,
        tool_result_entries: Vec<EntryName>,
        outcome: TurnOutcome,
        boundary: Boundary,
    },
    AgentBeforeSettle {
        outcome: TurnOutcome,
        boundary: Boundary,
    },
    AgentSettled {
        aborted: bool,
    },
    MessageStart(Arc<Message>),
    MessageUpdate {
        usage: Usage,
        update: Update,
    },
    MessageEnd(Arc<Message>),
    Context(Vec<Arc<Message>>),
    ContextWithSystem {
        system_prompt: Arc<str>,
        messages: Vec<Arc<Message>>,
    },
    BeforeProviderHeaders(BTreeMap<String, String>),
    BeforeProviderRequest(Value),
    AfterProviderResponse {
        status: u16,
        headers: BTreeMap<String, String>,
    },
    ProviderStreamEvent {
        model: Arc<Model>,
        data: Value,
    },
    ToolExecutionStart {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    ToolExecutionUpdate {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
        content: Vec<Content>,
        details: Option<Value>,
    },
    ToolExecutionEnd {
        call_id: String,
        tool: String,
        content: Vec<Content>,
        details: Option<Value>,
        structured_content: Option<Box<Value>>,
        usage: Option<Box<Usage>>,
        is_error: bool,
        duration: Duration,
    },
    ToolCall {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    ToolResult {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
        content: Vec<Content>,
        details: Option<Value>,
        structured_content: Option<Box<Value>>,
        usage: Option<Box<Usage>>,
        is_error: bool,
    },
    UserBash {
        command: String,
        exclude_from_context: bool,
        directory: PathBuf,
    },
    ModelSelect {
        model: Arc<Model>,
        previous: Option<Arc<Model>>,
        source: ModelSource,
    },
    ThinkingLevelSelect {
        level: ThinkingLevel,
        previous: ThinkingLevel,
    },
    UiPromptStart {
        kind: &'static str,
        title: String,
    },
    UiPromptEnd {
        kind: &'static str,
        title: String,
    },
    UiNotify {
        message: String,
        level: Option<NotifyLevel>,
    },
}

impl HookEvent {
    /// Returns the hook that the event is for.
    pub fn kind(&self) -> HookKind {
        match self {
            Self::ProjectTrust { .. } => HookKind::ProjectTrust,
            Self::ResourcesDiscover { .. } => HookKind::ResourcesDiscover,
            Self::SessionStart { .. } => HookKind::SessionStart,
            Self::SessionInfoChanged { .. } => HookKind::SessionInfoChanged,
            Self::SessionBeforeSwitch { .. } => HookKind::SessionBeforeSwitch,
            Self::SessionBeforeFork { .. } => HookKind::SessionBeforeFork,
            Self::SessionBeforeCompact(_) => HookKind::SessionBeforeCompact,
            Self::SessionCompact { .. } => HookKind::SessionCompact,
            Self::SessionCompactFailed { .. } => HookKind::SessionCompactFailed,
            Self::SessionBeforeTree(_) => HookKind::SessionBeforeTree,
            Self::SessionTree { .. } => HookKind::SessionTree,
            Self::SessionShutdown { .. } => HookKind::SessionShutdown,
            Self::Input { .. } => HookKind::Input,
            Self::BeforeAgentStart { .. } => HookKind::BeforeAgentStart,
            Self::AgentStart => HookKind::AgentStart,
            Self::AgentEnd { .. } => HookKind::AgentEnd,
            Self::TurnStart { .. } => HookKind::TurnStart,
            Self::TurnEnd { .. } => HookKind::TurnEnd,
            Self::AgentBeforeSettle { .. } => HookKind::AgentBeforeSettle,
            Self::AgentSettled { .. } => HookKind::AgentSettled,
            Self::MessageStart(_) => HookKind::MessageStart,
            Self::MessageUpdate { .. } => HookKind::MessageUpdate,
            Self::MessageEnd(_) => HookKind::MessageEnd,
            Self::Context(_) => HookKind::Context,
            Self::ContextWithSystem { .. } => HookKind::ContextWithSystem,
            Self::BeforeProviderHeaders(_) => HookKind::BeforeProviderHeaders,
            Self::BeforeProviderRequest(_) => HookKind::BeforeProviderRequest,
            Self::AfterProviderResponse { .. } => HookKind::AfterProviderResponse,
            Self::ProviderStreamEvent { .. } => HookKind::ProviderStreamEvent,
            Self::ToolExecutionStart { .. } => HookKind::ToolExecutionStart,
            Self::ToolExecutionUpdate { .. } => HookKind::ToolExecutionUpdate,
            Self::ToolExecutionEnd { .. } => HookKind::ToolExecutionEnd,
            Self::ToolCall { .. } => HookKind::ToolCall,
            Self::ToolResult { .. } => HookKind::ToolResult,
            Self::UserBash { .. } => HookKind::UserBash,
            Self::ModelSelect { .. } => HookKind::ModelSelect,
            Self::ThinkingLevelSelect { .. } => HookKind::ThinkingLevelSelect,
            Self::UiPromptStart { .. } => HookKind::UiPromptStart,
            Self::UiPromptEnd { .. } => HookKind::UiPromptEnd,
            Self::UiNotify { .. } => HookKind::UiNotify,
        }
    }

    /// Returns the tool that the event is about, if it is about one.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolExecutionStart { tool, .. }
            | Self::ToolExecutionUpdate { tool, .. }
            | Self::ToolExecutionEnd { tool, .. }
            | Self::ToolCall { tool, .. }
            | Self::ToolResult { tool, .. } => Some(tool),
            _ => None,
        }
    }
}

/// Where a session comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionReason {
    Startup,
    Reload,
    New,
    Resume,
    Fork,
    Quit,
}

impl SessionReason {
    /// Returns the reason's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Reload => "reload",
            Self::New => "new",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Quit => "quit",
        }
    }
}

/// Why resources are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoverReason {
    Startup,
    Reload,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    Before,
    At,
}

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSource {
    Rpc,
    Extension,
}

/// How a model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Set,
    Cycle,
    Restore,
}

/// How a turn or a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    Completed,
    Aborted,
    Error,
}

impl TurnOutcome {
    /// Returns the outcome's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Error => "error",
        }
    }
}

/// What extensions have already decided for the end of a turn or a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Boundary {
    pub entries: Vec<EntryDraft>,
    pub continues: bool,
    pub can_continue: bool,
}

/// A compaction that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPreparation {
    pub first_kept: EntryName,
    pub messages: Vec<Arc<Message>>,
    pub turn_prefix: Vec<Arc<Message>>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    pub files: FileOperations,
    pub reserve_tokens: u64,
    pub keep_recent_tokens: u64,
    pub instructions: Option<String>,
    pub reason: CompactionReason,
    pub will_retry: bool,
}

/// A move to another entry that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct TreePreparation {
    pub target: String,
    pub old_leaf: Option<EntryName>,
    /// The messages of the branch that is left.
    pub abandoned: Vec<Arc<Message>>,
    pub wants_summary: bool,
    pub instructions: Option<SummaryInstructions>,
}
