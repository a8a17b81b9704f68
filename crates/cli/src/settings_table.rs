//! The settings: one row each feeds the reader of `settings.json`, its errors, `bowline help settings` and the list in
//! `docs/configuration.md`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use bowline_core::ThinkingLevel;
use bowline_core::command::QueueMode;
use bowline_core::sandbox::AskMode;
use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork, SandboxWorkspace};
use bowline_core::stream_rule::RuleInterrupt;
use bowline_extension::trust::DefaultTrust;
use bowline_extension_host::command_hooks::IMPORT_KEY;
use bowline_sandbox::Home;
use bowline_session::Durability;
use bowline_tools::Inherit;
use serde_json::Value;

use crate::settings_file::{Limits, SettingsFile};

/// A setting.
pub(crate) struct Setting {
    /// Its key, with dots between the levels: `retry.maxRetries`.
    pub path: &'static str,
    pub kind: Kind,
    /// The default in Markdown. Where it is a value, a test checks that it changes nothing.
    pub default: &'static str,
    /// A value in JSON that is shown after an error.
    pub example: &'static str,
    /// What it does, in Markdown.
    pub about: &'static str,
}

/// What a setting's value is, and what it sets.
pub(crate) enum Kind {
    Switch(fn(&mut SettingsFile, bool)),
    Text(fn(&mut SettingsFile, String)),
    Texts(fn(&mut SettingsFile, Vec<String>)),
    /// A list of objects, which whoever uses them checks.
    Objects(fn(&mut SettingsFile, Vec<Value>)),
    /// A whole number up to a limit.
    Number(u64, fn(&mut SettingsFile, u64)),
    /// A number with or without a fraction up to a limit.
    Amount(u64, fn(&mut SettingsFile, f64)),
    /// One of several words.
    Choice(&'static [&'static str], fn(&mut SettingsFile, &str)),
    /// An object whose keys are names that the user chooses; the function is called for each of them.
    Named(fn(&mut SettingsFile, &str, &Value) -> Result<(), Wrong>),
}

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Where the value is, if it is within the one that was looked at.
    pub within: String,
    /// What it must be, after "must be".
    pub expected: String,
    /// What it is.
    pub found: String,
}

/// A day. Nothing that bowline waits for takes longer.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;
const MOST_PARALLEL_TOOLS: u64 = 1000;
const MOST_RETRIES: u64 = 1000;
const MOST_SUBAGENTS: u64 = 100;
const DEEPEST_SUBAGENTS: u64 = 8;
const MOST_TURNS: u64 = 1_000_000;
const MOST_REMINDERS: u64 = 100;
/// More than anybody means to spend of anything.
pub(crate) const MOST_SPENT: u64 = 1_000_000_000_000;
/// A content is in memory while it is kept.
const LARGEST_UNDO_FILE: u64 = 100 * 1024 * 1024;
const MOST_UNDO_BYTES: u64 = 1 << 40;
/// More tokens than any model's window has.
const MOST_TOKENS: u64 = 1_000_000_000;

const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const QUEUE_MODES: &[&str] = &["one-at-a-time", "all"];
const SANDBOX_MODES: &[&str] = &["read-only", "workspace-write", "external", "full-access"];
const NETWORKS: &[&str] = &["none", "allow-list", "full"];

use Kind::{Amount, Choice, Named, Number, Objects, Switch, Text, Texts};

