//! Flags that are about the process as a whole.

use bowline_core::limits::Limited;
use bowline_core::output::MOST_RETRIES;

use super::Group::Mode;
use super::Takes::{Nothing, Optional, Value};
use super::{Flag, flag, set};
use crate::arguments::{Action, Arguments};
use crate::one_shot::{self, FORMATS, Format, PI_EVENTS};
use crate::settings::MOST_SPENT;

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Mode,
        "--mode",
        None,
        Value("rpc|text|json"),
        "rpc: serve a client over JSON lines on stdin and stdout; text: the same as --print; json: as --print, but \
         write pi's events",
        |arguments, value| {
            match value.as_str() {
                "rpc" => {}
                "rpc-ui" => {
                    let text =
                        "--mode rpc-ui is the same as rpc here: no tool asks the user for anything yet";
                    arguments.warnings.push(text.to_owned());
                }
                "text" | "json" => {
                    let format = if value == "json" { PI_EVENTS } else { &FORMATS[0] };
                    return one_shot(arguments, Some(format));
                }
                _ => return Err(format!("\"{value}\" is not a mode; there are rpc, text and json")),
            }
            arguments.action = Action::Rpc;
            Ok(())
        },
    ),
    flag(
        Mode,
        "--login",
        None,
        Nothing,
        "Ask for a provider and its key in the terminal, keep them in auth.json and end; editors start bowline so",
        |arguments, _| {
            arguments.login = true;
            Ok(())
        },
    ),
    flag(
        Mode,
        "--print",
        Some("-p"),
        Optional("MESSAGE"),
        "Run this message and the further arguments, write the last answer and end; @FILE attaches a file",
        |arguments, message| {
            if !message.is_empty() {
                arguments.messages.push(message);
            }
            one_shot(arguments, None)
        },
    ),
    flag(
        Mode,
        "--output",
        None,
        Value("text|json|stream-json"),
        "With --print: the last answer (default), a JSON object about the run, or every event and that object",
        |arguments, name| match one_shot::find(&name) {
            Some(format) => one_shot(arguments, Some(format)),
            None => Err(format!("\"{name}\" is no kind of output; there are {}", one_shot::names())),
        },
    ),
    flag(
        Mode,
        "--output-schema",
        None,
        Value("FILE"),
        "With --print: end with JSON that satisfies the JSON Schema in this file, or fail",
        |arguments, path| {
            arguments.output_schema = Some(path);
            one_shot(arguments, None)
        },
    ),
    flag(
        Mode,
        "--output-retries",
        None,
        Value("NUMBER"),
        "How often to ask again for output that does not satisfy --output-schema, 0 to 10 (default: 2)",
        |arguments, value| match value.parse() {
            Ok(retries) if retries <= MOST_RETRIES => {
                arguments.output_retries = Some(retries);
                Ok(())
            }
            _ => Err(format!("\"{value}\" is not a whole number from 0 to {MOST_RETRIES}")),
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
        Mode,
        "--offline",
        None,
        Nothing,
        "Accepted for clients: bowline contacts only the model's provider in any case",
        |_, _| Ok(()),
    ),
];

/// Chooses a one-shot mode. What it writes is kept if this does not say.
fn one_shot(arguments: &mut Arguments, format: Option<&'static Format>) -> Result<(), String> {
    arguments.is_one_shot = true;
    arguments.format = format.or(arguments.format);
    Ok(())
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
            Err(format!("it must be {kind} from 0 to {MOST_SPENT}, not \"{value}\"; 0 means unlimited"))
        }
    }
}
