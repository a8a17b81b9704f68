//! The engine's settings.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use bowline_core::command::QueueMode;
use bowline_core::limits::{LimitSet, Limits};
use bowline_core::stream_rule::{InterruptedAnswer, RuleInterrupt, RuleRepeat};
use bowline_llm::RequestOptions;
use bowline_session::{Durability, Store};
use bowline_tools::Selection;

use crate::approvals::ApprovalSettings;
use crate::subagents::SubagentSettings;

/// The engine's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    pub retry: RetrySettings,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub auto_compaction: bool,
    pub compaction: CompactionSettings,
    /// Whether images that are too large for a model are resized.
    pub resize_images: bool,
    /// What runs and sessions may spend.
    pub limits: LimitSet,
    /// Whether clients may set limits beyond these, and be asked less than the settings say.
    pub client_may_widen: bool,
    /// The user's wishes for every request to a model.
    pub request_options: RequestOptions,
    /// Whether running tools and commands report before they end. How often they do depends on the time they take, so
    /// reproducible output needs this off.
    pub reports_progress: bool,
    /// How many tool calls of an answer run at the same time; the others wait.
    pub max_parallel_tools: NonZeroUsize,
    /// Which tools of clients, extensions and MCP servers are enabled.
    pub offered_tools: Selection,
    pub subagents: SubagentSettings,
    /// How long a client may say nothing about a call of one of its tools; `None` is without end.
    pub host_call_limit: Option<Duration>,
    /// Whether changes of files go through clients that want that.
    pub editor_writes: bool,
    pub stream_rules: StreamRuleSettings,
    pub todos: TodoSettings,
    pub approvals: ApprovalSettings,
    pub undo: UndoSettings,
}

/// How stream rules work.
#[derive(Debug, Clone)]
pub struct StreamRuleSettings {
    pub enabled: bool,
    /// Which matches interrupt, unless a rule says.
    pub interrupt: RuleInterrupt,
    /// What the model sees of an answer that was interrupted.
    pub interrupted_answer: InterruptedAnswer,
    pub repeat: RuleRepeat,
    /// The names of rules that are not used.
    pub disabled: Vec<String>,
    /// The folder whose folder `rules` has the user's own.
    pub own_folder: PathBuf,
    /// The agent that rules are for.
    pub agent: String,
    /// Called with what is wrong with a rule.
    pub warn: fn(&str),
}

/// What is kept so that changes of files can be taken back.
#[derive(Debug, Clone, Copy)]
pub struct UndoSettings {
    pub enabled: bool,
    /// Whether the changes of commands are looked for, or only those of the file tools are kept.
    pub commands: bool,
    /// Whether they are looked for after each command instead of each turn.
    pub each_command: bool,
    /// The most bytes of a file whose content is kept.
    pub max_file_bytes: u64,
    /// The most bytes that are kept of a session.
    pub max_bytes: u64,
}

/// When the model is reminded of its list of tasks.
#[derive(Debug, Clone, Copy)]
pub struct TodoSettings {
    pub reminders: bool,
    /// How often it is reminded after one prompt.
    pub max_reminders: u32,
}

/// Enough that independent calls do not wait for one another, few enough that an answer with thousands of them neither
/// runs out of file descriptors nor starves the machine.
pub const DEFAULT_MAX_PARALLEL_TOOLS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Long enough for work that a person has a part in, short enough that a client that forgot a call does not hold a run
/// forever.
pub const DEFAULT_HOST_CALL_LIMIT: Duration = Duration::from_mins(30);

/// When and how a failed call of the model is tried again.
#[derive(Debug, Clone)]
pub struct RetrySettings {
    pub enabled: bool,
    pub max_retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub base_delay: Duration,
    /// No wait is longer. A provider that asks for more is not asked again.
    pub max_delay: Duration,
}

/// How much of a conversation a compaction leaves alone.
#[derive(Debug, Clone, Default)]
pub struct CompactionSettings {
    pub general: CompactionLimits,
    /// Limits of their own for some models, by `provider/id`.
    pub by_model: HashMap<String, CompactionLimits>,
}

/// The figures that a compaction goes by.
#[derive(Debug, Clone, Copy)]
pub struct CompactionLimits {
    /// What of the window is kept free for the answer.
    pub reserve_tokens: u64,
    /// About how much of the newest messages stays as it is.
    pub keep_recent_tokens: u64,
}

impl CompactionSettings {
    /// Returns the limits for a model.
    pub(crate) fn for_model(&self, full_name: &str) -> CompactionLimits {
        self.by_model.get(full_name).copied().unwrap_or(self.general)
    }
}

impl Default for CompactionLimits {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// Where sessions are kept.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    /// `None` keeps sessions in memory only.
    pub store: Option<Store>,
    pub durability: Durability,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetrySettings::default(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            auto_compaction: true,
            compaction: CompactionSettings::default(),
            resize_images: true,
            limits: LimitSet {
                run: Limits { turns: Some(500), ..Limits::default() },
                session: Limits::default(),
            },
            client_may_widen: false,
            request_options: RequestOptions::default(),
            reports_progress: true,
            max_parallel_tools: DEFAULT_MAX_PARALLEL_TOOLS,
            offered_tools: Selection::default(),
            subagents: SubagentSettings::default(),
            host_call_limit: Some(DEFAULT_HOST_CALL_LIMIT),
            editor_writes: true,
            stream_rules: StreamRuleSettings::default(),
            todos: TodoSettings::default(),
            approvals: ApprovalSettings::default(),
            undo: UndoSettings::default(),
        }
    }
}

impl Default for StreamRuleSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            interrupt: RuleInterrupt::default(),
            interrupted_answer: InterruptedAnswer::default(),
            repeat: RuleRepeat::Once,
            disabled: Vec::new(),
            own_folder: PathBuf::new(),
            agent: "main".to_owned(),
            warn: |_| {},
        }
    }
}

impl Default for UndoSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            commands: true,
            each_command: false,
            max_file_bytes: 10 * 1024 * 1024,
            max_bytes: 200 * 1024 * 1024,
        }
    }
}

impl Default for TodoSettings {
    fn default() -> Self {
        Self { reminders: true, max_reminders: 3 }
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_mins(1),
        }
    }
}
