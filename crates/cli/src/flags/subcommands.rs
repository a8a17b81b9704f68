//! Flags that only subcommands have.

use bowline_core::sandbox::SandboxLevel;

use super::Group::Subcommand;
use super::Takes::{Nothing, Optional, Value};
use super::{Flag, flag, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Subcommand,
        "--online",
        None,
        Nothing,
        "With auth check and doctor: ask providers, with one small request each",
        |arguments, _| {
            arguments.online = true;
            Ok(())
        },
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
        Some("-l"),
        Nothing,
        "With --list-models: query the model servers on this machine; with install and remove: for this project",
        |arguments, _| {
            arguments.local = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--temporary",
        None,
        Nothing,
        "With install: for --extension only, without adding it to settings",
        |arguments, _| {
            arguments.temporary = true;
            Ok(())
        },
    ),
    flag(
        Subcommand,
        "--project",
        None,
        Nothing,
        "With config set, unset and path: the settings of this project",
        |arguments, _| {
            arguments.of_project = true;
            Ok(())
        },
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
        Value("full|landlock|none"),
        "With sandbox check: full (the default), landlock, or none to see what gets through unconfined",
        |arguments, value| match SandboxLevel::parse(&value) {
            Some(level) if level != SandboxLevel::External => set(&mut arguments.level, level),
            _ => Err(format!("\"{value}\" is not full, landlock or none")),
        },
    ),
    flag(
        Subcommand,
        "--save",
        None,
        Value("FILE"),
        "With inspect: save the exchange as a page (FILE.html) or as a recording (FILE.jsonl)",
        |arguments, value| {
            arguments.save.push(value);
            Ok(())
        },
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
        "The run whose changes are taken back",
        |arguments, value| {
            let run = value.parse().ok().filter(|run| *run > 0);
            arguments.run = Some(run.ok_or("it must be a number of at least 1")?);
            Ok(())
        },
    ),
    flag(Subcommand, "--dry-run", None, Nothing, "Show what would be done only", |arguments, _| {
        arguments.dry_run = true;
        Ok(())
    }),
];