/// Every setting, in the order of the documentation.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        path: "defaultProvider",
        kind: Text(|file, value| file.default_provider = Some(value)),
        default: "none",
        example: r#""anthropic""#,
        about: "the provider of `defaultModel`; both are required",
    },
    Setting {
        path: "defaultModel",
        kind: Text(|file, value| file.default_model = Some(value)),
        default: "none",
        example: r#""claude-sonnet-5""#,
        about: "the model to use if none is named",
    },
    Setting {
        path: "defaultThinkingLevel",
        kind: Choice(LEVELS, |file, value| file.default_thinking_level = ThinkingLevel::parse(value)),
        default: r#""medium""#,
        example: r#""low""#,
        about: "`off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`",
    },
    Setting {
        path: "modelThinkingLevels",
        kind: Named(model_level),
        default: "none",
        example: r#"{"anthropic/claude-sonnet-5": "high"}"#,
        about: "the level of some models, by `provider/id`, when a session starts with them or changes to them and no level was named",
    },
    Setting {
        path: "thinkingBudgets.minimal",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.minimal = Some(value)),
        default: "`1024` for Claude",
        example: "2000",
        about: "[how many tokens](models.md#thinking-levels) a model may think for at this level, if its API takes a budget",
    },
    Setting {
        path: "thinkingBudgets.low",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.low = Some(value)),
        default: "`2048` for Claude",
        example: "4000",
        about: "the same for `low`",
    },
    Setting {
        path: "thinkingBudgets.medium",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.medium = Some(value)),
        default: "`8192` for Claude; in the dialect `opi`, `10000`",
        example: "10000",
        about: "the same for `medium`",
    },
    Setting {
        path: "thinkingBudgets.high",
        kind: Number(MOST_TOKENS, |file, value| file.thinking_budgets.high = Some(value)),
        default: "`16384` for Claude; in the dialect `opi`, `20000`",
        example: "20000",
        about: "the same for `high` and the levels above",
    },
    Setting {
        path: "enabledModels",
        kind: Texts(|file, value| file.enabled_models = Some(value)),
        default: "all with a key",
        example: r#"["claude-*", "openai/gpt-5"]"#,
        about: "a list of names and patterns, as for `--models`",
    },
    Setting {
        path: "defaultTools",
        kind: Texts(|file, value| file.default_tools = Some(value)),
        default: "read, bash, edit, write",
        example: r#"["read", "grep"]"#,
        about: "a list of tools, as for `--tools`",
    },
    Setting {
        path: "sessionDir",
        kind: Text(|file, value| file.session_dir = Some(value)),
        default: "`sessions` in the folder",
        example: r#""~/sessions""#,
        about: "one folder for the sessions of all projects, as `--session-dir`",
    },
    Setting {
        path: "steeringMode",
        kind: Choice(QUEUE_MODES, |file, value| file.steering_mode = QueueMode::parse(value)),
        default: "`\"one-at-a-time\"`; in the dialect `opi`, `\"all\"`",
        example: r#""all""#,
        about: "`\"one-at-a-time\"` or `\"all\"`",
    },
    Setting {
        path: "followUpMode",
        kind: Choice(QUEUE_MODES, |file, value| file.follow_up_mode = QueueMode::parse(value)),
        default: r#""one-at-a-time""#,
        example: r#""all""#,
        about: "`\"one-at-a-time\"` or `\"all\"`",
    },
    Setting {
        path: "shellPath",
        kind: Text(|file, value| file.shell_path = Some(value.into())),
        default: "`/bin/bash`, or `sh`",
        example: r#""/bin/bash""#,
        about: "the shell for commands; it is called with `-c` and the command",
    },
    Setting {
        path: "shellCommandPrefix",
        kind: Text(|file, value| file.shell_command_prefix = Some(value)),
        default: "none",
        example: r#""source ~/.bash_aliases""#,
        about: "inserted before each command, on a separate line",
    },
    Setting {
        path: "commandTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.command_timeout_ms = Some(value)),
        default: "600000",
        example: "1800000",
        about: "when the tool `bash` kills a command for which the model sets no `timeout`; 0 is never",
    },
    Setting {
        path: "maxParallelTools",
        kind: Number(MOST_PARALLEL_TOOLS, |file, value| {
            file.max_parallel_tools = usize::try_from(value.max(1)).ok().and_then(NonZeroUsize::new);
        }),
        default: "16",
        example: "4",
        about: "how many tool calls of an answer run at the same time, at least 1; the others wait",
    },
    Setting {
        path: "hostToolTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.host_tool_timeout_ms = Some(value)),
        default: "1800000",
        example: "60000",
        about: "how long a client may send neither a result nor an update for a call of one of [its tools](host-tools.md); 0 is no limit",
    },
    Setting {
        path: "sandbox.mode",
        kind: Choice(SANDBOX_MODES, |file, value| file.sandbox.mode = SandboxMode::parse(value)),
        default: r#""full-access""#,
        example: r#""workspace-write""#,
        about: "what the built-in tools and their commands [may do](security.md#modes): `read-only`, `workspace-write`, \
            `full-access`, or `external` if something else confines bowline",
    },
    Setting {
        path: "sandbox.network",
        kind: Choice(NETWORKS, |file, value| file.sandbox.network = SandboxNetwork::parse(value)),
        default: r#""none""#,
        example: r#""full""#,
        about: "what they [reach](security.md#network) in a sandbox: `none`, `allow-list` for `sandbox.hosts`, or `full`",
    },
    Setting {
        path: "sandbox.writable",
        kind: Texts(|file, value| file.sandbox.writable = value),
        default: "none",
        example: r#"["~/.cache/pip"]"#,
        about: "folders that they may write beside the working folder, as absolute paths",
    },
    Setting {
        path: "sandbox.readable",
        kind: Texts(|file, value| file.sandbox.readable = value),
        default: "none",
        example: r#"["~/.npmrc"]"#,
        about: "files and folders that they may read although they are [masked](security.md#modes), as absolute paths",
    },
    Setting {
        path: "sandbox.home",
        kind: Choice(&["read-only", "overlay"], |file, value| {
            file.sandbox.home = if value == "overlay" { Home::Overlay } else { Home::ReadOnly };
        }),
        default: r#""read-only""#,
        example: r#""overlay""#,
        about: "`overlay` lets them write to a copy of the home folder that is kept for each project, so that package managers work; the \
            real one stays as it is",
    },
    Setting {
        path: "sandbox.workspace",
        kind: Choice(&["direct", "overlay"], |file, value| {
            file.sandbox.workspace = SandboxWorkspace::parse(value);
        }),
        default: r#""direct""#,
        example: r#""overlay""#,
        about: "`overlay` keeps what they change in the working folder apart until the client [accepts it](workspace-overlay.md); needs \
            `sandbox.mode` `workspace-write`",
    },
    Setting {
        path: "sandbox.minimum",
        kind: Choice(&["full", "landlock"], |file, value| file.sandbox.minimum = SandboxLevel::parse(value)),
        default: r#""full""#,
        example: r#""landlock""#,
        about: "the least [level](security.md#levels) that is accepted: where it cannot be had, no tool runs",
    },
    Setting {
        path: "sandbox.hosts",
        kind: Texts(|file, value| file.sandbox.hosts = value),
        default: "none",
        example: r#"["crates.io", "*.crates.io", "example.org:8443"]"#,
        about: "the hosts that they reach if `sandbox.network` is `allow-list`",
    },
    Setting {
        path: "sandbox.deniedHosts",
        kind: Texts(|file, value| file.sandbox.denied_hosts = value),
        default: "none",
        example: r#"["uploads.example.org"]"#,
        about: "hosts that they do not reach although `sandbox.hosts` or an approval allows them",
    },
    Setting {
        path: "sandbox.unixSockets",
        kind: Choice(&["allow", "deny"], |file, value| file.sandbox.denies_unix_sockets = value == "deny"),
        default: r#""allow""#,
        example: r#""deny""#,
        about: "`deny` refuses Unix sockets altogether: those that exist at the start are out of reach in any case, but one that another \
            program makes later at a visible path is not",
    },
    Setting {
        path: "sandbox.clientMayWiden",
        kind: Switch(|file, value| file.sandbox.client_may_widen = value),
        default: "false",
        example: "true",
        about: "whether a client may make the sandbox less strict than it was at the start, with `set_sandbox`",
    },
    Setting {
        path: "sandbox.environment.inherit",
        kind: Choice(&["scrubbed", "core", "all"], |file, value| {
            file.command_variables = match value {
                "core" => Inherit::Core,
                "all" => Inherit::All,
                _ => Inherit::Scrubbed,
            };
        }),
        default: r#""scrubbed""#,
        example: r#""core""#,
        about: "which [variables](tools.md#environment-of-commands) commands get: `scrubbed` drops what looks secret, `core` \
            keeps only the necessary, `all` drops nothing",
    },
    Setting {
        path: "sandbox.environment.keep",
        kind: Texts(|file, value| file.kept_variables = value),
        default: "none",
        example: r#"["SSH_AUTH_SOCK", "MY_*"]"#,
        about: "names of variables that commands get in any case; a `*` at the end stands for any end",
    },
    Setting {
        path: "approvals.ask",
        kind: Choice(&["never", "on-request", "untrusted"], |file, value| {
            file.approvals.ask = AskMode::parse(value);
        }),
        default: r#""never""#,
        example: r#""on-request""#,
        about: "when the user is [asked about tool calls](approvals.md)",
    },
    Setting {
        path: "approvals.rules",
        kind: Objects(|file, value| file.approvals.rules = value),
        default: "none",
        example: r#"[{"tool": "bash", "prefix": ["git", "push"], "then": "ask"}]"#,
        about: "which calls run, which are asked about and which are refused: [rules](approvals.md#rules)",
    },
    Setting {
        path: "approvals.timeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.approvals.timeout_ms = Some(value)),
        default: "600000",
        example: "60000",
        about: "how long a question about a call waits for an answer; then the call is denied. 0 waits forever",
    },
    Setting {
        path: "approvals.dialogChoices",
        kind: Choice(&["simple", "full"], |file, value| file.approvals.full_dialogs = value == "full"),
        default: r#""simple""#,
        example: r#""full""#,
        about: "`full` adds `Session` and `Project` to the dialogs about calls",
    },
    Setting {
        path: "images.autoResize",
        kind: Switch(|file, value| file.resize_images = Some(value)),
        default: "true",
        example: "false",
        about: "whether images that are too large for a model are [resized](protocol.md#prompting)",
    },
    Setting {
        path: "images.blockImages",
        kind: Switch(|file, value| file.block_images = Some(value)),
        default: "false",
        example: "true",
        about: "whether images are never sent to a provider; a note takes the place of each",
    },
    Setting {
        path: "retry.enabled",
        kind: Switch(|file, value| file.retry.enabled = Some(value)),
        default: "true",
        example: "false",
        about: "whether failed model calls are retried",
    },
    Setting {
        path: "retry.maxRetries",
        kind: Number(MOST_RETRIES, |file, value| file.retry.max_retries = u32::try_from(value).ok()),
        default: "3",
        example: "5",
        about: "the maximum number of retries",
    },
    Setting {
        path: "retry.baseDelayMs",
        kind: Number(LONGEST_MS, |file, value| file.retry.base_delay_ms = Some(value)),
        default: "2000",
        example: "1000",
        about: "the first delay; it doubles with each retry, minus a random part of up to a quarter",
    },
    Setting {
        path: "retry.maxAgentDelayMs",
        kind: Number(LONGEST_MS, |file, value| file.retry.max_agent_delay_ms = Some(value)),
        default: "60000",
        example: "30000",
        about: "the longest delay; if a provider requests a longer one, the call is not retried",
    },
    Setting {
        path: "httpConnectTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_connect_timeout_ms = Some(value)),
        default: "30000",
        example: "10000",
        about: "the time limit for connecting; 0 is none",
    },
    Setting {
        path: "httpFirstByteTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_first_byte_timeout_ms = Some(value)),
        default: "`httpIdleTimeoutMs`",
        example: "120000",
        about: "the time limit for the first byte of an answer; 0 is none",
    },
    Setting {
        path: "httpIdleTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_idle_timeout_ms = Some(value)),
        default: "300000",
        example: "60000",
        about: "the longest time without data from the provider; 0 is no limit",
    },
    Setting {
        path: "httpTotalTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_total_timeout_ms = Some(value)),
        default: "3600000",
        example: "1800000",
        about: "the longest time that one answer may take in all, whatever the provider sends; 0 is no limit",
    },
    Setting {
        path: "maxTurns",
        kind: Number(MOST_TURNS, |file, value| file.max_turns = u32::try_from(value).ok()),
        default: "500",
        example: "100",
        about: "how often the model is called in a run for one message of yours; 0 is no limit",
    },
    Setting {
        path: "limits.run.cost",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.run.cost = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "0.5",
        about: "what a run may [cost](budgets.md) in US dollars; 0 is no limit",
    },
    Setting {
        path: "limits.run.tokens",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.run.tokens = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "200000",
        about: "how many tokens of all kinds a run may use; 0 is no limit",
    },
    Setting {
        path: "limits.run.turns",
        kind: Number(MOST_TURNS, |file, value| file.limits_run_turns = Some(value)),
        default: "`maxTurns`",
        example: "100",
        about: "the same as `maxTurns`, and used instead of it if both are set; 0 is no limit",
    },
    Setting {
        path: "limits.run.toolCalls",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.run.tool_calls = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "50",
        about: "how many tools a run may call; 0 is no limit",
    },
    Setting {
        path: "limits.run.seconds",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.run.seconds = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "600",
        about: "how long a run may take, without the time in which you are asked something; 0 is no limit",
    },
    Setting {
        path: "limits.session.cost",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.session.cost = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "20",
        about: "what all runs of a session may [cost](budgets.md) in US dollars; 0 is no limit",
    },
    Setting {
        path: "limits.session.tokens",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.tokens = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "200000",
        about: "how many tokens of all kinds all runs of a session may use; 0 is no limit",
    },
    Setting {
        path: "limits.session.turns",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.turns = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "1000",
        about: "how often the model may answer in all runs of a session; 0 is no limit",
    },
    Setting {
        path: "limits.session.toolCalls",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.tool_calls = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "500",
        about: "how many tools all runs of a session may call; 0 is no limit",
    },
    Setting {
        path: "limits.session.seconds",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.session.seconds = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "7200",
        about: "how long all runs of a session may take, without the time in which you are asked something; 0 is no limit",
    },
    Setting {
        path: "task.enabled",
        kind: Switch(|file, value| file.task.enabled = Some(value)),
        default: "on in the dialect omp",
        example: "true",
        about: "whether the model can give [tasks to subagents](subagents.md)",
    },
    Setting {
        path: "task.maxConcurrency",
        kind: Number(MOST_SUBAGENTS, |file, value| {
            file.task.max_concurrency = usize::try_from(value.max(1)).ok().and_then(NonZeroUsize::new);
        }),
        default: "4",
        example: "8",
        about: "how many subagents of a session run at the same time, at least 1; the others wait",
    },
    Setting {
        path: "task.maxRecursionDepth",
        kind: Number(DEEPEST_SUBAGENTS, |file, value| {
            file.task.max_recursion_depth = u32::try_from(value.max(1)).ok();
        }),
        default: "2",
        example: "1",
        about: "how deep subagents may be nested, at least 1; with 1, subagents have none of their own",
    },
    Setting {
        path: "task.maxTurns",
        kind: Number(MOST_TURNS, |file, value| file.task.max_turns = u32::try_from(value).ok()),
        default: "100",
        example: "30",
        about: "how often a subagent may call its model; 0 is no limit",
    },
    Setting {
        path: "task.maxRuntimeMs",
        kind: Number(LONGEST_MS, |file, value| file.task.max_runtime_ms = Some(value)),
        default: "3600000",
        example: "600000",
        about: "how long a subagent may take; 0 is no limit",
    },
    Setting {
        path: "hooks",
        kind: Named(hooks_of_event),
        default: "none",
        example: r#"{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.py"}]}]}"#,
        about: "[commands that run at events](command-hooks.md), in Claude Code's format, by event",
    },
    Setting {
        path: "hooks.importClaude",
        kind: Switch(|file, value| file.imports_claude_hooks = value),
        default: "false",
        example: "true",
        about: "whether the hooks in [Claude Code's settings](command-hooks.md#use-the-hooks-that-you-have) run, too",
    },
    Setting {
        path: "compaction.enabled",
        kind: Switch(|file, value| file.compaction.enabled = Some(value)),
        default: "true",
        example: "false",
        about: "whether long conversations are [compacted](compaction.md#settings) automatically",
    },
    Setting {
        path: "compaction.reserveTokens",
        kind: Number(MOST_TOKENS, |file, value| file.compaction.limits.reserve_tokens = Some(value)),
        default: "16384",
        example: "8192",
        about: "how much of a model's window a compaction keeps free",
    },
    Setting {
        path: "compaction.keepRecentTokens",
        kind: Number(MOST_TOKENS, |file, value| file.compaction.limits.keep_recent_tokens = Some(value)),
        default: "20000",
        example: "10000",
        about: "about how much of the newest messages a compaction keeps unchanged",
    },
    Setting {
        path: "compaction.modelOverrides",
        kind: Named(model_limits),
        default: "none",
        example: r#"{"anthropic/claude-sonnet-5": {"reserveTokens": 4000}}"#,
        about: "`reserveTokens` and `keepRecentTokens` of some models, by `provider/id`",
    },
    Setting {
        path: "extensions",
        kind: Texts(|file, value| file.extensions = value),
        default: "none",
        example: r#"["~/shared/gate.py", "-extensions/old.py"]"#,
        about: "further files and folders with extensions, and what to leave out: \
            [the list](skills-and-templates.md#lists-in-the-settings)",
    },
    Setting {
        path: "extensionStartTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.extension_start_timeout_ms = Some(value)),
        default: "5000",
        example: "10000",
        about: "how long the first prompt waits for extensions to start",
    },
    Setting {
        path: "extensionHookTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.extension_hook_timeout_ms = Some(value)),
        default: "30000",
        example: "60000",
        about: "how long an extension may take in a hook; the time in which it waits for the user or a model does not count",
    },
    Setting {
        path: "skills",
        kind: Texts(|file, value| file.skills = value),
        default: "none",
        example: r#"["~/shared/skills", "!skills/draft-*", "-skills/old"]"#,
        about: "further files and folders with [skills](skills-and-templates.md), and what to leave out: \
            [the list](skills-and-templates.md#lists-in-the-settings)",
    },
    Setting {
        path: "prompts",
        kind: Texts(|file, value| file.prompts = value),
        default: "none",
        example: r#"["~/shared/prompts"]"#,
        about: "the same for [prompt templates](skills-and-templates.md#prompt-templates)",
    },
    Setting {
        path: "enableSkillCommands",
        kind: Switch(|file, value| file.skill_commands = Some(value)),
        default: "true",
        example: "false",
        about: "whether a prompt can name a skill with `/skill:name`",
    },
    Setting {
        path: "mcpServers",
        kind: Named(|file, name, value| {
            file.mcp_servers.insert(name.to_owned(), value.clone());
            Ok(())
        }),
        default: "none",
        example: r#"{"time": {"command": "uvx", "args": ["mcp-server-time"]}}"#,
        about: "[MCP servers](mcp.md), by name; `mcp.json` in the same folder can have more",
    },
    Setting {
        path: "mcpStartTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.mcp_start_timeout_ms = Some(value)),
        default: "10000",
        example: "30000",
        about: "how long the first prompt waits for [MCP servers](mcp.md#when-servers-start) to get ready",
    },
    Setting {
        path: "defaultProjectTrust",
        kind: Choice(&["ask", "always", "never"], |file, value| {
            file.default_trust = match value {
                "always" => DefaultTrust::Always,
                "never" => DefaultTrust::Never,
                _ => DefaultTrust::Ask,
            };
        }),
        default: r#""ask""#,
        example: r#""never""#,
        about: "whether projects without a decision are [trusted](security.md#trust-in-a-project); nobody is asked over a protocol, so \
            `ask` is no, with a note on stderr",
    },
    Setting {
        path: "ttsr.enabled",
        kind: Switch(|file, value| file.stream_rules.enabled = Some(value)),
        default: "`false`; in the dialect `omp`, `true`",
        example: "true",
        about: "whether [stream rules](stream-rules.md) watch what the model writes",
    },
    Setting {
        path: "ttsr.interruptMode",
        kind: Choice(&["always", "prose-only", "tool-only", "never"], |file, value| {
            file.stream_rules.interrupt = RuleInterrupt::parse(value);
        }),
        default: r#""always""#,
        example: r#""prose-only""#,
        about: "which matches interrupt the answer, unless a rule says; the others are mentioned afterwards",
    },
    Setting {
        path: "ttsr.contextMode",
        kind: Choice(&["discard", "keep"], |file, value| {
            file.stream_rules.keeps_interrupted = value == "keep";
        }),
        default: r#""discard""#,
        example: r#""keep""#,
        about: "whether the model sees what it had written before it was interrupted",
    },
    Setting {
        path: "ttsr.repeatMode",
        kind: Choice(&["once", "after-gap"], |file, value| file.stream_rules.repeats = value == "after-gap"),
        default: r#""once""#,
        example: r#""after-gap""#,
        about: "whether a rule steps in once in a session, or again after `ttsr.repeatGap` turns",
    },
    Setting {
        path: "ttsr.repeatGap",
        kind: Number(MOST_TURNS, |file, value| file.stream_rules.repeat_gap = Some(value)),
        default: "10",
        example: "5",
        about: "the number of turns, at least 1",
    },
    Setting {
        path: "ttsr.disabledRules",
        kind: Texts(|file, value| file.stream_rules.disabled = value),
        default: "none",
        example: r#"["no-unwrap"]"#,
        about: "the names of rules that are not used",
    },
    Setting {
        path: "todo.enabled",
        kind: Switch(|file, value| file.todos.enabled = Some(value)),
        default: "`false`; in the dialect `omp`, `true`",
        example: "true",
        about: "whether the tool [`todo`](todos.md) is enabled by default",
    },
    Setting {
        path: "todo.reminders",
        kind: Switch(|file, value| file.todos.reminders = Some(value)),
        default: "true",
        example: "false",
        about: "whether a model that stops is reminded of the tasks that are left",
    },
    Setting {
        path: "todo.remindersMax",
        kind: Number(MOST_REMINDERS, |file, value| file.todos.max_reminders = u32::try_from(value).ok()),
        default: "3",
        example: "1",
        about: "the maximum number of reminders after one prompt",
    },
    Setting {
        path: "undo.enabled",
        kind: Switch(|file, value| file.undo.enabled = Some(value)),
        default: "true",
        example: "false",
        about: "whether former contents of files are kept, so that changes of runs can be [taken back](undo.md)",
    },
    Setting {
        path: "undo.commands",
        kind: Switch(|file, value| file.undo.commands = Some(value)),
        default: "true",
        example: "false",
        about: "whether the changes of commands are looked for, or only those of the file tools are kept",
    },
    Setting {
        path: "undo.eachCommand",
        kind: Switch(|file, value| file.undo.each_command = Some(value)),
        default: "false",
        example: "true",
        about: "whether the changes of commands are looked for after each command instead of each turn",
    },
    Setting {
        path: "undo.maxFileBytes",
        kind: Number(LARGEST_UNDO_FILE, |file, value| file.undo.max_file_bytes = Some(value)),
        default: "10485760",
        example: "1048576",
        about: "the largest file whose content is kept, in bytes",
    },
    Setting {
        path: "undo.maxBytes",
        kind: Number(MOST_UNDO_BYTES, |file, value| file.undo.max_bytes = Some(value)),
        default: "209715200",
        example: "52428800",
        about: "the most that is kept of one session, in bytes; what the oldest runs need is dropped first",
    },
    Setting {
        path: "durability",
        kind: Choice(&["flush", "fsync"], |file, value| {
            file.durability = Some(if value == "fsync" { Durability::Fsync } else { Durability::Flush });
        }),
        default: r#""flush""#,
        example: r#""fsync""#,
        about: "`fsync` waits for the disk after every session entry: [sessions.md](sessions.md#when-entries-are-written)",
    },
];

