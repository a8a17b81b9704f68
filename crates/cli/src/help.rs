//! The help text, generated from the tables of flags and subcommands.

use std::fmt::Write as _;

use crate::arguments::SHORT_FORMS;
use crate::failure::Failure;
use crate::flags::{Flag, Group, Takes, flags};
use crate::foreign_flags::FOREIGN_FLAGS;
use crate::settings;
use crate::similar::nearest;
use crate::subcommands::{self, SUBCOMMANDS, Subcommand};
use crate::terminal::hanging;

/// The width of the help, and where the descriptions of subcommands, options and files begin.
const WIDTH: usize = 79;
const SUBCOMMAND_COLUMN: usize = 25;
const OPTION_COLUMN: usize = 39;
const FILE_COLUMN: usize = 18;

/// What bowline is.
pub(crate) const INTRODUCTION: &str = "bowline is a headless coding agent: another program drives it over stdin and stdout, one JSON object per line.";

/// The ways to call it, without the subcommands.
pub(crate) const CALLS: &[(&str, &str)] = &[
    ("bowline demo", "start here: an exchange with a scripted model (no key, no network)"),
    ("bowline -p \"MESSAGE\"", "run a message and print the answer"),
    ("bowline --mode rpc", "serve a client, in the protocol that --dialect names"),
    ("bowline --list-models", "list the known models"),
];

pub(crate) const EXAMPLES: &[&str] = &[
    "ANTHROPIC_API_KEY=… bowline --mode rpc --model anthropic/claude-sonnet-5",
    "bowline --mode rpc --continue --tools read,grep,find,ls",
    "git diff | bowline -p \"Review this change\" --tools read,grep",
    "bowline --list-models opus",
];

/// What the name of a link means.
const LINKS: &str = "A link to bowline named pi, omp or opi speaks that agent's dialect and prints its version for --version.";

/// Where bowline's files are.
pub(crate) const FOLDER: &str = "Files, in ~/.bowline (BOWLINE_HOME or PI_CODING_AGENT_DIR moves it):";

pub(crate) const FILES: &[(&str, &str)] = &[
    ("settings.json", "what flags set, and time-outs, retries, queue modes"),
    ("models.json", "providers and models of your own"),
    ("auth.json", "keys by provider; variables (ANTHROPIC_API_KEY, …) work, too"),
    ("sessions/", "one file per session"),
];

/// Returns the usage in a few lines.
pub(crate) fn usage() -> String {
    let mut text = String::new();
    hanging(&mut text, INTRODUCTION, 0, WIDTH);
    text.push('\n');
    for (call, about) in CALLS {
        let _ = write!(text, "  {call:<22} ");
        hanging(&mut text, about, SUBCOMMAND_COLUMN, WIDTH);
    }
    for subcommand in SUBCOMMANDS.iter().filter(|subcommand| subcommand.name != "demo") {
        let _ = write!(text, "  bowline {:<14} ", subcommand.name);
        hanging(&mut text, subcommand.about, SUBCOMMAND_COLUMN, WIDTH);
    }
    text
}

/// Returns the help for the words after `help`, or for a subcommand that was called with `--help`.
pub(crate) fn about(topic: Option<&str>) -> Result<String, Failure> {
    match topic {
        None => Ok(text()),
        Some("settings") => Ok(settings::help()),
        Some(name) => subcommands::find(name).map(of_subcommand).ok_or_else(|| {
            let near = nearest(name, subcommands::names().chain(["settings"]));
            let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let topics: Vec<_> = subcommands::names().collect();
            Failure::Usage(format!(
                "there is no help for \"{name}\"{hint} (there is for {} and settings)",
                topics.join(", ")
            ))
        }),
    }
}

fn of_subcommand(subcommand: &Subcommand) -> String {
    let mut text = format!("{}\nOptions:\n", subcommand.usage);
    for flag in flags().filter(|flag| subcommand.has_flag(flag.long)) {
        let _ = write!(text, "  {:<36} ", spelling(flag));
        hanging(&mut text, flag.about, OPTION_COLUMN, WIDTH);
    }
    text.push_str("\nExamples:\n");
    for example in subcommand.examples.lines() {
        let _ = writeln!(text, "  {example}");
    }
    text
}

/// Returns the whole help.
fn text() -> String {
    let mut text = usage();
    for (group, heading) in Group::ALL {
        let flags = flags().filter(|flag| flag.group == group);
        let _ = write!(text, "\n{heading}:\n");
        for flag in flags {
            let _ = write!(text, "  {:<36} ", spelling(flag));
            hanging(&mut text, flag.about, OPTION_COLUMN, WIDTH);
        }
    }
    write_foreign(&mut text, "Flags of the emulated agents that are ignored with a warning", false);
    write_foreign(
        &mut text,
        "Flags of the emulated agents that are refused, as they restrict the agent",
        true,
    );
    text.push_str("\nDialects (--dialect):\n");
    for entry in bowline_dialect::DIALECTS {
        let _ = write!(text, "  {:<36} ", entry.name);
        hanging(&mut text, entry.about, OPTION_COLUMN, WIDTH);
    }
    text.push_str("\nExamples:\n");
    for example in EXAMPLES {
        let _ = writeln!(text, "  {example}");
    }
    text.push('\n');
    hanging(&mut text, LINKS, 0, WIDTH);
    let _ = write!(text, "\n{FOLDER}\n");
    for (name, about) in FILES {
        let _ = write!(text, "  {name:<15} ");
        hanging(&mut text, about, FILE_COLUMN, WIDTH);
    }
    text
}

fn write_foreign(text: &mut String, heading: &str, is_refused: bool) {
    let flags = FOREIGN_FLAGS.iter().filter(|flag| flag.is_refused() == is_refused);
    let mut names: Vec<_> = flags.map(|flag| flag.long).collect();
    names.sort_unstable();
    names.dedup();
    let _ = write!(text, "\n{heading}:\n");
    text.push_str("  ");
    hanging(text, &names.join(" "), 2, WIDTH);
}

/// Returns a flag as the help writes it, with its short forms and its value.
pub(crate) fn spelling(flag: &Flag) -> String {
    let further = SHORT_FORMS.iter().filter(|(_, long)| *long == flag.long).map(|(short, _)| *short);
    let mut spelling: String =
        flag.short.into_iter().chain(further).map(|short| format!("{short}, ")).collect();
    spelling.push_str(flag.long);
    let _ = match flag.takes {
        Takes::Nothing => Ok(()),
        Takes::Value(what) => write!(spelling, " {what}"),
        Takes::Optional(what) => write!(spelling, " [{what}]"),
    };
    spelling
}
