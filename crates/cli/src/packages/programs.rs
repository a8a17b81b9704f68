//! Running npm and git: their output is shown on stderr while they run, and remembered to say why they fail.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::failure::Failure;
use crate::terminal::note;

/// How much of the output is remembered, in bytes.
const REMEMBERED: usize = 64 * 1024;

/// What a line in the output of a program means for the user.
pub(super) struct Hint {
    /// Texts of which one is in the output.
    pub signs: &'static [&'static str],
    pub means: &'static str,
}

/// A program that is run.
pub(super) struct Program<'a> {
    pub name: &'a str,
    pub arguments: Vec<String>,
    pub folder: &'a Path,
    pub variables: Vec<(&'static str, String)>,
    /// What the user is told if the program is not there.
    pub if_missing: &'static str,
    pub hints: &'a [Hint],
}

impl Program<'_> {
    /// Runs it, and shows what it says.
    pub fn run(&self) -> Result<(), Failure> {
        let mut child =
            self.command().stderr(Stdio::piped()).spawn().map_err(|error| self.cannot_start(&error))?;
        let said = Mutex::new(String::new());
        let listen = |output: Option<Box<dyn Read + Send>>| {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches('\r');
                note(line);
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() < REMEMBERED {
                    said.push_str(line);
                    said.push('\n');
                }
            }
        };
        let stdout = child.stdout.take().map(|output| Box::new(output) as Box<dyn Read + Send>);
        let stderr = child.stderr.take().map(|output| Box::new(output) as Box<dyn Read + Send>);
        thread::scope(|scope| {
            scope.spawn(|| listen(stdout));
            listen(stderr);
        });
        let status = child.wait().map_err(|error| self.cannot_start(&error))?;
        if status.success() {
            return Ok(());
        }
        let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
        let hint = self.hints.iter().find(|hint| hint.signs.iter().any(|sign| said.contains(sign)));
        let hint = hint.map(|hint| format!(": {}", hint.means)).unwrap_or_default();
        Err(Failure::Package(format!("{} failed ({status}){hint}", self.shown())))
    }

    /// Runs it silently, and returns what it says if it succeeds.
    pub fn ask(&self) -> Result<Option<String>, Failure> {
        let output =
            self.command().stderr(Stdio::null()).output().map_err(|error| self.cannot_start(&error))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Some(said).filter(|_| output.status.success()))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.name);
        command.args(&self.arguments).current_dir(self.folder).stdin(Stdio::null()).stdout(Stdio::piped());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        if !std::io::stdin().is_terminal() {
            // Nobody is there to answer.
            command.env("GIT_TERMINAL_PROMPT", "0");
        }
        command
    }

    /// Returns the program and what it was to do: arguments can have passwords.
    fn shown(&self) -> String {
        let verb = self.arguments.iter().find(|argument| !argument.starts_with('-'));
        let verb = verb.map(|verb| format!(" {verb}")).unwrap_or_default();
        format!("{}{verb}", self.name)
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::NotFound if self.folder.is_dir() => {
                Failure::Package(format!("{} is not installed: {}", self.name, self.if_missing))
            }
            _ => Failure::Package(format!("{} cannot be run: {error}", self.name)),
        }
    }
}