/// Keys of pi's settings that bowline has no use for: the two share their settings, so they are no mistakes.
pub(crate) const KEYS_OF_PI: &[&str] = &[
    "autocompleteMaxVisible",
    "branchSummary",
    "cacheWarming",
    "collapseChangelog",
    "compaction.strategy",
    "doubleEscapeAction",
    "editorPaddingX",
    "enableAnalytics",
    "enableInstallTelemetry",
    "externalEditor",
    "hideThinkingBlock",
    "httpProxy",
    "lastChangelogVersion",
    "markdown",
    "npmCommand",
    "outputPad",
    "packages",
    "queueMode",
    "quietStartup",
    "retry.maxDelayMs",
    "retry.provider",
    "showCacheMissNotices",
    "showHardwareCursor",
    "terminal",
    "theme",
    "themes",
    "trackingId",
    "transport",
    "treeFilterMode",
    "tuiMode",
    "warnings",
    "websocketConnectTimeoutMs",
];

impl Kind {
    /// Checks a value and applies it.
    pub fn apply(&self, file: &mut SettingsFile, value: &Value) -> Result<(), Wrong> {
        let wrong = || Err(Wrong::new(&self.expected(), value));
        match (self, value) {
            (Switch(set), Value::Bool(value)) => set(file, *value),
            (Text(set), Value::String(value)) => set(file, value.clone()),
            (Texts(set), Value::Array(values)) => {
                let texts: Option<Vec<_>> =
                    values.iter().map(|value| value.as_str().map(ToOwned::to_owned)).collect();
                let Some(texts) = texts else { return wrong() };
                set(file, texts);
            }
            (Objects(set), Value::Array(values)) if values.iter().all(Value::is_object) => {
                set(file, values.clone());
            }
            (Number(most, set), value) => set(file, whole_number(value, *most)?),
            (Amount(most, set), value) => set(file, amount(value, *most)?),
            (Choice(words, set), Value::String(value)) if words.contains(&value.as_str()) => set(file, value),
            (Named(set), Value::Object(members)) => {
                for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    set(file, name, value).map_err(|wrong| wrong.in_member(name))?;
                }
            }
            _ => return wrong(),
        }
        Ok(())
    }

    /// Returns what a value must be, after "must be".
    pub fn expected(&self) -> String {
        match self {
            Switch(_) => "true or false".to_owned(),
            Text(_) => "a text".to_owned(),
            Texts(_) => "a list of texts".to_owned(),
            Objects(_) => "a list of objects".to_owned(),
            Number(most, _) => expected_number(*most),
            Amount(most, _) => expected_amount(*most),
            Choice(words, _) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => quoted.concat(),
                }
            }
            Named(_) => "an object".to_owned(),
        }
    }
}

