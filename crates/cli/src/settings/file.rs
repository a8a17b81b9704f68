//! `settings.json`: the user's settings, in pi's format. The settings themselves are in `table`.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use bowline_core::ThinkingLevel;
use bowline_core::command::QueueMode;
use bowline_core::limits::LimitSet;
use bowline_core::thinking::ThinkingBudgets;
use bowline_extension::packages::Configured;
use bowline_extension::trust::DefaultTrust;
use bowline_session::Durability;
use bowline_tools::Inherit;
use serde_json::{Map, Value};

use super::groups::{ApprovalsFile, Compaction, Retry, StreamRules, Task, Todos, Undo};
use super::help::in_place;
use super::table::{KEYS_OF_PI, Setting, settings};
use super::value::Wrong;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::pi_folder::{self, PiSettings};
use crate::sandbox_wishes::SandboxSettings;
use crate::similar::nearest;
use crate::terminal::note;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;

/// The groups in which an unknown key is an error: they limit what the agent may do, and a limit with a mistyped name would
/// silently not be there.
const STRICT: &[&str] = &["approvals", "limits", "sandbox"];

/// What the file sets.
#[derive(Debug, Default)]
pub(crate) struct SettingsFile {
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Patterns of the models for `cycle_model`.
    pub enabled_models: Option<Vec<String>>,
    pub default_tools: Option<Vec<String>>,
    pub session_dir: Option<String>,
    pub steering_mode: Option<QueueMode>,
    pub follow_up_mode: Option<QueueMode>,
    pub shell_path: Option<PathBuf>,
    pub shell_command_prefix: Option<String>,
    /// How many tool calls of an answer run at the same time.
    pub max_parallel_tools: Option<NonZeroUsize>,
    /// How long a client may say nothing about a call of one of its tools; 0 is without end.
    pub host_tool_timeout_ms: Option<u64>,
    pub editor_writes: Option<bool>,
    /// When the tool `bash` kills a command by default; 0 is never.
    pub command_timeout_ms: Option<u64>,
    /// What commands get of the environment, and which variables they get in any case.
    pub command_variables: Inherit,
    pub kept_variables: Vec<String>,
    pub sandbox: SandboxSettings,
    pub durability: Option<Durability>,
    pub compaction: Compaction,
    pub retry: Retry,
    pub resize_images: Option<bool>,
    pub block_images: Option<bool>,
    pub thinking_budgets: ThinkingBudgets,
    /// By `provider/id`.
    pub model_thinking_levels: HashMap<String, ThinkingLevel>,
    pub http_connect_timeout_ms: Option<u64>,
    pub http_first_byte_timeout_ms: Option<u64>,
    pub http_idle_timeout_ms: Option<u64>,
    pub http_total_timeout_ms: Option<u64>,
    pub max_turns: Option<u32>,
    /// What runs and sessions may spend, but for the turns of a run.
    pub limits: LimitSet,
    /// Instead of `max_turns`, if it is set.
    pub limits_run_turns: Option<u64>,
    pub stream_rules: StreamRules,
    pub todos: Todos,
    pub undo: Undo,
    pub task: Task,
    /// The command hooks by event, as they are in the file.
    pub hooks: Map<String, Value>,
    /// Whether the hooks in Claude Code's settings are used, too.
    pub imports_claude_hooks: bool,
    /// Paths of extensions, and what to leave out.
    pub extensions: Vec<String>,
    /// Whether the extensions and packages in pi's own folder are used.
    pub pi_folder: Option<bool>,
    /// The packages of pi, not checked yet, and those that passed.
    pub packages: Vec<Value>,
    pub own_packages: Vec<Configured>,
    /// The program that stands for npm, and its first arguments.
    pub npm_command: Option<Vec<String>>,
    /// What the settings in pi's own folder say.
    pub pi: Option<PiSettings>,
    pub extension_start_timeout_ms: Option<u64>,
    pub node_path: Option<String>,
    pub pi_extension_environment: Option<Vec<String>>,
    pub extension_hook_timeout_ms: Option<u64>,
    /// Paths of skills and of prompt templates, and what to leave out.
    pub skills: Vec<String>,
    pub prompts: Vec<String>,
    /// Whether a prompt can name skills.
    pub skill_commands: Option<bool>,
    /// What applies to a project that the user has not decided about.
    pub default_trust: DefaultTrust,
    /// The MCP servers, not checked yet.
    pub mcp_servers: Map<String, Value>,
    /// How long the first prompt waits for MCP servers.
    pub mcp_start_timeout_ms: Option<u64>,
    pub approvals: ApprovalsFile,
    /// Warnings for stderr: keys that are probably mistyped.
    pub warnings: Vec<String>,
}

impl SettingsFile {
    /// Reads the user's file and reports keys that are probably mistyped on stderr. A missing file sets nothing.
    pub fn of_user(environment: &Environment) -> Result<Self, Failure> {
        Self::of_user_and_warnings(environment, |warning| note(format_args!("bowline: {warning}")))
    }

