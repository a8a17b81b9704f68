//! What the host of extension processes is told by the command line.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::hook::HookKind;
use bowline_extension::Resources;
use bowline_tools::Options;
use serde_json::Value;

use crate::mcp::McpOptions;
use crate::process::discovery::Places;
use crate::protocol::{FlagRegistration, FlagType};

/// How long prompts wait for extensions to register, by default.
pub const DEFAULT_START_LIMIT: Duration = Duration::from_secs(5);

/// Returns a variable of the environment by its name.
pub type VariableSource = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the host of extension processes needs to know.
pub struct Plan {
    pub places: Places,
    /// Knows which projects are trusted.
    pub resources: Resources,
    /// The options of the toolbox: what processes get of the environment.
    pub options: Arc<Options>,
    /// The version of bowline.
    pub version: &'static str,
    /// How bowline runs, as extensions are told.
    pub mode: &'static str,
    /// The client's protocol.
    pub dialect: &'static str,
    /// Whether the client can be asked and shown anything.
    pub has_ui: bool,
    /// How long prompts wait for extensions to register.
    pub start_limit: Duration,
    /// How long an extension may take in a hook, if less or more than usual.
    pub hook_limit: Option<Duration>,
    /// The flags of the command line that bowline does not know.
    pub flags: Vec<GivenFlag>,
    /// Returns a variable of the environment.
    pub variable: VariableSource,
    /// What the MCP servers of extensions are started with; they are not if absent.
    pub mcp: Option<Arc<McpOptions>>,
    /// Returns the user's settings.
    pub settings: Box<dyn Fn() -> Value + Send + Sync>,
    /// What the process that pi's extensions share is made from.
    pub pi_host: PiHosting,
    /// Takes a line for the user: a problem that is not of the session.
    pub report: Box<dyn Fn(&str) + Send + Sync>,
    /// Whether the process ends if it has a flag that no extension knows and that it must not run without.
    pub gives_up: bool,
    /// Takes a line of an extension's log.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
    /// Takes every line that is exchanged with an extension, whose short name comes first.
    pub trace: Option<Trace>,
}

/// What the process that pi's extensions share is made from.
#[derive(Debug, Clone, Default)]
pub struct PiHosting {
    /// The program that runs it, Node or Bun; looked up in `PATH` if absent.
    pub runtime: Option<String>,
    /// The folder that its files are written to.
    pub cache: PathBuf,
    /// bowline, which extensions start as `pi`.
    pub program: Option<PathBuf>,
    /// The variables that it gets although they look like keys; `*` stands for all.
    pub variables: Vec<String>,
}

/// Takes a line that is exchanged with an extension.
pub type Trace = Box<dyn Fn(&str, Direction, &str) + Send + Sync>;

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToExtension,
    FromExtension,
}

impl fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Plan").field("places", &self.places).finish_non_exhaustive()
    }
}

impl Plan {
    /// Returns how long an extension may take in a hook. The short limits of hooks at the start and the end stay.
    pub(crate) fn limit(&self, hook: HookKind) -> Duration {
        let usual = hook.limit();
        match self.hook_limit {
            Some(limit) if usual == HookKind::ToolCall.limit() => limit,
            Some(limit) => limit.min(usual),
            None => usual,
        }
    }
}

/// A flag of the command line that bowline does not know: an extension may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFlag {
    /// Without the dashes.
    pub name: String,
    /// What follows `=`.
    pub attached: Option<String>,
    /// The next word, if it does not start with a dash.
    pub next_word: Option<String>,
    pub if_unknown: IfUnknown,
}

/// What happens if no extension knows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfUnknown {
    /// Nothing: the command line is right without.
    Ignored,
    /// It is reported.
    Reported,
    /// It is reported and the process ends: without an extension, the agent does more than its user allowed.
    Fatal,
}

impl GivenFlag {
    /// Returns the value that the flag has for an extension that knows it, or what is wrong with it.
    pub fn value(&self, flag: &FlagRegistration) -> Result<Value, String> {
        let Self { name, attached, next_word, .. } = self;
        match (flag.r#type, attached.as_deref().or(next_word.as_deref())) {
            (FlagType::Boolean, _) => match attached.as_deref() {
                None | Some("true") => Ok(true.into()),
                Some("false") => Ok(false.into()),
                Some(_) => Err(format!("--{name} is either given or not; it has no value")),
            },
            (FlagType::String, Some(value)) => Ok(value.into()),
            (FlagType::String, None) => Err(format!("--{name} needs a value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: FlagType, attached: Option<&str>, next: Option<&str>, expected: Result<Value, &str>) {
        let given = GivenFlag {
            name: "f".to_owned(),
            attached: attached.map(ToOwned::to_owned),
            next_word: next.map(ToOwned::to_owned),
            if_unknown: IfUnknown::Reported,
        };
        let flag = FlagRegistration { name: "f".to_owned(), r#type: kind, description: None, default: None };
        assert_eq!(given.value(&flag), expected.map_err(ToOwned::to_owned));
    }

    #[test]
    fn value_depends_on_what_the_extension_says_of_the_flag() {
        check(FlagType::Boolean, None, Some("word"), Ok(true.into()));
        check(FlagType::Boolean, Some("false"), None, Ok(false.into()));
        check(FlagType::Boolean, Some("x"), None, Err("--f is either given or not; it has no value"));
        check(FlagType::String, None, Some("word"), Ok("word".into()));
        check(FlagType::String, Some("a=b"), Some("word"), Ok("a=b".into()));
        check(FlagType::String, None, None, Err("--f needs a value"));
    }
}