impl Wrong {
    pub fn new(expected: &str, found: &Value) -> Self {
        Self { within: String::new(), expected: expected.to_owned(), found: described(found) }
    }

    /// The same, seen from the object that the value is in.
    pub fn in_member(self, name: &str) -> Self {
        Self { within: format!(".{name}{}", self.within), ..self }
    }
}

/// Returns a value that must be a whole number up to a limit.
pub(crate) fn whole_number(value: &Value, most: u64) -> Result<u64, Wrong> {
    let number = value.as_u64().filter(|number| *number <= most);
    number.ok_or_else(|| Wrong::new(&expected_number(most), value))
}

/// Returns a value that must be a number up to a limit.
fn amount(value: &Value, most: u64) -> Result<f64, Wrong> {
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    let number = value.as_f64().filter(|number| (0.0..=most as f64).contains(number));
    number.ok_or_else(|| Wrong::new(&expected_amount(most), value))
}

fn expected_amount(most: u64) -> String {
    format!("a number from 0 to {most}")
}

fn expected_number(most: u64) -> String {
    format!("a whole number from 0 to {most}")
}

/// Keeps the hooks of one event. Mistakes in them cost a warning each when a session starts, not the start.
fn hooks_of_event(file: &mut SettingsFile, event: &str, value: &Value) -> Result<(), Wrong> {
    if event == IMPORT_KEY {
        let Value::Bool(value) = value else { return Err(Wrong::new(&Switch(|_, _| ()).expected(), value)) };
        file.imports_claude_hooks = *value;
    } else {
        file.hooks.insert(event.to_owned(), value.clone());
    }
    Ok(())
}

