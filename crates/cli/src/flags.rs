//! The flags: one definition each feeds the parser and the help.

use bowline_core::ThinkingLevel;
use bowline_core::limits::Limited;
use bowline_core::sandbox::AskMode;
use bowline_core::sandbox::{SandboxMode, SandboxNetwork, SandboxWorkspace};
use bowline_session::Clock;

use crate::arguments::{Action, Arguments};
use crate::settings_table::MOST_SPENT;

/// A flag of the command line.
pub(crate) struct Flag {
    pub long: &'static str,
    pub short: Option<&'static str>,
    pub takes: Takes,
    pub about: &'static str,
    /// Its heading in the help.
    pub group: Group,
    pub apply: fn(&mut Arguments, String) -> Result<(), String>,
}

/// Whether a flag has a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A value, and how the help names it.
    Value(&'static str),
    /// An optional value.
    Optional(&'static str),
}

/// The headings of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Mode,
    Model,
    Session,
    Tools,
    Sandbox,
    Prompt,
    Subcommand,
}

const fn flag(
    group: Group,
    long: &'static str,
    short: Option<&'static str>,
    takes: Takes,
    about: &'static str,
    apply: fn(&mut Arguments, String) -> Result<(), String>,
) -> Flag {
    Flag { long, short, takes, about, group, apply }
}

use Group::{Mode, Model, Prompt, Sandbox, Session, Subcommand, Tools};
use Takes::{Nothing, Optional, Value};

