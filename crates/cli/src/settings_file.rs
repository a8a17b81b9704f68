//! `settings.json`: the user's settings, in pi's format. Unknown settings are ignored.

use std::collections::HashMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_core::command::QueueMode;
use bowline_core::{Policy, ThinkingLevel};
use bowline_engine::{
    CompactionLimits, CompactionSettings, DEFAULT_MAX_PARALLEL_TOOLS, RetrySettings, Settings,
};
use bowline_session::Durability;
use bowline_tools::{CommandEnvironment, Inherit};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;

/// When the tool `bash` kills a command by default.
const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_mins(10);

/// The settings that bowline knows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SettingsFile {
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Patterns of the models for `cycle_model`.
    pub enabled_models: Option<Vec<String>>,
    pub default_tools: Option<Vec<String>>,
    pub session_dir: Option<String>,
    #[serde(deserialize_with = "queue_mode")]
    steering_mode: Option<QueueMode>,
    #[serde(deserialize_with = "queue_mode")]
    follow_up_mode: Option<QueueMode>,
    pub shell_path: Option<PathBuf>,
    pub shell_command_prefix: Option<String>,
    /// How many tool calls of an answer run at the same time.
    max_parallel_tools: Option<NonZeroUsize>,
    /// When the tool `bash` kills a command by default; 0 is never.
    command_timeout_ms: Option<u64>,
    sandbox: Sandbox,
    durability: DurabilitySetting,
    compaction: Compaction,
    retry: Retry,
    images: Images,
    http_connect_timeout_ms: Option<u64>,
    http_first_byte_timeout_ms: Option<u64>,
    http_idle_timeout_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Compaction {
    enabled: Option<bool>,
    #[serde(flatten)]
    limits: Limits,
    /// By `provider/id`.
    model_overrides: HashMap<String, Limits>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Limits {
    reserve_tokens: Option<u64>,
    keep_recent_tokens: Option<u64>,
}

impl Limits {
    /// Returns the limits, with defaults for what is not set.
    fn or(&self, defaults: CompactionLimits) -> CompactionLimits {
        CompactionLimits {
            reserve_tokens: self.reserve_tokens.unwrap_or(defaults.reserve_tokens),
            keep_recent_tokens: self.keep_recent_tokens.unwrap_or(defaults.keep_recent_tokens),
        }
    }
}

impl Compaction {
    fn settings(&self) -> CompactionSettings {
        let general = self.limits.or(CompactionLimits::default());
        let by_model = self.model_overrides.iter().map(|(name, limits)| (name.clone(), limits.or(general)));
        CompactionSettings { general, by_model: by_model.collect() }
    }
}

/// What keeps commands away from what they do not need.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sandbox {
    environment: CommandVariables,
}

/// What commands get of the environment.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandVariables {
    inherit: InheritSetting,
    keep: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InheritSetting {
    #[default]
    Scrubbed,
    Core,
    All,
}

/// When a write to a session counts as durable.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilitySetting {
    #[default]
    Flush,
    Fsync,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Retry {
    enabled: Option<bool>,
    max_retries: Option<u32>,
    base_delay_ms: Option<u64>,
    max_agent_delay_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Images {
    auto_resize: Option<bool>,
}

impl SettingsFile {
    /// Reads the file; a missing one sets nothing.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let broken = |problem: String| Failure::Settings { path: path.display().to_string(), problem };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(broken(error.to_string())),
        };
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| broken(error.to_string()))
    }

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
            resize_images: self.images.auto_resize.unwrap_or(true),
            reports_progress: true,
            max_parallel_tools: self.max_parallel_tools.unwrap_or(DEFAULT_MAX_PARALLEL_TOOLS),
        }
    }

    pub fn durability(&self) -> Durability {
        match self.durability {
            DurabilitySetting::Flush => Durability::Flush,
            DurabilitySetting::Fsync => Durability::Fsync,
        }
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
        variables: Vec<(OsString, OsString)>,
        key_variables: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> CommandEnvironment {
        let inherit = match self.sandbox.environment.inherit {
            InheritSetting::Scrubbed => Inherit::Scrubbed,
            InheritSetting::Core => Inherit::Core,
            InheritSetting::All => Inherit::All,
        };
        CommandEnvironment::new(variables, inherit, self.sandbox.environment.keep.clone(), key_variables)
    }

    /// Returns the time-outs for providers.
    pub fn timeouts(&self) -> bowline_llm::Timeouts {
        let defaults = bowline_llm::Timeouts::default();
        bowline_llm::Timeouts {
            connect: self.http_connect_timeout_ms.map_or(defaults.connect, Duration::from_millis),
            // The idle time-out alone applies to connecting, too.
            first_byte: self
                .http_first_byte_timeout_ms
                .or(self.http_idle_timeout_ms)
                .map_or(defaults.first_byte, Duration::from_millis),
            idle: self.http_idle_timeout_ms.map_or(defaults.idle, Duration::from_millis),
        }
    }
}

fn queue_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<QueueMode>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let mode = QueueMode::parse(&name).ok_or_else(|| {
        D::Error::custom(format!("a queue mode must be \"all\" or \"one-at-a-time\", not \"{name}\""))
    })?;
    Ok(Some(mode))
}
