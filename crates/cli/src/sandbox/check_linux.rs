//! `bowline sandbox check`: tries the whole matrix of ways out, and shows what came of each.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_core::sandbox::SandboxLevel;
use bowline_sandbox::matrix::{
    self, ATTEMPT_ROLE, Attempt, Check, Confined, MatrixReport, Opener, Row, Unconfined, Verdict,
};
use serde_json::json;

use super::NO_SANDBOX;
use crate::arguments::Arguments;
use crate::blocking::block_on;
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::terminal::{note, plain_line, say};

/// The width of a line of the table.
const WIDTH: usize = 80;

/// Plays the role of an attempt, if the command line says so.
pub(crate) fn attempt(words: &[OsString]) -> Option<ExitCode> {
    let [role, number, fixture] = words else { return None };
    if role != ATTEMPT_ROLE {
        return None;
    }
    let variables = environment::all_variables().into_iter();
    let variables = variables
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let line = matrix::attempt(&number.to_string_lossy(), Path::new(fixture), variables.collect());
    let said = say(&format!("{line}\n"));
    Some(if said.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the subcommand.
pub(super) fn check(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let level = arguments.level.unwrap_or(SandboxLevel::Full);
    let program = environment::program().map_err(Failure::io("finding this program"))?;
    let place = place(&environment);
    let check = Check { program: &program, place: &place, temporary: Path::new("/tmp"), level };
    let opener = opener(level, &environment);
    match block_on(matrix::run(check, &*opener, &mut Progress::begin()))? {
        Ok(report) => show(&report, arguments.json),
        Err(why) => {
            note(format_args!("bowline: {why}"));
            Ok(ExitCode::from(NO_SANDBOX))
        }
    }
}

/// Returns a folder for the fixture. `/tmp` is private in a sandbox, so files in it would be out of reach anyway.
fn place(environment: &Environment) -> PathBuf {
    let shared = Path::new("/var/tmp");
    let is_usable = rustix::fs::access(shared, rustix::fs::Access::WRITE_OK).is_ok();
    match (&environment.user_home, is_usable) {
        (Some(home), false) => home.clone(),
        _ => shared.to_owned(),
    }
}

/// Returns what makes the sandbox of a level.
fn opener(level: SandboxLevel, environment: &Environment) -> Box<dyn Opener> {
    match level {
        SandboxLevel::None => Box::new(Unconfined),
        _ => Box::new(Confined {
            level,
            program: PathBuf::from("/proc/self/exe"),
            environment: environment::all_variables(),
            temporary_directory: environment.temporary_directory.clone(),
        }),
    }
}

/// Shows on a terminal how far the check is.
struct Progress;

impl Progress {
    /// Returns what is called before each attempt. A line of progress is for people, who watch a terminal.
    fn begin() -> impl FnMut(usize, usize, &Attempt) + Send {
        let is_watched = std::io::stderr().is_terminal();
        move |done, total, attempt| {
            if is_watched {
                let mut stderr = std::io::stderr().lock();
                let line = format!("{}/{total} {}", done + 1, attempt.name);
                let _ = write!(stderr, "\r\u{1b}[K{line}");
                if done + 1 == total {
                    let _ = write!(stderr, "\r\u{1b}[K");
                }
                let _ = stderr.flush();
            }
        }
    }
}

/// Prints the results and returns the exit code.
fn show(report: &MatrixReport, as_json: bool) -> Result<ExitCode, Failure> {
    let text = if as_json { json_lines(report)? } else { table(report) };
    say(&text)?;
    Ok(if report.is_kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns one object per attempt, and one with the sums.
fn json_lines(report: &MatrixReport) -> Result<String, Failure> {
    let mut text = String::new();
    for row in &report.rows {
        let line = serde_json::to_string(row).map_err(|error| Failure::Usage(error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    let sums: serde_json::Map<_, _> =
        VERDICTS.iter().map(|verdict| (verdict.as_str().to_owned(), json!(report.count(*verdict)))).collect();
    let end = json!({ "level": report.level, "kept": report.is_kept(), "attempts": report.rows.len(),
        "broken": report.broken(), "results": sums });
    let _ = writeln!(text, "{end}");
    Ok(text)
}

/// The results in the order of the summary.
const VERDICTS: [Verdict; 6] = [
    Verdict::Refused,
    Verdict::Harmless,
    Verdict::Undone,
    Verdict::Through,
    Verdict::Absent,
    Verdict::Untried,
];

/// Returns the results as a table in groups.
fn table(report: &MatrixReport) -> String {
    let mut text = String::new();
    let mut group = "";
    let width = report.rows.iter().map(|row| row.result.as_str().len()).max().unwrap_or_default();
    for row in &report.rows {
        if row.group != group {
            group = row.group;
            let _ = writeln!(text, "{}{group}", if text.is_empty() { "" } else { "\n" });
        }
        text.push_str(&line(row, width));
    }
    text.push('\n');
    text.push_str(&summary(report));
    text
}

/// Returns the line of an attempt, and what is wrong with it on further lines.
fn line(row: &Row, width: usize) -> String {
    let mark = if row.kept { ' ' } else { '!' };
    let head = format!("{mark} {:>4}  {:<width$}  {}\n", row.number, row.result.as_str(), row.name);
    if row.kept {
        return head;
    }
    let expected = row.expected.map(|expected| format!(", expected: {}", expected.as_str()));
    let promise = format!("promise: {}{}", row.promise, expected.unwrap_or_default());
    let details = std::iter::once(&row.detail).chain(&row.outside).filter(|detail| !detail.is_empty());
    std::iter::once(&promise).chain(details).fold(head, |text, detail| {
        let short: String = plain_line(detail).chars().take(WIDTH - 8).collect();
        format!("{text}        {short}\n")
    })
}

/// Returns the last lines: how many ended in which way, and whether every promise holds.
fn summary(report: &MatrixReport) -> String {
    let counts: Vec<String> = VERDICTS
        .iter()
        .filter(|verdict| report.count(**verdict) > 0)
        .map(|verdict| format!("{} {}", report.count(*verdict), verdict.as_str()))
        .collect();
    let level = report.level.as_str();
    let total = report.rows.len();
    let verdict = match (report.level, report.broken()) {
        (SandboxLevel::None, _) => "Nothing was confined, so nothing was promised.".to_owned(),
        (_, 0) => "Every promise holds.".to_owned(),
        (_, 1) => "1 promise is broken.".to_owned(),
        (_, broken) => format!("{broken} promises are broken."),
    };
    format!("{total} attempts at level {level}:\n{}.\n{verdict}\n", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use bowline_sandbox::matrix::{Expectation, all};

    use super::*;

    fn row(attempt: &'static Attempt, kept: bool) -> Row {
        Row {
            number: attempt.number,
            group: "Files",
            promise: attempt.promise,
            name: attempt.name,
            expected: Some(Expectation::Refused),
            result: if kept { Verdict::Refused } else { Verdict::Through },
            kept,
            detail: "x".repeat(200),
            outside: Vec::new(),
        }
    }

    #[test]
    fn lines_fit_a_terminal_and_explain_only_what_is_broken() {
        let rows: Vec<Row> = all().map(|attempt| row(attempt, attempt.number != "1")).collect();
        let text = table(&MatrixReport { level: SandboxLevel::Full, rows });
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert_eq!(text.matches("expected: refused").count(), 1, "{text}");
        assert!(text.contains("\n     2  refused      "), "{text}");
    }
}
