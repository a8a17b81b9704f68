//! What the file sets below one key each, and what that is to the engine.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use bowline_core::Policy;
use bowline_core::policy;
use bowline_core::sandbox::AskMode;
use bowline_core::stream_rule::{InterruptedAnswer, RuleInterrupt, RuleRepeat};
use bowline_engine::{
    ApprovalSettings, CompactionLimits, CompactionSettings, DEFAULT_APPROVAL_TIMEOUT, StreamRuleSettings,
    SubagentSettings, TodoSettings, UndoSettings,
};
use serde_json::Value;

use crate::terminal::note;

/// After how many turns a rule steps in again.
const DEFAULT_REPEAT_GAP: u64 = 10;

/// What is set about asking the user.
#[derive(Debug, Default)]
pub(crate) struct ApprovalsFile {
    pub ask: Option<AskMode>,
    /// The rules, not checked yet.
    pub rules: Vec<Value>,
    /// 0 is without end.
    pub timeout_ms: Option<u64>,
    pub full_dialogs: bool,
}

impl ApprovalsFile {
    pub fn settings(&self) -> ApprovalSettings {
        ApprovalSettings {
            timeout: match self.timeout_ms {
                None => Some(DEFAULT_APPROVAL_TIMEOUT),
                limit => limit.filter(|limit| *limit > 0).map(Duration::from_millis),
            },
            full_dialogs: self.full_dialogs,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Compaction {
    pub enabled: Option<bool>,
    pub limits: Limits,
    /// By `provider/id`.
    pub model_overrides: HashMap<String, Limits>,
}

#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub reserve_tokens: Option<u64>,
    pub keep_recent_tokens: Option<u64>,
}

impl Limits {
    /// Returns the limits, with defaults for what is not set.
    pub fn or(&self, defaults: CompactionLimits) -> CompactionLimits {
        CompactionLimits {
            reserve_tokens: self.reserve_tokens.unwrap_or(defaults.reserve_tokens),
            keep_recent_tokens: self.keep_recent_tokens.unwrap_or(defaults.keep_recent_tokens),
        }
    }
}

impl Compaction {
    pub fn settings(&self) -> CompactionSettings {
        let general = self.limits.or(CompactionLimits::default());
        let by_model = self.model_overrides.iter().map(|(name, limits)| (name.clone(), limits.or(general)));
        CompactionSettings { general, by_model: by_model.collect() }
    }
}

/// What is set about subagents.
#[derive(Debug, Default)]
pub(crate) struct Task {
    pub enabled: Option<bool>,
    pub max_concurrency: Option<NonZeroUsize>,
    pub max_recursion_depth: Option<u32>,
    /// 0 means unlimited, as for the time.
    pub max_turns: Option<u32>,
    pub max_runtime_ms: Option<u64>,
}

impl Task {
    pub fn settings(&self) -> SubagentSettings {
        let defaults = SubagentSettings::default();
        SubagentSettings {
            max_parallel: self.max_concurrency.unwrap_or(defaults.max_parallel),
            max_depth: self.max_recursion_depth.unwrap_or(defaults.max_depth),
            max_turns: match self.max_turns {
                None => defaults.max_turns,
                limit => limit.filter(|turns| *turns > 0),
            },
            max_runtime: match self.max_runtime_ms {
                None => defaults.max_runtime,
                limit => limit.filter(|limit| *limit > 0).map(Duration::from_millis),
            },
            ..defaults
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct StreamRules {
    pub enabled: Option<bool>,
    pub interrupt: Option<RuleInterrupt>,
    pub keeps_interrupted: bool,
    pub repeats: bool,
    pub repeat_gap: Option<u64>,
    pub disabled: Vec<String>,
}

impl StreamRules {
    pub fn settings(&self, policy: &Policy) -> StreamRuleSettings {
        let watches = policy.stream_rules == policy::StreamRules::Watched;
        StreamRuleSettings {
            enabled: self.enabled.unwrap_or(watches),
            interrupt: self.interrupt.unwrap_or_default(),
            interrupted_answer: match self.keeps_interrupted {
                true => InterruptedAnswer::Keep,
                false => InterruptedAnswer::Discard,
            },
            repeat: match self.repeats {
                true => RuleRepeat::AfterGap(self.repeat_gap.unwrap_or(DEFAULT_REPEAT_GAP)),
                false => RuleRepeat::Once,
            },
            disabled: self.disabled.clone(),
            warn: |warning| note(format_args!("bowline: {warning}")),
            ..StreamRuleSettings::default()
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Todos {
    pub enabled: Option<bool>,
    pub reminders: Option<bool>,
    pub max_reminders: Option<u32>,
}

impl Todos {
    /// Returns whether the tool is enabled by default.
    pub fn are_kept(&self, policy: &Policy) -> bool {
        self.enabled.unwrap_or(policy.todos == policy::Todos::Kept)
    }

    pub fn settings(&self) -> TodoSettings {
        let defaults = TodoSettings::default();
        TodoSettings {
            reminders: self.reminders.unwrap_or(defaults.reminders),
            max_reminders: self.max_reminders.unwrap_or(defaults.max_reminders),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Undo {
    pub enabled: Option<bool>,
    pub commands: Option<bool>,
    pub each_command: Option<bool>,
    pub max_file_bytes: Option<u64>,
    pub max_bytes: Option<u64>,
}

impl Undo {
    pub fn settings(&self) -> UndoSettings {
        let defaults = UndoSettings::default();
        UndoSettings {
            enabled: self.enabled.unwrap_or(defaults.enabled),
            commands: self.commands.unwrap_or(defaults.commands),
            each_command: self.each_command.unwrap_or(defaults.each_command),
            max_file_bytes: self.max_file_bytes.unwrap_or(defaults.max_file_bytes),
            max_bytes: self.max_bytes.unwrap_or(defaults.max_bytes),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Retry {
    pub enabled: Option<bool>,
    pub max_retries: Option<u32>,
    pub base_delay_ms: Option<u64>,
    pub max_agent_delay_ms: Option<u64>,
}
