//! Flags that change the instructions, and what users and projects add.

use super::Group::Prompt;
use super::Takes::{Nothing, Value};
use super::{Flag, flag, list, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
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
        Value("PATH|SOURCE"),
        "Load an extension from this file or folder, or a package; may be repeated",
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
];
