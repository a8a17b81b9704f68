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

/// The variables that make git work on another repository than the one it is told to: git sets them for hooks and other
/// programs that it runs, and npm runs git, too. git itself names them with `git rev-parse --local-env-vars`. Of those,
/// GIT_CONFIG_COUNT is kept: it stands for no repository, and users set it for addresses and credentials.
const OF_OTHER_REPOSITORIES: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

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
        for name in OF_OTHER_REPOSITORIES {
            command.env_remove(name);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_that_leads_git_to_another_repository_is_removed() {
        let output = Command::new("git").args(["rev-parse", "--local-env-vars"]).output().unwrap();
        let named = String::from_utf8(output.stdout).unwrap();
        let left: Vec<_> = named.lines().filter(|name| !OF_OTHER_REPOSITORIES.contains(name)).collect();
        assert_eq!(left, ["GIT_CONFIG_COUNT"]);
    }
}
