//! What the settings are to the parts of the agent, with defaults for what is not set.

use std::ffi::OsString;
use std::time::Duration;

use bowline_core::Policy;
use bowline_core::limits::LimitSet;
use bowline_engine::{DEFAULT_HOST_CALL_LIMIT, DEFAULT_MAX_PARALLEL_TOOLS, RetrySettings, Settings};
use bowline_llm::RequestOptions;
use bowline_session::Durability;
use bowline_tools::{CommandEnvironment, Selection};

use super::file::SettingsFile;
use crate::terminal::note;

/// When the tool `bash` kills a command by default.
const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_mins(10);

/// How long the first prompt waits for MCP servers by default.
const DEFAULT_MCP_START: Duration = Duration::from_secs(10);

/// Stands for no time limit.
pub(super) const NO_LIMIT: Duration = Duration::from_hours(24 * 365);

impl SettingsFile {
    /// Returns the engine's settings; the policy has the defaults.
    pub fn engine_settings(&self, policy: &Policy) -> Settings {
        let defaults = RetrySettings::default();
        let milliseconds = |value: Option<u64>, default| value.map_or(default, Duration::from_millis);
        Settings {
            retry: RetrySettings {
                enabled: self.retry.enabled.unwrap_or(defaults.enabled),
                max_retries: self.retry.max_retries.unwrap_or(defaults.max_retries),
                base_delay: milliseconds(self.retry.base_delay_ms, defaults.base_delay),
                max_delay: milliseconds(self.retry.max_agent_delay_ms, defaults.max_delay),
            },
            steering_mode: self.steering_mode.unwrap_or(policy.steering_mode),
            follow_up_mode: self.follow_up_mode.unwrap_or_default(),
            auto_compaction: self.compaction.enabled.unwrap_or(true),
            compaction: self.compaction.settings(),
            resize_images: self.resize_images.unwrap_or(true),
            limits: self.limits(),
            client_may_widen: self.sandbox.client_may_widen,
            request_options: RequestOptions {
                budgets: self.thinking_budgets.or(policy.thinking_budgets),
                block_images: self.block_images.unwrap_or(false),
            },
            reports_progress: true,
            max_parallel_tools: self.max_parallel_tools.unwrap_or(DEFAULT_MAX_PARALLEL_TOOLS),
            offered_tools: Selection::default(),
            subagents: self.task.settings(),
            host_call_limit: match self.host_tool_timeout_ms {
                None => Some(DEFAULT_HOST_CALL_LIMIT),
                Some(0) => None,
                Some(limit) => Some(Duration::from_millis(limit)),
            },
            editor_writes: self.editor_writes.unwrap_or(true),
            stream_rules: self.stream_rules.settings(policy),
            todos: self.todos.settings(),
            approvals: self.approvals.settings(),
            undo: self.undo.settings(),
        }
    }

    /// Returns what runs and sessions may spend.
    fn limits(&self) -> LimitSet {
        let mut limits = self.limits;
        limits.run.turns = match self.limits_run_turns.or(self.max_turns.map(u64::from)) {
            None => Settings::default().limits.run.turns,
            limit => limit.filter(|turns| *turns > 0),
        };
        limits
    }

    pub fn durability(&self) -> Durability {
        self.durability.unwrap_or(Durability::Flush)
    }

    /// Returns when the tool `bash` kills a command for which the model asks for no timeout.
    pub fn command_timeout(&self) -> Option<Duration> {
        match self.command_timeout_ms {
            Some(0) => None,
            given => Some(given.map_or(DEFAULT_COMMAND_TIMEOUT, Duration::from_millis)),
        }
    }

    /// Returns what commands get of `variables`. `key_variables` returns the names of those that hold keys.
    pub fn command_environment(
        &self,
        variables: fn() -> Vec<(OsString, OsString)>,
        key_variables: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> CommandEnvironment {
        let keep = self.kept_variables.clone();
        CommandEnvironment::new(variables, self.command_variables, keep, key_variables, |names| {
            note(format_args!(
                "bowline: commands do not get the variables {names}; sandbox.environment in settings.json keeps them"
            ));
        })
    }

    /// Returns how long the first prompt waits for MCP servers.
    pub fn mcp_start_timeout(&self) -> Duration {
        self.mcp_start_timeout_ms.map_or(DEFAULT_MCP_START, Duration::from_millis)
    }

    /// Returns the time-outs for providers.
    pub fn timeouts(&self) -> bowline_llm::Timeouts {
        let defaults = bowline_llm::Timeouts::default();
        let limit = |milliseconds: Option<u64>, default| match milliseconds {
            None => default,
            // As in pi.
            Some(0) => NO_LIMIT,
            Some(milliseconds) => Duration::from_millis(milliseconds),
        };
        bowline_llm::Timeouts {
            connect: limit(self.http_connect_timeout_ms, defaults.connect),
            // The idle time-out alone applies to the first byte, too.
            first_byte: limit(
                self.http_first_byte_timeout_ms.or(self.http_idle_timeout_ms),
                defaults.first_byte,
            ),
            idle: limit(self.http_idle_timeout_ms, defaults.idle),
            total: match self.http_total_timeout_ms {
                None => defaults.total,
                Some(0) => None,
                Some(milliseconds) => Some(Duration::from_millis(milliseconds)),
            },
        }
    }
}
