//! What users and projects add: hooks, extensions, skills, templates, MCP servers; and compaction.

use bowline_extension::trust::DefaultTrust;
use bowline_extension_host::command_hooks::IMPORT_KEY;
use serde_json::Value;

use super::{LONGEST_MS, MOST_TOKENS, Setting};
use crate::settings::file::SettingsFile;
use crate::settings::groups::Limits;
use crate::settings::value::Kind::{Choice, Named, Number, Switch, Text, Texts, TextsAndObjects};
use crate::settings::value::{Wrong, whole_number};

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
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
        path: "packages",
        kind: TextsAndObjects(|file, value| file.packages = value),
        default: "none",
        example: r#"["npm:pi-subagents", {"source": "git:github.com/me/tools@v1", "skills": []}]"#,
        about: "[packages](packages.md) of extensions, skills and prompt templates; `bowline install` adds to the list of pi",
    },
    Setting {
        path: "piFolder",
        kind: Switch(|file, value| file.pi_folder = Some(value)),
        default: "true",
        example: "false",
        about: "whether the extensions and [packages](packages.md#where-packages-are) in pi's own folder, `~/.pi/agent`, are used, too",
    },
    Setting {
        path: "npmCommand",
        kind: Texts(|file, value| file.npm_command = Some(value)),
        default: r#"`["npm"]`"#,
        example: r#"["pnpm"]"#,
        about: "the program that installs [packages](packages.md), and its first arguments",
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
        path: "nodePath",
        kind: Text(|file, value| file.node_path = Some(value)),
        default: "the `node` or `bun` in `PATH`",
        example: "\"/opt/node-22/bin/node\"",
        about: "the Node (22.15 or later) or Bun that runs [extensions of pi](pi-extensions.md)",
    },
    Setting {
        path: "piExtensionEnvironment",
        kind: Texts(|file, value| file.pi_extension_environment = Some(value)),
        default: "`[\"*\"]`, which is all of them",
        example: r#"["EXA_API_KEY"]"#,
        about: "the variables that look like keys and that [extensions of pi](pi-extensions.md) get all the same",
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
];

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