/// Sets the limits of one model.
fn model_limits(file: &mut SettingsFile, model: &str, value: &Value) -> Result<(), Wrong> {
    let Value::Object(members) = value else { return Err(Wrong::new("an object", value)) };
    let mut limits = Limits::default();
    for (place, name) in
        [(&mut limits.reserve_tokens, "reserveTokens"), (&mut limits.keep_recent_tokens, "keepRecentTokens")]
    {
        if let Some(value) = members.get(name).filter(|value| !value.is_null()) {
            *place = Some(whole_number(value, MOST_TOKENS).map_err(|wrong| wrong.in_member(name))?);
        }
    }
    file.compaction.model_overrides.insert(model.to_owned(), limits);
    Ok(())
}

fn model_level(file: &mut SettingsFile, model: &str, value: &Value) -> Result<(), Wrong> {
    let level = value.as_str().and_then(ThinkingLevel::parse);
    let expected = || Choice(LEVELS, |_, _| ()).expected();
    file.model_thinking_levels.insert(model.to_owned(), level.ok_or_else(|| Wrong::new(&expected(), value))?);
    Ok(())
}

/// Returns a value for an error. Texts are cut: a long one is no help.
fn described(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > LONGEST => {
            let beginning: String = text.chars().take(LONGEST).collect();
            format!("{}…", Value::String(beginning))
        }
        other => other.to_string(),
    }
}

