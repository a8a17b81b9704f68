//! `bowline doctor`: looks at everything that bowline needs, with the code that a start uses, and says what is fine, what is
//! not, and what to do about it. A check is a function and a row of [`CHECKS`].

mod checks;
mod facts;
mod finding;
mod probe;
mod report;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_dialect::Entry;
use bowline_tools::BoxFuture;

use crate::arguments::Arguments;
use crate::blocking::block_on;
use crate::failure::Failure;
use crate::terminal::{note, show_progress};
use facts::Facts;
use finding::{Finding, State};

pub(crate) const USAGE: &str = "\
bowline doctor                   check the installation, the settings and this folder, and say what to do
bowline doctor --online          also ask providers, model servers on this machine and MCP servers

It changes no file of yours, uses no network without --online, and runs nothing of a
project that is not trusted; your own extensions are started and ended. The exit
code is 1 if something is broken. --json prints one JSON object per finding.
";

/// How long a check may take. What it needs has shorter limits of its own; this is for a file system that does not answer.
const LONGEST: Duration = Duration::from_secs(20);

/// The same for a check that asks other machines.
const LONGEST_ONLINE: Duration = Duration::from_mins(1);

/// Something that is looked at.
struct Check {
    name: &'static str,
    run: Run,
}

/// How a check is made.
enum Run {
    /// It reads files.
    Reading(fn(&Facts) -> Vec<Finding>),
    /// It waits for processes or for other machines.
    Waiting(for<'a> fn(&'a Facts) -> BoxFuture<'a, Vec<Finding>>),
}

const fn reading(name: &'static str, run: fn(&Facts) -> Vec<Finding>) -> Check {
    Check { name, run: Run::Reading(run) }
}

const fn waiting(name: &'static str, run: for<'a> fn(&'a Facts) -> BoxFuture<'a, Vec<Finding>>) -> Check {
    Check { name, run: Run::Waiting(run) }
}

/// Every check, in the order of the report.
const CHECKS: &[Check] = &[
    reading("program", checks::program::check),
    reading("settings", checks::settings::check),
    waiting("credentials", checks::credentials::check),
    waiting("models", checks::models::check),
    reading("trust", checks::trust::check),
    waiting("sandbox", checks::sandbox::check),
    reading("sessions", checks::sessions::check),
    waiting("extensions", checks::extensions::check),
    reading("packages", checks::packages::check),
    waiting("mcp", checks::mcp::check),
    waiting("node", checks::node::check),
    waiting("git", checks::git::check),
    waiting("shell", checks::shell::check),
    reading("terminal", checks::terminal::check),
];

/// Makes every check. The exit code is 1 if something is broken.
pub(crate) fn main(arguments: &Arguments, entry: &'static Entry) -> Result<ExitCode, Failure> {
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    let facts = Arc::new(Facts::read(arguments, entry)?);
    let findings = block_on(async {
        let mut findings = Vec::new();
        for check in CHECKS {
            show_progress(Some(&format!("checking {}…", check.name)));
            findings.extend(check.make(&facts).await.into_iter().map(|finding| (check.name, finding)));
        }
        show_progress(None);
        findings
    })?;
    report::show(&facts, &findings)?;
    let is_broken = findings.iter().any(|(_, finding)| finding.state == State::Broken);
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Check {
    async fn make(&self, facts: &Arc<Facts>) -> Vec<Finding> {
        let limit = if facts.arguments.online { LONGEST_ONLINE } else { LONGEST };
        let work = async {
            match self.run {
                Run::Waiting(run) => run(facts).await,
                Run::Reading(run) => {
                    let facts = Arc::clone(facts);
                    tokio::task::spawn_blocking(move || run(&facts)).await.unwrap_or_else(|error| {
                        vec![
                            Finding::broken(format!("this check has failed: {error}"))
                                .because("This is a mistake in bowline."),
                        ]
                    })
                }
            }
        };
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            vec![
                Finding::broken(format!(
                    "this check took longer than {} s and was given up",
                    limit.as_secs()
                ))
                .because("A folder, a program or a machine that it asks does not answer."),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_lists_the_checks() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/troubleshooting.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("## bowline doctor").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let listed: Vec<_> = rows.map(|(name, _)| name).collect();
        assert_eq!(listed, CHECKS.iter().map(|check| check.name).collect::<Vec<_>>());
    }
}
