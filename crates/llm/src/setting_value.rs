//! The values of keys and headers in the configuration files: a literal, a text with environment variables, or a
//! command whose output is the value.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::secret::Secret;

/// How long a command may take to print its value.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// The most bytes that are read from a command.
const LARGEST_OUTPUT: u64 = 64 * 1024;

/// A value as written in the file. It is evaluated only when a request needs it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SettingValue(String);

/// The outputs of commands, kept for the life of the process: such a command may ask the user for a fingerprint.
#[derive(Debug, Default)]
pub(crate) struct CommandCache(Mutex<HashMap<String, Secret>>);

impl SettingValue {
    /// Wraps a value as written in the file.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the first variable in the value that is not set. A command counts as set.
    pub(crate) fn missing_variable(&self, environment: &HashMap<String, String>) -> Option<String> {
        if self.command().is_some() {
            return None;
        }
        expand(&self.0, environment).err()
    }

    /// Returns whether the value is what a command prints.
    pub(crate) fn is_command(&self) -> bool {
        self.command().is_some()
    }

    /// Returns whether the value stands for itself: it is no command and names no variable.
    pub(crate) fn is_literal(&self) -> bool {
        self.command().is_none() && expand(&self.0, &HashMap::new()).is_ok()
    }

    /// Returns the value, running its command if it is one. The error is a clause for the user.
    pub(crate) async fn evaluate(
        &self,
        environment: &HashMap<String, String>,
        cache: &CommandCache,
    ) -> Result<Secret, String> {
        let Some(command) = self.command() else {
            let expanded = expand(&self.0, environment);
            return expanded.map(Secret::new).map_err(|name| format!("the variable {name} is not set"));
        };
        if let Some(known) = cache.get(command) {
            return Ok(known);
        }
        let value = run(command, environment).await?;
        cache.put(command, value.clone());
        Ok(value)
    }

    /// Returns the variables in the value. Those that a command uses are unknown.
    pub(crate) fn variables(&self) -> Vec<String> {
        let mut names = Vec::new();
        if self.command().is_none() {
            // Every variable counts as set, so nothing fails and all of them are asked for.
            let _ = expand_with(&self.0, |name| {
                names.push(name.to_owned());
                Some("")
            });
        }
        names
    }

    fn command(&self) -> Option<&str> {
        self.0.strip_prefix('!')
    }
}

impl std::fmt::Debug for SettingValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl CommandCache {
    fn get(&self, command: &str) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(command).cloned()
    }

    fn put(&self, command: &str, value: Secret) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(command.to_owned(), value);
    }
}

/// Replaces `$NAME` and `${NAME}`; `$$` stands for `$` and `$!` for `!`. A `$` before anything else is literal. The
/// error is the name of a variable that is not set.
fn expand(text: &str, environment: &HashMap<String, String>) -> Result<String, String> {
    // An empty variable counts as not set: sending it would only be refused.
    expand_with(text, |name| environment.get(name).map(String::as_str).filter(|value| !value.is_empty()))
}

/// Replaces variables by what `value_of` returns for their names.
fn expand_with<'a>(text: &str, mut value_of: impl FnMut(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(['$', '!']) {
            expanded.push_str(&rest[..1]);
            rest = after;
            continue;
        }
        let braced = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, after) = match braced {
            Some((name, after)) if name_length(name) == name.len() => (name, after),
            _ => rest.split_at(name_length(rest)),
        };
        if name.is_empty() {
            expanded.push('$');
            continue;
        }
        match value_of(name) {
            Some(value) => expanded.push_str(value),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the length in bytes of the variable name at the start of `text`.
fn name_length(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// Runs a command and returns its output, trimmed.
async fn run(command: &str, environment: &HashMap<String, String>) -> Result<Secret, String> {
    let mut shell = tokio::process::Command::new("sh");
    shell.arg("-c").arg(command).env_clear().envs(environment);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let (_running, mut child) =
        start(&mut shell).map_err(|error| format!("its command could not be started ({error})"))?;
    let stdout = child.stdout.take();
    let outcome = tokio::time::timeout(COMMAND_LIMIT, async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(LARGEST_OUTPUT).read_to_end(&mut output).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?, output))
    });
    let (status, output) = match outcome.await {
        Err(_) => return Err(format!("its command took longer than {} s", COMMAND_LIMIT.as_secs())),
        Ok(Err(error)) => return Err(format!("its command could not be read ({error})")),
        Ok(Ok(finished)) => finished,
    };
    if !status.success() {
        return Err(format!("its command failed ({status})"));
    }
    let text = String::from_utf8(output).map_err(|_| "its command did not print valid UTF-8".to_owned())?;
    match text.trim() {
        "" => Err("its command printed nothing".to_owned()),
        value => Ok(Secret::new(value)),
    }
}

/// The numbers of the processes that run a command.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A process that runs a command.
struct Running(u32);

impl Drop for Running {
    fn drop(&mut self) {
        running().retain(|process| *process != self.0);
    }
}

/// Starts a command. Until its number is known nobody can ask for it.
fn start(command: &mut tokio::process::Command) -> std::io::Result<(Running, tokio::process::Child)> {
    let mut running = running();
    let child = command.spawn()?;
    let process = child.id().unwrap_or_default();
    running.push(process);
    Ok((Running(process), child))
}

/// Returns whether this child of the process runs a command of the configuration, which this crate waits for.
pub fn runs_setting_command(process: i32) -> bool {
    u32::try_from(process).is_ok_and(|process| running().contains(&process))
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> HashMap<String, String> {
        let pairs = [("KEY", "k"), ("A_1", "a"), ("EMPTY", ""), ("PATH", "/usr/bin:/bin")];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let expanded = expand(text, &environment());
        assert_eq!(expanded.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn variables_are_expanded_and_escapes_are_not() {
        check("plain", Ok("plain"));
        check("$KEY", Ok("k"));
        check("${KEY}-$A_1.", Ok("k-a."));
        check("a$$b$!c$", Ok("a$b!c$"));
        check("$5 ${not a name}", Ok("$5 ${not a name}"));
        check("$MISSING", Err("MISSING"));
        check("${EMPTY}", Err("EMPTY"));
    }

    #[tokio::test]
    async fn command_runs_once() {
        let directory = tempfile::tempdir().unwrap();
        let counter = directory.path().join("counter");
        let command = format!("! echo x >> {}; echo ' value '", counter.display());
        let (value, cache) = (SettingValue::new(command), CommandCache::default());
        for _ in 0..2 {
            assert_eq!(value.evaluate(&environment(), &cache).await.unwrap().expose(), "value");
        }
        assert_eq!(std::fs::read_to_string(counter).unwrap(), "x\n");
        assert_eq!(value.missing_variable(&HashMap::new()), None);
    }

    #[test]
    fn commands_and_variables_are_not_literal() {
        for (text, is_literal) in
            [("sk-1", true), ("a$$b$!", true), ("!x", false), ("a$KEY", false), ("${A}", false)]
        {
            assert_eq!(SettingValue::new(text).is_literal(), is_literal, "{text}");
        }
    }

    #[tokio::test]
    async fn failing_command_is_an_error() {
        let cache = CommandCache::default();
        for command in ["!exit 3", "!true"] {
            assert!(SettingValue::new(command).evaluate(&environment(), &cache).await.is_err());
        }
    }
}