/// Returns a setting as it would stand in the file: `{"retry": {"maxRetries": 5}}`.
pub(crate) fn in_place(path: &str, value: &str) -> String {
    path.rsplit('.').fold(value.to_owned(), |inner, key| format!("{{\"{key}\": {inner}}}"))
}

/// Returns the settings as text for `bowline help settings`.
pub(crate) fn help() -> String {
    let mut text = "\
Settings in settings.json, which is in ~/.bowline (BOWLINE_HOME or PI_CODING_AGENT_DIR moves it). Flags take
precedence over them. A dot stands for a nested object: retry.maxRetries is {\"retry\": {\"maxRetries\": 5}}.
"
    .to_owned();
    for setting in SETTINGS {
        let _ = write!(
            text,
            "\n{} (default: {})\n    {}\n    example: {}\n",
            setting.path,
            plain(setting.default),
            plain(setting.about),
            in_place(setting.path, setting.example)
        );
    }
    text
}

/// Returns Markdown without its marks: no code marks, and of links only the text.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace(['`', '['], "")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The marks around the list in the documentation.
    const BEGIN: &str = "<!-- The table of settings is generated: ./test update -->\n";
    const END: &str = "<!-- end of the table -->\n";

    fn table() -> String {
        let rows = SETTINGS.iter().map(|setting| {
            let is_value = serde_json::from_str::<Value>(setting.default).is_ok();
            let default =
                if is_value { format!("`{}`", setting.default) } else { setting.default.to_owned() };
            format!("| `{}` | {default} | {} |\n", setting.path, setting.about)
        });
        format!("| key | default | |\n|---|---|---|\n{}", rows.collect::<String>())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites the file instead of checking it")]
    fn documentation_lists_the_settings() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let expected = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
        if std::env::var_os("BOWLINE_UPDATE").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "docs/configuration.md is out of date: run ./test update");
        }
    }

    #[test]
    fn help_has_no_marks_of_markdown() {
        assert_eq!(plain("see [the page](a.md#b) or `x`: [y](z)"), "see the page or x: y");
        assert!(help().contains("retry.maxRetries (default: 3)\n    the maximum number of retries\n"));
    }
}
