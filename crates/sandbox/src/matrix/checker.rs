//! Tries the whole matrix, and looks at the victims before and after each attempt.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_core::sandbox::{SandboxLevel, SandboxNetwork};

use super::attempt::{Attempt, Expectation};
use super::attempts::{GROUPS, all};
use super::fixture::{Fixture, KEY, KEY_VARIABLE};
use super::inside::{ATTEMPT_ROLE, READY, RESULT, Said, THEN};
use super::observation::differences;
use super::proxy;
use super::report::{MatrixReport, Row};
use super::runner::{Opener, Place, Ran, Runner, quoted};

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is to be checked.
#[derive(Debug, Clone)]
pub struct Check<'check> {
    /// The program that tries the attempts: this one.
    pub program: &'check Path,
    /// A folder that is neither private nor masked in a sandbox; the fixture is made in it and removed.
    pub place: &'check Path,
    /// The machine's folder for temporary files.
    pub temporary: &'check Path,
    pub level: SandboxLevel,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum Unchecked {
    #[error("the fixture in {place} cannot be made: {error}")]
    Fixture { place: PathBuf, error: io::Error },
    #[error("no sandbox is available: {0}")]
    NoSandbox(String),
    #[error("the program {program} cannot be started inside: {why}")]
    Program { program: PathBuf, why: String },
}

/// Tries every attempt and returns what came of it. `progress` is told how many are done, of how many, and the next one.
pub async fn run(
    check: Check<'_>,
    opener: &dyn Opener,
    progress: &mut (dyn FnMut(usize, usize, &Attempt) + Send),
) -> Result<MatrixReport, Unchecked> {
    let in_fixture = |error| Unchecked::Fixture { place: check.place.to_owned(), error };
    let mut fixture = Fixture::make(check.place, check.temporary).map_err(in_fixture)?;
    let plain = opener.open(place(&fixture, SandboxNetwork::None)).await.map_err(Unchecked::NoSandbox)?;
    let proxied = match check.level {
        SandboxLevel::Full => {
            let place = place(&fixture, SandboxNetwork::AllowList);
            Some(opener.open(place).await.map_err(Unchecked::NoSandbox)?)
        }
        _ => None,
    };
    let program = reachable_program(check.program, &fixture, &*plain).await?;
    let total = all().count();
    let mut rows = Vec::with_capacity(total);
    for group in GROUPS {
        for attempt in group.attempts {
            progress(rows.len(), total, attempt);
            let runner = if attempt.proxied { proxied.as_deref() } else { Some(&*plain) };
            let row = match runner {
                Some(runner) if attempt.expectation(check.level) != Some(Expectation::Absent) => {
                    fixture.repair().map_err(in_fixture)?;
                    let (said, outside) = tried(attempt, runner, &program, &mut fixture).await;
                    Row::new(group.title, attempt, check.level, said, outside)
                }
                _ => {
                    let said = Said::Absent("this level has no proxy".to_owned());
                    Row::new(group.title, attempt, check.level, said, Vec::new())
                }
            };
            rows.push(row);
        }
    }
    Ok(MatrixReport { level: check.level, rows })
}

fn place(fixture: &Fixture, network: SandboxNetwork) -> Place {
    let hosts = match network {
        SandboxNetwork::AllowList => vec![proxy::LISTED.to_owned(), format!("localhost:{}", fixture.port())],
        _ => Vec::new(),
    };
    Place {
        workspace: fixture.workspace(),
        home: fixture.home(),
        state: fixture.state(),
        environment: vec![(KEY_VARIABLE.to_owned(), KEY.to_owned())],
        network,
        hosts,
    }
}

/// Returns the program by a path that can be started inside. One that a sandbox masks is copied beside the fixture.
async fn reachable_program(
    program: &Path,
    fixture: &Fixture,
    runner: &dyn Runner,
) -> Result<PathBuf, Unchecked> {
    let mut why = match ask(READY, "", program, fixture, runner).await {
        Said::Through => return Ok(program.to_owned()),
        Said::Refused(why) | Said::Absent(why) | Said::Failed(why) => why,
    };
    let copy = fixture.root.join("program");
    if let Err(error) = std::fs::copy(program, &copy) {
        why = format!("{why}; copying it: {error}");
    } else if ask(READY, "", &copy, fixture, runner).await == Said::Through {
        return Ok(copy);
    }
    Err(Unchecked::Program { program: program.to_owned(), why })
}

/// Tries one attempt. Returns what it says, and what has changed outside.
async fn tried(
    attempt: &Attempt,
    runner: &dyn Runner,
    program: &Path,
    fixture: &mut Fixture,
) -> (Said, Vec<String>) {
    fixture.listeners.reached();
    let before = fixture.observe(attempt);
    let mut said = ask(attempt.number, attempt.shell, program, fixture, runner).await;
    if attempt.then.is_some() && !matches!(said, Said::Failed(_)) {
        said = ask(&format!("{}{THEN}", attempt.number), "", program, fixture, runner).await;
    }
    let mut outside = differences(&before, &fixture.observe(attempt));
    outside.extend(fixture.listeners.reached());
    if !outside.is_empty() {
        fixture.clean_workspace();
    }
    (said, outside)
}

/// Runs the program inside in its role and returns what it says.
async fn ask(number: &str, shell: &str, program: &Path, fixture: &Fixture, runner: &dyn Runner) -> Said {
    let command = format!("{shell}{} {ATTEMPT_ROLE} {number} {}", quoted(program), quoted(&fixture.root));
    match tokio::time::timeout(PATIENCE, runner.run(command)).await {
        Ok(Ok(ran)) => said_in(&ran),
        Ok(Err(why)) => Said::Failed(why),
        Err(_) => Said::Failed(format!("it did not end in {} s", PATIENCE.as_secs())),
    }
}

fn said_in(ran: &Ran) -> Said {
    let line = ran.output.lines().find_map(|line| line.trim().strip_prefix(RESULT));
    let said = line.and_then(|json| serde_json::from_str(json).ok());
    said.unwrap_or_else(|| {
        let last = ran.output.lines().last().unwrap_or("nothing").trim();
        match ran.exit_code {
            // 128 and the number of the signal, as the shell reports it.
            None | Some(159) => Said::Refused("killed by a signal".to_owned()),
            Some(code) => Said::Failed(format!("exit code {code}: {last}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(output: &str, exit_code: Option<i32>) -> Said {
        said_in(&Ran { output: output.to_owned(), exit_code })
    }

    #[test]
    fn result_is_found_between_other_lines() {
        let line = format!("warning\n{RESULT}{{\"result\":\"refused\",\"text\":\"no\"}}\n\nhint\n");
        assert_eq!(ran(&line, Some(0)), Said::Refused("no".to_owned()));
        assert_eq!(ran(&format!("{RESULT}{{\"result\":\"through\"}}"), Some(0)), Said::Through);
    }

    #[test]
    fn program_that_did_not_report_has_proved_nothing_unless_it_was_killed() {
        assert_eq!(
            ran("bash: bowline: not found", Some(127)),
            Said::Failed("exit code 127: bash: bowline: not found".to_owned())
        );
        assert_eq!(ran("", None), Said::Refused("killed by a signal".to_owned()));
    }
}
