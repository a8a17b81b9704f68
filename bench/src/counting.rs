//! The instructions that a process executes, counted by valgrind.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;

/// Returns whether valgrind is installed.
pub(crate) fn is_possible() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// An agent under valgrind.
pub(crate) struct Counted {
    pub(crate) agent: Pipe,
    log: PathBuf,
}

impl Counted {
    /// Starts the agent. The home keeps valgrind's report.
    pub(crate) fn start(subject: &Subject, home: &Home, model: &str) -> Result<Self, Failure> {
        let log = home.folder().join("valgrind.log");
        let log_option = format!("--log-file={}", log.display());
        let program = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", &log_option];
        let agent = Pipe::start(&mut subject.command_under(&program, home, model))?;
        Ok(Self { agent, log })
    }

    /// Ends the agent and returns how many instructions it has executed.
    pub(crate) fn finish(self) -> Result<f64, Failure> {
        self.agent.finish()?;
        let log = fs::read_to_string(&self.log).map_err(Failure::while_doing("reading valgrind's report"))?;
        collected(&log).ok_or_else(|| Failure::new(format!("valgrind reports no count:\n{log}")))
    }
}

/// Finds the total in callgrind's report.
fn collected(log: &str) -> Option<f64> {
    let line = log.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_found_in_the_report() {
        let log = "==7== Events    : Ir\n==7== Collected : 12345678\n==7== \n";
        assert_eq!(collected(log), Some(12_345_678.0));
        assert_eq!(collected("==7== \n"), None);
    }
}
