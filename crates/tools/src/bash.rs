//! The tool `bash`: runs a command in a shell, reports its output while it runs, and returns the end of it.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::message::{Arguments, Content};
use bowline_core::tool::{ToolDefinition, ToolDisplay, ToolTraits};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use crate::builtin::{Builtin, Call, unprepared};
use crate::capture::Capture;
use crate::command_logs::LogPlace;
use crate::error::Error;
use crate::parameters::{Kind, Parameter, text};
use crate::process_tree::Survivor;
use crate::shell::{Ending, Event, Launch, Pipes, Shell};
use crate::terminal_text::Cleaner;
use crate::tool::{Outcome, Progress};
use crate::toolbox::Options;
use crate::truncate::{Limit, Truncation, format_size};

/// The minimum time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// The longest timeout, in seconds: the most that a signed 32-bit count of milliseconds can hold.
const MAX_TIMEOUT: f64 = 2_147_483.0;

/// What the model reads of the timeout; [`describe`] adds the default.
const TIMEOUT: &str = "Seconds after which it is killed";

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "bash",
        mutates: true,
        path_argument: None,
        display: ToolDisplay::Command { argument: "command" },
    },
    description: "Run a shell command in the working directory. Returns stdout and stderr together, the last 2000 lines or \
        50KB; longer output is kept in a file whose path is given.",
    parameters: &[
        Parameter::required("command", Kind::Text, ""),
        Parameter::optional("timeout", Kind::Number, TIMEOUT),
    ],
    enabled_by_default: true,
    describe,
    prepare: unprepared,
    run: |call| Box::pin(async move { bash(call).await.unwrap_or_else(Outcome::from) }),
};

async fn bash(call: Call) -> Result<Outcome, Error> {
    let Call { options, context, arguments, .. } = call;
    let timeout = match timeout(&arguments)? {
        Some(asked) => Some(Timeout { limit: asked, is_default: false }),
        None => options.command_timeout.map(|limit| Timeout { limit, is_default: true }),
    };
    let mut shell = Shell::start(Launch {
        command: text(&arguments, "command").unwrap_or_default().to_owned(),
        working_directory: context.working_directory,
        environment: context.environment,
        options: Arc::clone(&options),
        has_prefix: true,
        pipes: Pipes::Joined,
        timeout: timeout.map(|timeout| timeout.limit),
        cancel: context.cancel,
    })?;
    (context.progress)(Progress { content: Vec::new(), details: None });

    let mut cleaner = Cleaner::keeping_returns();
    let mut capture = Capture::new(LogPlace {
        directory: options.temporary_directory.clone(),
        session_id: context.session_id,
        ends_with_process: options.sessions_end_with_process,
    });
    let mut report_due: Option<Instant> = None;
    let mut next_report = Instant::now();
    let ending = loop {
        tokio::select! {
            biased;
            () = sleep_until(report_due.unwrap_or(next_report)), if report_due.is_some() => {
                report_due = None;
                next_report = Instant::now() + REPORT_INTERVAL;
                (context.progress)(progress(&capture));
            }
            event = shell.next() => match event {
                Event::Output(text) | Event::Errors(text) => {
                    capture.push(&cleaner.push(text)).await;
                    report_due.get_or_insert(next_report);
                }
                Event::Ended(ending) => break ending,
            },
        }
    };
    capture.finish().await;
    Ok(outcome(&capture, &ending, timeout))
}

/// When a command is killed, and whether the model asked for it.
#[derive(Clone, Copy)]
struct Timeout {
    limit: Duration,
    is_default: bool,
}

/// Adds the default timeout to the description of the parameter.
fn describe(options: &Options, definition: &mut ToolDefinition) {
    let default = options.command_timeout.map_or("never".to_owned(), |limit| limit.as_secs_f64().to_string());
    definition.parameters["properties"]["timeout"]["description"] =
        format!("{TIMEOUT} (default: {default})").into();
}

fn timeout(arguments: &Arguments) -> Result<Option<Duration>, Error> {
    let Some(given) = arguments.get("timeout") else { return Ok(None) };
    given
        .as_f64()
        .filter(|seconds| *seconds > 0.0 && *seconds <= MAX_TIMEOUT)
        .map(|seconds| Some(Duration::from_secs_f64(seconds)))
        .ok_or_else(|| Error::Timeout { given: given.to_string() })
}

fn progress(capture: &Capture) -> Progress {
    let tail = capture.tail();
    let details = truncation_details(capture, &tail);
    Progress { content: vec![Content::text(tail.content)], details }
}

/// Returns the details of truncated output.
fn truncation_details(capture: &Capture, tail: &Truncation) -> Option<Value> {
    tail.limit?;
    let mut details = Map::new();
    details.insert("truncation".to_owned(), tail.details());
    if let Some(path) = capture.log_path() {
        details.insert("fullOutputPath".to_owned(), json!(path));
    }
    Some(details.into())
}