/// Every flag.
pub(crate) const FLAGS: &[Flag] = &[
    flag(
        Mode,
        "--mode",
        None,
        Value("rpc"),
        "Serve a client over JSON lines on stdin and stdout",
        |arguments, value| {
            if value == "rpc-ui" {
                let text = "--mode rpc-ui is the same as rpc here: no tool asks the user for anything yet";
                arguments.warnings.push(text.to_owned());
            } else if value != "rpc" {
                return Err(format!("\"{value}\" is not a mode; the only one is rpc"));
            }
            arguments.action = Action::Rpc;
            Ok(())
        },
    ),
    flag(
        Mode,
        "--dialect",
        None,
        Value("NAME"),
        "The client's protocol (default: pi)",
        // Evaluated before all others, see `dialect_choice`.
        |_, _| Ok(()),
    ),
    flag(Mode, "--rpc", None, Nothing, "The same as --mode rpc --dialect opi", |arguments, _| {
        arguments.action = Action::Rpc;
        Ok(())
    }),
    flag(
        Mode,
        "--line-limit",
        None,
        Value("BYTES"),
        "The longest command line accepted (default: 67108864)",
        |arguments, value| match value.parse() {
            Ok(limit) if limit > 0 => set(&mut arguments.line_limit, limit),
            _ => Err(format!("\"{value}\" is not a number of bytes; it must be a whole number from 1")),
        },
    ),
    flag(
        Mode,
        "--max-cost",
        None,
        Value("DOLLARS"),
        "End a run that has cost so much, in US dollars",
        |arguments, value| limit(arguments, Limited::Cost, &value),
    ),
    flag(
        Mode,
        "--max-tokens",
        None,
        Value("NUMBER"),
        "End a run that has used so many tokens",
        |arguments, value| limit(arguments, Limited::Tokens, &value),
    ),
    flag(
        Mode,
        "--max-turns",
        None,
        Value("NUMBER"),
        "End a run after so many answers of the model to one message (default: 500)",
        |arguments, value| limit(arguments, Limited::Turns, &value),
    ),
    flag(
        Mode,
        "--max-tool-calls",
        None,
        Value("NUMBER"),
        "End a run that wants to call more tools than this",
        |arguments, value| limit(arguments, Limited::ToolCalls, &value),
    ),
    flag(
        Mode,
        "--max-time",
        None,
        Value("TIME"),
        "End a run that takes longer: seconds, or such as 10m or 2h",
        |arguments, value| limit(arguments, Limited::Seconds, &value),
    ),
    flag(
        Mode,
        "--cwd",
        None,
        Value("FOLDER"),
        "Work in this folder instead of the current one",
        |arguments, value| set(&mut arguments.working_directory, value),
    ),
    flag(
        Subcommand,
        "--online",
        None,
        Nothing,
        "With auth check: make one small request to the provider",
        |arguments, _| {
            arguments.online = true;
            Ok(())
        },
    ),
    flag(
        Mode,
        "--help",
        Some("-h"),
        Nothing,
        "Show the help; after a subcommand, that of the subcommand",
        |arguments, _| {
            arguments.wants_help = true;
            Ok(())
        },
    ),
    flag(Mode, "--version", Some("-v"), Nothing, "Print the version", |arguments, _| {
        arguments.wants_version = true;
        Ok(())
    }),
    flag(
        Mode,
        "--verbose",
        None,
        Nothing,
        "With --version: also print the version of the emulated agent; otherwise: pass on the logs of extensions",
        |arguments, _| {
            arguments.verbose = true;
            Ok(())
        },
    ),
    flag(
        Model,
        "--model",
        None,
        Value("PROVIDER/ID[:LEVEL]"),
        "The model, by name or a part of it; scripted/demo needs no key",
        |arguments, value| set(&mut arguments.model, value),
    ),
    flag(Model, "--provider", None, Value("NAME"), "The provider of --model", |arguments, value| {
        set(&mut arguments.provider, value)
    }),
    flag(
        Model,
        "--models",
        None,
        Value("A,B"),
        "The models for cycle_model; * and ? are wildcards",
        |arguments, value| set(&mut arguments.models, value),
    ),
    flag(
        Model,
        "--thinking",
        None,
        Value("LEVEL"),
        "off, minimal, low, medium, high, xhigh or max",
        |arguments, value| {
            match ThinkingLevel::parse(&value) {
                Some(level) => arguments.thinking = Some(level),
                // As in pi, an unknown level does not prevent the start.
                None => arguments.warnings.push(format!(
                    "--thinking {value} is ignored: the levels are off, minimal, low, medium, high, xhigh and max"
                )),
            }
            Ok(())
        },
    ),
    flag(
        Model,
        "--api-key",
        None,
        Value("KEY"),
        "The key of the model's provider; other users of this machine can see it",
        |arguments, value| set(&mut arguments.api_key, value),
    ),
    flag(
        Subcommand,
        "--list-models",
        None,
        Optional("SEARCH"),
        "List the known models that match",
        |arguments, value| {
            arguments.lists_models = true;
            arguments.search = value;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--local",
        None,
        Nothing,
        "With --list-models: query the model servers on this machine",
        |arguments, _| {
            arguments.local = true;
            Ok(())
        },
    ),
    flag(
        Model,
        "--record",
        None,
        Value("FILE"),
        "Record every exchange with the provider in a file, without keys",
        |arguments, value| set(&mut arguments.record, value),
    ),
    flag(
        Model,
        "--replay-loose",
        None,
        Nothing,
        "With --model replay/FILE: also answer requests that differ from the recorded ones",
        |arguments, _| {
            arguments.replay_loose = true;
            Ok(())
        },
    ),
    flag(
        Session,
        "--clock",
        None,
        Value("system|fixed"),
        "fixed: constant times and ids, for reproducible output",
        |arguments, value| match value.as_str() {
            "system" => set(&mut arguments.clock, Clock::System),
            "fixed" => set(&mut arguments.clock, Clock::fixed()),
            _ => Err(format!("\"{value}\" is not a clock; there are system and fixed")),
        },
    ),
    flag(
        Session,
        "--continue",
        Some("-c"),
        Nothing,
        "Continue the newest session of this folder",
        |arguments, _| {
            arguments.continue_session = true;
            Ok(())
        },
    ),
    flag(
        Session,
        "--session",
        None,
        Value("PATH|ID"),
        "Continue this session; a prefix of the id is enough",
        |arguments, value| set(&mut arguments.session, value),
    ),
    flag(
        Session,
        "--resume",
        None,
        Value("ID"),
        "The same as --session, for clients of opi",
        |arguments, value| set(&mut arguments.session, value),
    ),
    flag(
        Session,
        "--session-id",
        None,
        Value("ID"),
        "Continue the session with exactly this id, or create it",
        |arguments, value| set(&mut arguments.session_id, value),
    ),
    flag(
        Session,
        "--fork",
        None,
        Value("PATH|ID"),
        "Start a new session as a copy of this one",
        |arguments, value| set(&mut arguments.fork, value),
    ),
    flag(Session, "--session-dir", None, Value("FOLDER"), "Keep sessions here", |arguments, value| {
        set(&mut arguments.session_dir, value)
    }),
    flag(Session, "--name", Some("-n"), Value("TEXT"), "The session's name", |arguments, value| {
        set(&mut arguments.name, value)
    }),
    flag(Session, "--no-session", None, Nothing, "Keep the session in memory only", |arguments, _| {
        arguments.no_session = true;
        Ok(())
    }),
    flag(
        Session,
        "--out",
        Some("-o"),
        Value("FILE"),
        "Where `bowline export` writes the page, or the folder that `bowline extension new` creates one in",
        |arguments, value| set(&mut arguments.out, value),
    ),
    flag(
        Subcommand,
        "--lang",
        None,
        Value("LANGUAGE"),
        "With extension new: python, typescript or sh",
        |arguments, value| set(&mut arguments.lang, value),
    ),
    flag(
        Tools,
        "--tools",
        Some("-t"),
        Value("A,B"),
        "Only these tools: read, bash, edit, write, grep, find, ls, todo, or mcp__server__tool",
        |arguments, value| {
            let names = list(&value);
            if names.is_empty() {
                arguments.warnings.push("--tools names no tool, so there are none".to_owned());
            }
            set(&mut arguments.tools, names)
        },
    ),
    flag(Tools, "--exclude-tools", Some("-xt"), Value("A,B"), "All but these tools", |arguments, value| {
        arguments.exclude_tools.extend(list(&value));
        Ok(())
    }),
    flag(
        Tools,
        "--allow-mutating",
        None,
        Nothing,
        "In the dialect opi: also enable the tools that modify things",
        |arguments, _| {
            arguments.allow_mutating = true;
            Ok(())
        },
    ),
    flag(Tools, "--no-tools", Some("-nt"), Nothing, "No tools at all", |arguments, _| {
        arguments.no_tools = true;
        Ok(())
    }),
    flag(Tools, "--no-builtin-tools", Some("-nbt"), Nothing, "Disable the built-in tools", |arguments, _| {
        arguments.no_builtin_tools = true;
        Ok(())
    }),
    flag(
        Sandbox,
        "--sandbox",
        None,
        Value("MODE"),
        "What tools may do: read-only, workspace-write, full-access or external (default: full-access)",
        |arguments, value| {
            // What clients of other agents pass to run without a sandbox.
            let is_off = matches!(value.as_str(), "off" | "none");
            let mode = if is_off { Some(SandboxMode::FullAccess) } else { SandboxMode::parse(&value) };
            let mode = mode.ok_or_else(|| {
                unknown("a sandbox mode", &value, &SandboxMode::ALL.iter().map(|mode| mode.as_str()))
            });
            set(&mut arguments.sandbox, mode?)
        },
    ),
    flag(
        Sandbox,
        "--network",
        None,
        Value("MODE"),
        "What tools reach from a sandbox: none, allow-list or full (default: none)",
        |arguments, value| {
            let names = SandboxNetwork::ALL.iter().map(|network| network.as_str());
            let network = SandboxNetwork::parse(&value).ok_or_else(|| unknown("a network", &value, &names));
            set(&mut arguments.network, network?)
        },
    ),
    flag(
        Sandbox,
        "--writable",
        None,
        Value("FOLDER"),
        "Tools may also write this folder from a sandbox; may be repeated",
        |arguments, value| {
            if value.is_empty() {
                return Err("the name of a folder is missing".to_owned());
            }
            arguments.writable.push(value);
            Ok(())
        },
    ),
    flag(
        Sandbox,
        "--workspace",
        None,
        Value("direct|overlay"),
        "Where changes go with --sandbox workspace-write; overlay: nowhere until accepted (default: direct)",
        |arguments, value| {
            let names = SandboxWorkspace::ALL.iter().map(|workspace| workspace.as_str());
            let workspace = SandboxWorkspace::parse(&value);
            let workspace = workspace.ok_or_else(|| unknown("a kind of workspace", &value, &names));
            set(&mut arguments.workspace, workspace?)
        },
    ),
    flag(
        Sandbox,
        "--sandbox-eager",
        None,
        Nothing,
        "Make the sandbox at the start instead of at the first tool call",
        |arguments, _| {
            arguments.sandbox_eager = true;
            Ok(())
        },
    ),
    flag(
        Sandbox,
        "--client-may-widen",
        None,
        Nothing,
        "Let the client make the sandbox less strict than it is at the start",
        |arguments, _| {
            arguments.client_may_widen = true;
            Ok(())
        },
    ),
    flag(
        Tools,
        "--ask",
        None,
        Value("never|on-request|untrusted"),
        "When the user is asked about tool calls (default: never)",
        |arguments, value| match AskMode::parse(&value) {
            Some(mode) => set(&mut arguments.ask, mode),
            None => {
                Err(format!("\"{value}\" is not a time to ask; there are never, on-request and untrusted"))
            }
        },
    ),
    flag(
        Prompt,
        "--system-prompt",
        None,
        Value("TEXT|FILE"),
        "Replace bowline's instructions",
        |arguments, value| set(&mut arguments.system_prompt, value),
    ),
    flag(
        Prompt,
        "--system",
        None,
        Value("FILE"),
        "The same from a file, for clients of opi",
        |arguments, value| set(&mut arguments.system_file, value),
    ),
    flag(
        Prompt,
        "--append-system-prompt",
        None,
        Value("TEXT|FILE"),
        "Append to the instructions; may be repeated",
        |arguments, value| {
            arguments.append_system_prompt.push(value);
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--no-context-files",
        Some("-nc"),
        Nothing,
        "Do not read AGENTS.md and CLAUDE.md",
        |arguments, _| {
            arguments.no_context_files = true;
            Ok(())
        },
    ),
    flag(Prompt, "--no-rules", None, Nothing, "Do not use stream rules", |arguments, _| {
        arguments.no_rules = true;
        Ok(())
    }),
    flag(
        Prompt,
        "--extension",
        Some("-e"),
        Value("PATH"),
        "Load an extension from this file or folder; may be repeated",
        |arguments, value| {
            arguments.extension_paths.push(value);
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--no-extensions",
        Some("-ne"),
        Nothing,
        "Load no extensions but those of --extension",
        |arguments, _| {
            arguments.no_extensions = true;
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--skill",
        None,
        Value("PATH"),
        "Load a skill from this file or folder; may be repeated",
        |arguments, value| {
            arguments.skill_paths.push(value);
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--no-skills",
        Some("-ns"),
        Nothing,
        "Load no skills but those of --skill",
        |arguments, _| {
            arguments.no_skills = true;
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--skills",
        None,
        Value("A,B"),
        "Only skills with these names; * and ? are wildcards",
        |arguments, value| set(&mut arguments.skill_names, list(&value)),
    ),
    flag(
        Prompt,
        "--prompt-template",
        None,
        Value("PATH"),
        "Load prompt templates from this file or folder; may be repeated",
        |arguments, value| {
            arguments.template_paths.push(value);
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--no-prompt-templates",
        Some("-np"),
        Nothing,
        "Load no prompt templates but those of --prompt-template",
        |arguments, _| {
            arguments.no_templates = true;
            Ok(())
        },
    ),
    flag(
        Prompt,
        "--approve",
        Some("-a"),
        Nothing,
        "Trust this project: use its skills, templates, instructions and settings",
        |arguments, _| set(&mut arguments.approval, true),
    ),
    flag(
        Prompt,
        "--no-approve",
        Some("-na"),
        Nothing,
        "Do not trust this project, whatever was decided before",
        |arguments, _| set(&mut arguments.approval, false),
    ),
    flag(Prompt, "--trust", None, Nothing, "The same as --approve, for clients of opi", |arguments, _| {
        set(&mut arguments.approval, true)
    }),
    flag(
        Prompt,
        "--no-trust",
        None,
        Nothing,
        "The same as --no-approve, for clients of opi",
        |arguments, _| set(&mut arguments.approval, false),
    ),
    flag(
        Subcommand,
        "--list",
        None,
        Nothing,
        "With trust: show the decisions about all projects",
        |arguments, _| {
            arguments.list = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--remove",
        None,
        Nothing,
        "With trust: remove the decision about a project",
        |arguments, _| {
            arguments.remove = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--json",
        None,
        Nothing,
        "One JSON object per line instead of a table",
        |arguments, _| {
            arguments.json = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--level",
        None,
        Value("LEVEL"),
        "With sandbox check: full (the default), landlock, or none to see what gets through unconfined",
        |arguments, value| set(&mut arguments.level, value),
    ),
    flag(Subcommand, "--all", None, Nothing, "The sessions of every folder", |arguments, _| {
        arguments.all = true;
        Ok(())
    }),
    flag(Subcommand, "--search", None, Value("TEXT"), "Only those that match", |arguments, value| {
        arguments.search = value;
        Ok(())
    }),
    flag(
        Subcommand,
        "--repair",
        None,
        Nothing,
        "Move damaged lines of sessions to a file beside them",
        |arguments, _| {
            arguments.repair = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--run",
        None,
        Value("NUMBER"),
        "The run whose changes are put back",
        |arguments, value| {
            let run = value.parse().ok().filter(|run| *run > 0);
            arguments.run = Some(run.ok_or("--run must be a number of at least 1")?);
            Ok(())
        },
    ),
    flag(Subcommand, "--dry-run", None, Nothing, "Show what would be done only", |arguments, _| {
        arguments.dry_run = true;
        Ok(())
    }),
    flag(
        Mode,
        "--offline",
        None,
        Nothing,
        "Accepted for clients: bowline contacts only the model's provider in any case",
        |_, _| Ok(()),
    ),
];

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    *place = Some(value);
    Ok(())
}

/// Says that a value is not one of several words.
fn unknown(what: &str, value: &str, words: &(impl Iterator<Item = &'static str> + Clone)) -> String {
    let words: Vec<_> = words.clone().collect();
    format!("\"{value}\" is not {what}; there are {}", words.join(", "))
}

/// Sets what each run may spend.
#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn limit(arguments: &mut Arguments, limited: Limited, value: &str) -> Result<(), String> {
    let (digits, factor) = match (limited, value.chars().last()) {
        (Limited::Seconds, Some('s')) => (&value[..value.len() - 1], 1.0),
        (Limited::Seconds, Some('m')) => (&value[..value.len() - 1], 60.0),
        (Limited::Seconds, Some('h')) => (&value[..value.len() - 1], 3600.0),
        _ => (value, 1.0),
    };
    let number = digits
        .parse::<f64>()
        .ok()
        .map(|number| number * factor)
        .filter(|number| (0.0..=MOST_SPENT as f64).contains(number));
    match number.filter(|number| !limited.is_counted() || number.fract() == 0.0) {
        Some(number) => {
            arguments.limits.push((limited, number));
            Ok(())
        }
        None => {
            let kind = match limited {
                Limited::Seconds => "seconds, or 10m, or 2h,",
                _ if limited.is_counted() => "a whole number",
                _ => "a number",
            };
            Err(format!(
                "\"{value}\" is no limit; it must be {kind} from 0 to {MOST_SPENT}, and 0 is no limit"
            ))
        }
    }
}

fn list(names: &str) -> Vec<String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect()
}

impl Group {
    /// The groups in the order of the help, with their headings.
    pub const ALL: [(Self, &'static str); 7] = [
        (Mode, "General"),
        (Model, "Model"),
        (Session, "Session"),
        (Tools, "Tools"),
        (Sandbox, "Sandbox"),
        (Prompt, "Instructions"),
        (Subcommand, "For subcommands"),
    ];
}