    /// Reads the user's file and reports warnings in another way.
    pub fn of_user_and_warnings(
        environment: &Environment,
        mut report: impl FnMut(String),
    ) -> Result<Self, Failure> {
        let path = Self::path(environment);
        let mut file = Self::read(&path)?;
        for warning in &file.warnings {
            report(format!("{}: {warning}", path.display()));
        }
        let mut problems = Vec::new();
        file.own_packages = pi_folder::own_packages(environment, &file, &mut problems);
        problems.into_iter().for_each(report);
        file.pi = PiSettings::read(environment, &file);
        Ok(file)
    }

    /// Returns where the user's file is.
    pub fn path(environment: &Environment) -> PathBuf {
        environment.home.join("settings.json")
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        match bowline_files::read_text(path, LARGEST) {
            Ok(text) => Self::parse(&text)
                .map_err(|problem| Failure::Settings { path: path.display().to_string(), problem }),
            Err(error) if error.is_not_found() => Ok(Self::default()),
            Err(error) => Err(Failure::File(error)),
        }
    }

    /// Returns the members of a file as they are; an empty object if it cannot be read.
    pub fn read_plain(path: &Path) -> Value {
        let text = bowline_files::read_text(path, LARGEST).unwrap_or_default();
        let value = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        value.unwrap_or_else(|_| Value::Object(Map::new()))
    }

    /// Returns the settings in a text, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let value: Value = serde_json::from_str(text).map_err(|error| {
            format!(
                "this is not JSON: {error} (comments and commas before a closing bracket are not allowed)"
            )
        })?;
        let Value::Object(members) = &value else {
            return Err("this must be an object, such as {\"defaultThinkingLevel\": \"low\"}".to_owned());
        };
        let mut file = Self::default();
        file.take_members("", members)?;
        Ok(file)
    }

    /// Applies the members of an object. `prefix` is its own key, with a dot at the end.
    fn take_members(&mut self, prefix: &str, members: &Map<String, Value>) -> Result<(), String> {
        // As in pi, null is the same as no value.
        for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let path = format!("{prefix}{key}");
            if let Some(setting) = settings().find(|setting| setting.path == path) {
                setting.kind.apply(self, value).map_err(|wrong| in_words(setting, &wrong))?;
            } else if let Some(setting) = settings().find(|setting| is_below(setting.path, &path)) {
                let Value::Object(members) = value else {
                    return Err(in_words_of_group(&path, setting, value));
                };
                self.take_members(&format!("{path}."), members)?;
            } else if is_strict(&path) {
                return Err(unknown_limit(prefix, key));
            } else if !KEYS_OF_PI.contains(&path.as_str()) {
                self.warnings.extend(suggestion(prefix, key).map(|meant| {
                    format!("\"{path}\" is not a setting and is ignored; did you mean \"{meant}\"?")
                }));
            }
        }
        Ok(())
    }
}