fn outcome(capture: &Capture, ending: &Ending, timeout: Option<Timeout>) -> Outcome {
    let tail = capture.tail();
    let mut text = tail.content.clone();
    let notes: Vec<_> =
        [truncation_note(capture, &tail), ending_note(ending, timeout)].into_iter().flatten().collect();
    if text.trim().is_empty() {
        "(no output)".clone_into(&mut text);
    }
    if !notes.is_empty() {
        text.truncate(text.trim_end_matches('\n').len());
        text += &format!("\n\n[{}]", notes.join(" "));
    }
    if !matches!(ending, Ending::Exited { code: 0, .. }) {
        return Outcome::error(text);
    }
    Outcome { details: truncation_details(capture, &tail), ..Outcome::text(text) }
}

/// Returns a note on which part of the output is shown and where the rest is.
fn truncation_note(capture: &Capture, tail: &Truncation) -> Option<String> {
    let limit = tail.limit?;
    let total = tail.totals.lines;
    let part = if tail.last_line_partial {
        let line = format_size(capture.last_line());
        format!("This is the last {} of line {total}, which has {line}.", format_size(tail.content.len()))
    } else {
        let why = if limit == Limit::Bytes { ", limited to 50.0KB" } else { "" };
        format!("These are lines {}-{total} of {total}{why}.", total + 1 - tail.output_lines)
    };
    Some(match (capture.log_path(), capture.log_cut_at()) {
        (Some(path), None) => format!("{part} The full output is in {}.", path.display()),
        (Some(path), Some(limit)) => {
            let size = format_size(limit);
            format!(
                "{part} Only the first {size} of the output are in {}; what follows was cut.",
                path.display()
            )
        }
        (None, _) => format!("{part} The rest could not be saved."),
    })
}

fn ending_note(ending: &Ending, timeout: Option<Timeout>) -> Option<String> {
    match ending {
        Ending::Exited { code, left_running, survivors } => {
            let status = (*code != 0).then(|| format!("Exit code {code}{}.", code_meaning(*code)));
            let left = left_running.then(|| left_running_note(survivors));
            let notes: Vec<_> = [status, left].into_iter().flatten().collect();
            (!notes.is_empty()).then(|| notes.join(" "))
        }
        Ending::Signalled { signal } => {
            Some(format!("The command was killed by signal {signal}{}.", signal_meaning(*signal)))
        }
        Ending::TimedOut => timeout.map(timeout_note),
        Ending::Cancelled => Some("Aborted; the command and its children were killed.".to_owned()),
    }
}

fn timeout_note(timeout: Timeout) -> String {
    let (whose, remedy) = if timeout.is_default {
        (", the default limit", "set `timeout` to a number of seconds")
    } else {
        ("", "set a longer timeout")
    };
    format!(
        "Timed out after {} seconds{whose}; the command and its children were killed. If it needs longer, {remedy}, or \
         start it in the background with its output in a file.",
        timeout.limit.as_secs_f64()
    )
}

fn left_running_note(survivors: &[Survivor]) -> String {
    let names: Vec<_> = survivors
        .iter()
        .take(5)
        .map(|survivor| format!("{} (pid {})", survivor.name, survivor.process))
        .collect();
    let who = if names.is_empty() { "a process".to_owned() } else { names.join(", ") };
    format!(
        "Still running in the background: {who}. Its further output is lost; to keep it, redirect it to a file \
         (`command > file 2>&1 &`)."
    )
}

fn code_meaning(code: i32) -> String {
    match code {
        126 => " (found, but not executable)".to_owned(),
        127 => " (command not found)".to_owned(),
        129..=192 => format!(" (128 + signal {}{})", code - 128, signal_meaning(code - 128)),
        _ => String::new(),
    }
}

fn signal_meaning(signal: i32) -> &'static str {
    match signal {
        1 => ", SIGHUP",
        2 => ", SIGINT",
        3 => ", SIGQUIT",
        4 => ", SIGILL: an illegal instruction",
        6 => ", SIGABRT: it aborted itself, as after a failed assertion",
        7 => ", SIGBUS: an invalid memory access",
        8 => ", SIGFPE: an arithmetic error such as division by zero",
        9 => ", SIGKILL: perhaps out of memory",
        11 => ", SIGSEGV: an invalid memory access",
        13 => ", SIGPIPE: the reader of its output had exited",
        14 => ", SIGALRM",
        15 => ", SIGTERM",
        24 => ", SIGXCPU: it exceeded its CPU time limit",
        25 => ", SIGXFSZ: a file grew too large",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
