//! The tool `bash`: runs a command in a shell, reports its output while it runs, and gives back the end of it.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::message::{Arguments, Content};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use crate::builtin::{Builtin, unprepared};
use crate::capture::Capture;
use crate::error::Error;
use crate::parameters::{Kind, Parameter, text};
use crate::process_tree::Survivor;
use crate::shell::{Ending, Event, Launch, Shell};
use crate::tool::{CallContext, Outcome, Progress};
use crate::toolbox::Options;
use crate::truncate::{Limit, Truncation, format_size};

/// The time between two reports, at least.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time-out, in seconds: what a signed 32-bit count of milliseconds holds.
const MAX_TIMEOUT: f64 = 2_147_483.0;

pub(crate) static TOOL: Builtin = Builtin {
    name: "bash",
    description: "Run a shell command in the working directory. Returns stdout and stderr together, the last 2000 lines or \
        50KB; longer output is kept in a file whose path is given.",
    parameters: &[
        Parameter::required("command", Kind::Text, ""),
        Parameter::optional("timeout", Kind::Number, "Seconds after which it is killed (default: never)"),
    ],
    by_default: true,
    prepare: unprepared,
    run: |options, context, arguments| {
        Box::pin(async move { bash(options, context, arguments).await.unwrap_or_else(Outcome::from) })
    },
};

async fn bash(options: Arc<Options>, context: CallContext, arguments: Arguments) -> Result<Outcome, Error> {
    let timeout = timeout(&arguments)?;
    let mut shell = Shell::start(Launch {
        command: text(&arguments, "command").unwrap_or_default().to_owned(),
        working_directory: context.working_directory,
        environment: context.environment,
        shell: options.shell.clone(),
        command_prefix: options.command_prefix.clone(),
        timeout,
        cancel: context.cancel,
    })?;
    (context.progress)(Progress { content: Vec::new(), details: None });

    let mut capture = Capture::default();
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
                Event::Output(text) => {
                    capture.push(&text).await;
                    report_due.get_or_insert(next_report);
                }
                Event::Ended(ending) => break ending,
            },
        }
    };
    capture.finish().await;
    Ok(outcome(&capture, &ending, timeout))
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
    let details = facts(capture, &tail);
    Progress { content: vec![Content::text(tail.content)], details }
}

/// Returns the facts about output that was cut.
fn facts(capture: &Capture, tail: &Truncation) -> Option<Value> {
    tail.limit?;
    let mut facts = Map::new();
    facts.insert("truncation".to_owned(), tail.details());
    if let Some(path) = capture.log_path() {
        facts.insert("fullOutputPath".to_owned(), json!(path));
    }
    Some(facts.into())
}

fn outcome(capture: &Capture, ending: &Ending, timeout: Option<Duration>) -> Outcome {
    let tail = capture.tail();
    let mut text = tail.content.clone();
    let notes: Vec<_> =
        [cut_note(capture, &tail), ending_note(ending, timeout)].into_iter().flatten().collect();
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
    Outcome { details: facts(capture, &tail), ..Outcome::text(text) }
}

/// Returns what part of the output is shown, and where all of it is.
fn cut_note(capture: &Capture, tail: &Truncation) -> Option<String> {
    let limit = tail.limit?;
    let total = tail.totals.lines;
    let part = if tail.last_line_partial {
        let line = format_size(capture.last_line());
        format!("This is the last {} of line {total}, which has {line}.", format_size(tail.content.len()))
    } else {
        let why = if limit == Limit::Bytes { ", cut at 50.0KB" } else { "" };
        format!("These are lines {}-{total} of {total}{why}.", total + 1 - tail.output_lines)
    };
    Some(match capture.log_path() {
        Some(path) => format!("{part} The whole output is in {}.", path.display()),
        None => format!("{part} The rest could not be kept."),
    })
}

fn ending_note(ending: &Ending, timeout: Option<Duration>) -> Option<String> {
    match ending {
        Ending::Exited { code, left_running, survivors } => {
            let status = (*code != 0).then(|| format!("Exit code {code}{}.", code_meaning(*code)));
            let left = left_running.then(|| left_running_note(survivors));
            let notes: Vec<_> = [status, left].into_iter().flatten().collect();
            (!notes.is_empty()).then(|| notes.join(" "))
        }
        Ending::Signalled { signal } => {
            Some(format!("The command died of signal {signal}{}.", signal_meaning(*signal)))
        }
        Ending::TimedOut => Some(format!(
            "Timed out after {} seconds; the command and its children were killed. If it needs longer, set a longer timeout, \
             or start it in the background with its output in a file.",
            timeout.unwrap_or_default().as_secs_f64()
        )),
        Ending::Cancelled => Some("Aborted; the command and its children were killed.".to_owned()),
    }
}

fn left_running_note(survivors: &[Survivor]) -> String {
    let names: Vec<_> = survivors
        .iter()
        .take(5)
        .map(|survivor| format!("{} (pid {})", survivor.name, survivor.process))
        .collect();
    let who = if names.is_empty() { "a process".to_owned() } else { names.join(", ") };
    format!(
        "Still running in the background: {who}. What it prints from now on is lost; to see it, send its output to a file \
         (`command > file 2>&1 &`)."
    )
}

fn code_meaning(code: i32) -> String {
    match code {
        126 => " (found, but cannot be executed)".to_owned(),
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
        4 => ", SIGILL: an invalid instruction",
        6 => ", SIGABRT: it gave up by itself, as after a failed assertion",
        7 => ", SIGBUS: a bad memory access",
        8 => ", SIGFPE: a bad computation, as a division by zero",
        9 => ", SIGKILL: perhaps for lack of memory",
        11 => ", SIGSEGV: a bad memory access",
        13 => ", SIGPIPE: its reader had gone",
        14 => ", SIGALRM",
        15 => ", SIGTERM",
        24 => ", SIGXCPU: out of processor time",
        25 => ", SIGXFSZ: a file became too large",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