pub(super) fn is_below(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// Tells whether a key is one of those that limit the agent.
fn is_strict(path: &str) -> bool {
    STRICT.contains(&path.split('.').next().unwrap_or(path))
}

/// Says that a key which limits the agent is unknown.
fn unknown_limit(prefix: &str, key: &str) -> String {
    let hint =
        suggestion(prefix, key).map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default();
    format!(
        "\"{prefix}{key}\" is not a setting{hint} (unknown keys are ignored elsewhere, but not where they could limit what \
         the agent may do; bowline help settings lists the settings)"
    )
}

fn in_words(setting: &Setting, wrong: &Wrong) -> String {
    format!(
        "{}{} must be {}, not {}; for example: {}",
        setting.path,
        wrong.within,
        wrong.expected,
        wrong.found,
        in_place(setting.path, setting.example)
    )
}

fn in_words_of_group(path: &str, setting: &Setting, found: &Value) -> String {
    let wrong = Wrong::new("an object", found);
    format!(
        "{path} must be {}, not {}; for example: {}",
        wrong.expected,
        wrong.found,
        in_place(setting.path, setting.example)
    )
}

/// Returns the setting that a mistyped or misplaced key probably means.
pub(super) fn suggestion(prefix: &str, key: &str) -> Option<String> {
    let misplaced = settings().map(|setting| setting.path).find(|path| {
        *path == key || path.rsplit_once('.').is_some_and(|(_, last)| last == key && last != "enabled")
    });
    let siblings = settings().filter_map(|setting| setting.path.strip_prefix(prefix));
    let siblings = siblings.map(|path| path.split('.').next().unwrap_or(path));
    let mistyped = nearest(key, siblings).map(|name| format!("{prefix}{name}"));
    mistyped.or_else(|| misplaced.map(ToOwned::to_owned))
}

#[cfg(test)]
mod tests {
    use bowline_core::Policy;

    use super::super::effects::NO_LIMIT;
    use super::*;

    #[track_caller]
    fn refused(text: &str) -> String {
        SettingsFile::parse(text).unwrap_err()
    }

    #[track_caller]
    fn warned(text: &str) -> Vec<String> {
        SettingsFile::parse(text).unwrap().warnings
    }

    #[test]
    fn errors_name_the_key_and_give_an_example() {
        assert_eq!(
            refused(r#"{"retry": {"maxRetries": "three"}}"#),
            r#"retry.maxRetries must be a whole number from 0 to 1000, not "three"; for example: {"retry": {"maxRetries": 5}}"#
        );
        assert_eq!(
            refused(r#"{"retry": 5}"#),
            r#"retry must be an object, not 5; for example: {"retry": {"enabled": false}}"#
        );
        assert_eq!(
            refused(r#"{"steeringMode": "weird"}"#),
            r#"steeringMode must be "one-at-a-time" or "all", not "weird"; for example: {"steeringMode": "all"}"#
        );
        assert_eq!(
            refused(r#"{"defaultTools": ["read", 1]}"#),
            r#"defaultTools must be a list of texts, not a list; for example: {"defaultTools": ["read", "grep"]}"#
        );
        let wrong = refused(r#"{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": -1}}}}"#);
        assert!(
            wrong.starts_with("compaction.modelOverrides.a/b.reserveTokens must be a whole number"),
            "{wrong}"
        );
        assert_eq!(refused("[]"), "this must be an object, such as {\"defaultThinkingLevel\": \"low\"}");
        assert!(refused("{,}").starts_with("this is not JSON: "));
    }

    #[test]
    fn examples_are_accepted_and_defaults_change_nothing() {
        let policy = Policy::default();
        let effects =
            |file: &SettingsFile| format!("{:?} {:?}", file.engine_settings(&policy), file.timeouts());
        for setting in settings() {
            let parse = |value: &str| SettingsFile::parse(&in_place(setting.path, value));
            let example = parse(setting.example).unwrap_or_else(|wrong| panic!("{wrong}"));
            assert_eq!(example.warnings, [""; 0]);
            if serde_json::from_str::<Value>(setting.default).is_ok() {
                let default = parse(setting.default).unwrap_or_else(|wrong| panic!("{wrong}"));
                assert_eq!(effects(&default), effects(&SettingsFile::default()), "{}", setting.path);
            }
        }
    }

    #[test]
    fn mistyped_keys_are_warned_about_and_those_of_pi_are_not() {
        assert_eq!(
            warned(r#"{"retrys": {}, "Retry": {"enabled": 1}, "theme": "dark", "mine": 1}"#),
            [
                r#""retrys" is not a setting and is ignored; did you mean "retry"?"#,
                r#""Retry" is not a setting and is ignored; did you mean "retry"?"#
            ]
        );
        assert_eq!(
            warned(r#"{"retry": {"maxRetry": 1, "provider": {}}, "baseDelayMs": 1}"#),
            [
                r#""retry.maxRetry" is not a setting and is ignored; did you mean "retry.maxRetries"?"#,
                r#""baseDelayMs" is not a setting and is ignored; did you mean "retry.baseDelayMs"?"#
            ]
        );
        for key in KEYS_OF_PI {
            assert_eq!(warned(&in_place(key, "{}")), [""; 0], "{key}");
            let is_setting = |setting: &Setting| setting.path == *key || is_below(setting.path, key);
            assert!(!settings().any(is_setting), "{key} has an effect");
        }
    }

    #[test]
    fn unknown_keys_that_could_limit_the_agent_are_refused() {
        for (text, beginning) in [
            (
                r#"{"sandbox": {"netwrok": "none"}}"#,
                r#""sandbox.netwrok" is not a setting; did you mean "sandbox.network"?"#,
            ),
            (r#"{"sandbox": {"frobnicate": 1}}"#, r#""sandbox.frobnicate" is not a setting (unknown keys"#),
            (
                r#"{"sandbox": {"environment": {"kep": []}}}"#,
                r#""sandbox.environment.kep" is not a setting; did you mean "sandbox.environment.keep"?"#,
            ),
            (r#"{"sandbox": "read-only"}"#, r#"sandbox must be an object, not "read-only"; for example: "#),
            (
                r#"{"sandbox": {"mode": "readonly"}}"#,
                r#"sandbox.mode must be "read-only", "workspace-write", "external" or "full-access", not "readonly""#,
            ),
        ] {
            let wrong = refused(text);
            assert!(wrong.starts_with(beginning), "{wrong}");
        }
        assert!(refused(r#"{"approvals": {"frobnicate": 1}}"#).contains("is not a setting"));
        assert!(refused(r#"{"limits": {"frobnicate": 1}}"#).contains("is not a setting"));
    }

    #[test]
    fn null_sets_nothing_and_zero_is_no_limit() {
        let file = SettingsFile::parse(
            r#"{"retry": null, "defaultModel": null, "httpIdleTimeoutMs": 0, "httpTotalTimeoutMs": 0, "maxTurns": 0}"#,
        );
        let file = file.unwrap();
        assert_eq!(file.timeouts().total, None);
        assert_eq!(file.engine_settings(&Policy::default()).limits.run.turns, None);
        assert_eq!(file.default_model, None);
        assert_eq!((file.timeouts().idle, file.timeouts().first_byte), (NO_LIMIT, NO_LIMIT));
    }
}
