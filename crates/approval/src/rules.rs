//! The rules of a user: which calls run, which are asked about and which are refused. The strictest rule that matches a call
//! wins, whatever the order.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::command_line::{CommandLine, PlainCommand};
use crate::path_pattern::PathPattern;

/// What a rule says. The order is that of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Then {
    Allow,
    Ask,
    Deny,
}

/// What a tool does to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Access {
    Read,
    Write,
}

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// The names of tools; none for all.
    tools: Option<Vec<String>>,
    subject: Subject,
    pub then: Then,
    /// Shown to the user or the model.
    pub why: Option<String>,
    /// Whether a command that it allows may run outside of the sandbox if it asks to.
    pub leaves_sandbox: bool,
}

/// What a rule is about.
#[derive(Debug, Clone)]
enum Subject {
    /// Every call of its tools.
    Tool,
    /// Commands that begin with these words, each with its alternatives.
    Prefix(Vec<Vec<String>>),
    Path(Box<PathPattern>),
    Host(HostPattern),
}

/// A host, or all hosts below one; on one port, or on those of the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPattern {
    name: String,
    is_wildcard: bool,
    port: Option<u16>,
}

/// A rule as it is written. What is not known is an error: a rule that says less than its author thinks is worse than none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    tool: Option<OneOrMany>,
    prefix: Option<Vec<OneOrMany>>,
    path: Option<String>,
    access: Option<Access>,
    host: Option<String>,
    then: Then,
    why: Option<String>,
    sandbox: Option<Sandbox>,
    #[serde(default)]
    r#match: Vec<String>,
    #[serde(default)]
    not_match: Vec<String>,
}

impl Written {
    /// Refuses several words in place of one, which no command would match.
    fn check_words(&self) -> Result<(), String> {
        for word in self.prefix.iter().flatten().flat_map(OneOrMany::as_slice) {
            let words: Vec<_> = word.split_whitespace().collect();
            if words.len() > 1 || words.first().is_some_and(|first| first != word) {
                return Err(format!(
                    "\"prefix\" has {word:?}, and each word of a command is a text of its own: write {}",
                    serde_json::json!(words)
                ));
            }
        }
        Ok(())
    }
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'path> {
    /// The user wrote it. `~` stands for this folder.
    Settings { home: Option<&'path Path> },
    /// It was suggested, and the user agreed. It has the words of a command as they were.
    Remembered,
}

impl<'path> Source<'path> {
    fn home(self) -> Option<&'path Path> {
        match self {
            Self::Settings { home } => home,
            Self::Remembered => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sandbox {
    Off,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }

    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Stands for every tool.
const EVERY_TOOL: &str = "*";

/// The tool that runs commands.
pub(crate) const BASH: &str = "bash";

/// The longest list of rules, of words and of examples. None that a person writes is as long.
const MOST: usize = 10_000;

/// The outcomes, and all members of a rule, for errors.
const THEN: &str = "\"allow\", \"ask\" or \"deny\"";
const KEYS: &str = "tool, prefix, path, access, host, then, why, sandbox, match and notMatch";

/// What every path in an example starts from.
const EXAMPLE_FOLDER: &str = "/example-of-a-project";

impl Rule {
    /// Reads a rule and tries its examples. The error says what is wrong with it.
    pub fn parse(value: &Value, source: Source<'_>) -> Result<Self, String> {
        check_shape(value)?;
        let home = source.home();
        let written: Written = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        if matches!(source, Source::Settings { .. }) {
            written.check_words()?;
        }
        let examples = (written.r#match.clone(), written.not_match.clone());
        let rule = Self::new(written, home)?;
        rule.try_examples(&examples.0, &examples.1, home)?;
        Ok(rule)
    }

    fn new(written: Written, home: Option<&Path>) -> Result<Self, String> {
        let Written { tool, prefix, path, access, host, then, why, sandbox, r#match, not_match } = written;
        if access.is_some() && path.is_none() {
            return Err("\"access\" needs a \"path\"".to_owned());
        }
        let leaves_sandbox = sandbox.is_some();
        if leaves_sandbox && (prefix.is_none() || then != Then::Allow) {
            return Err("\"sandbox\": \"off\" needs a \"prefix\" and \"then\": \"allow\"".to_owned());
        }
        let has_tool = tool.is_some();
        let mut tools = tool.map(OneOrMany::into_vec);
        if tools
            .as_ref()
            .is_some_and(|tools| tools.is_empty() || tools.len() > MOST || tools.iter().any(String::is_empty))
        {
            return Err("\"tool\" must be a name, a list of names, or \"*\"".to_owned());
        }
        for tool in tools.iter().flatten() {
            let lower = tool.to_ascii_lowercase();
            if *tool != lower && bowline_tools::traits_of(&lower).is_some() {
                return Err(format!("\"tool\" {tool:?} is no tool: write {lower:?}"));
            }
        }
        let subject = match (prefix, path, host) {
            (Some(prefix), None, None) => {
                if tools.as_ref().is_some_and(|tools| tools.iter().any(|tool| tool != BASH)) {
                    return Err(format!("\"prefix\" is about commands, so \"tool\" must be \"{BASH}\""));
                }
                tools = Some(vec![BASH.to_owned()]);
                Subject::Prefix(words(prefix)?)
            }
            (None, Some(path), None) => Subject::Path(Box::new(PathPattern::new(&path, access, home)?)),
            (None, None, Some(host)) if has_tool => {
                return Err(format!(
                    "\"host\" {host:?} cannot have a \"tool\": the network does not know tools"
                ));
            }
            (None, None, Some(host)) => Subject::Host(HostPattern::new(&host)?),
            (None, None, None) if has_tool => Subject::Tool,
            (None, None, None) => {
                return Err("it needs a \"tool\", a \"prefix\", a \"path\" or a \"host\"".to_owned());
            }
            _ => return Err("it can have only one of \"prefix\", \"path\" and \"host\"".to_owned()),
        };
        if matches!(subject, Subject::Tool) && !(r#match.is_empty() && not_match.is_empty()) {
            return Err("\"match\" and \"notMatch\" need a \"prefix\", a \"path\" or a \"host\"".to_owned());
        }
        if tools.as_ref().is_some_and(|tools| tools.iter().any(|tool| tool == EVERY_TOOL)) {
            tools = None;
        }
        Ok(Self { tools, subject, then, why, leaves_sandbox })
    }

    fn try_examples(&self, matching: &[String], other: &[String], home: Option<&Path>) -> Result<(), String> {
        if matching.len() > MOST || other.len() > MOST {
            return Err(format!("it has more than {MOST} examples"));
        }
        for (examples, expected, key) in [(matching, true, "match"), (other, false, "notMatch")] {
            for example in examples {
                if self.matches_example(example, home)? != expected {
                    let does = if expected { "does not match" } else { "matches" };
                    return Err(format!("the example {example:?} in \"{key}\" fails: the rule {does} it"));
                }
            }
        }
        Ok(())
    }

    fn matches_example(&self, example: &str, home: Option<&Path>) -> Result<bool, String> {
        Ok(match &self.subject {
            Subject::Tool => false,
            Subject::Prefix(_) => {
                let line = CommandLine::new(example);
                match self.then {
                    Then::Allow => line
                        .plain()
                        .is_some_and(|commands| commands.iter().all(|command| self.covers(command))),
                    Then::Ask | Then::Deny => self.might_match(&line),
                }
            }
            Subject::Path(pattern) => {
                let folder = Path::new(EXAMPLE_FOLDER);
                pattern.is_like(&folder.join(expanded(example, home)), folder)
            }
            Subject::Host(pattern) => {
                let (host, port) = split_port(example)?;
                pattern.matches(&host.to_ascii_lowercase(), port.unwrap_or(443))
            }
        })
    }

    /// Tells whether the rule is about every call of a tool.
    pub fn is_about_tool(&self, tool: &str) -> bool {
        matches!(self.subject, Subject::Tool) && self.has_tool(tool)
    }

    /// Tells whether the rule is about commands.
    pub fn is_about_commands(&self) -> bool {
        matches!(self.subject, Subject::Prefix(_))
    }

    /// Tells whether the rule is about commands and matches this one, every word of which is what it looks like.
    pub fn covers(&self, command: &PlainCommand<'_>) -> bool {
        let Subject::Prefix(words) = &self.subject else { return false };
        command.begins(words.len(), |place, word| words[place].iter().any(|wanted| wanted == word))
            && !command.exceeds(words.len())
    }

    /// Tells whether the rule is about commands and something in this text might be one of them.
    pub fn might_match(&self, line: &CommandLine) -> bool {
        let Subject::Prefix(wanted) = &self.subject else { return false };
        line.might_run(|words| {
            words.len() >= wanted.len()
                && wanted.iter().zip(words).all(|(wanted, word)| wanted.iter().any(|wanted| wanted == word))
        })
    }

    /// Returns the pattern, if the rule is about what a tool does to a path.
    pub fn path_pattern(&self, tool: &str, accesses: &[Access]) -> Option<&PathPattern> {
        let Subject::Path(pattern) = &self.subject else { return None };
        let has_access = pattern.access.is_none_or(|access| accesses.contains(&access));
        (has_access && self.has_tool(tool)).then_some(pattern)
    }

    /// Returns the pattern and what it forbids, if the rule forbids something about a path. No tool may do it then: the
    /// kernel does not know tools.
    pub fn forbidden_path(&self) -> Option<(&PathPattern, Access)> {
        let Subject::Path(pattern) = &self.subject else { return None };
        let only_writes = || {
            let tools = self.tools.as_ref();
            tools.is_some_and(|tools| tools.iter().all(|tool| tool == "write" || tool == "edit"))
        };
        let access =
            pattern.access.unwrap_or_else(|| if only_writes() { Access::Write } else { Access::Read });
        (self.then == Then::Deny).then_some((pattern, access))
    }

    /// Tells whether the rule is about a host.
    pub fn matches_host(&self, host: &str, port: u16) -> bool {
        matches!(&self.subject, Subject::Host(pattern) if pattern.matches(host, port))
    }

    fn has_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }
}

fn words(prefix: Vec<OneOrMany>) -> Result<Vec<Vec<String>>, String> {
    let words: Vec<_> = prefix.into_iter().map(OneOrMany::into_vec).collect();
    let is_good = |alternatives: &Vec<String>| {
        !alternatives.is_empty() && alternatives.len() <= MOST && !alternatives.iter().any(String::is_empty)
    };
    if words.is_empty() || words.len() > MOST || !words.iter().all(is_good) {
        return Err(
            "\"prefix\" must be a list of words, or of lists of alternatives, none of them empty".to_owned()
        );
    }
    Ok(words)
}

impl HostPattern {
    fn new(text: &str) -> Result<Self, String> {
        let (host, port) = split_port(text)?;
        let (is_wildcard, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_good = |character: char| character.is_ascii_alphanumeric() || "-._:[]".contains(character);
        if name.is_empty()
            || name.starts_with('.')
            || !name.chars().all(is_good)
            || (is_wildcard && !name.contains('.'))
        {
            return Err(format!(
                "\"host\" {text:?} must be a host, \"*.\" and a domain, or either with a port; other names are written in punycode"
            ));
        }
        Ok(Self { name, is_wildcard, port })
    }

    /// Tells whether a host, in lower case, is meant.
    fn matches(&self, host: &str, port: u16) -> bool {
        let has_port = self.port.map_or(port == 443 || port == 80, |wanted| wanted == port);
        let has_name = match self.is_wildcard {
            true => host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => host == self.name,
        };
        has_port && has_name
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            let port = port.parse().ok().filter(|port| *port > 0);
            port.map(|port| (host, Some(port))).ok_or_else(|| format!("{text:?} has no valid port"))
        }
        _ => Ok((text, None)),
    }
}

/// Returns a path with the home folder in place of `~`.
fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => path.into(),
    }
}

/// Checks that the members of a rule are known and of the right kind. The error begins with the member.
fn check_shape(value: &Value) -> Result<(), String> {
    let Value::Object(members) = value else { return Err(format!(" must be an object, not {value}")) };
    if !members.contains_key("then") {
        return Err(format!(".then is missing; it must be {THEN}"));
    }
    for (key, value) in members {
        let is_list = |item: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(item));
        let is_names = |value: &Value| {
            value.is_string() || value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
        };
        let is_one_of = |words: &[&str]| value.as_str().is_some_and(|value| words.contains(&value));
        let (is_right, expected) = match key.as_str() {
            "tool" => (is_names(value), "a name or a list of names"),
            "prefix" => (is_list(is_names), "a list of words, or of lists of alternatives"),
            "path" | "host" | "why" => (value.is_string(), "a text"),
            "access" => (is_one_of(&["read", "write"]), "\"read\" or \"write\""),
            "then" => (is_one_of(&["allow", "ask", "deny"]), THEN),
            "sandbox" => (is_one_of(&["off"]), "\"off\""),
            "match" | "notMatch" => (is_list(Value::is_string), "a list of texts"),
            _ => return Err(format!(".{key} is not known; there are {KEYS}")),
        };
        // What is absent may be null, but for the outcome.
        if !is_right && (key == "then" || !value.is_null()) {
            return Err(format!(".{key} must be {expected}, not {value}"));
        }
    }
    Ok(())
}

/// Returns what is wrong with a rule after the name of the rule: of a member, or of the whole.
pub(crate) fn located(problem: &str) -> String {
    match problem.starts_with(['.', ' ']) {
        true => problem.to_owned(),
        false => format!(": {problem}"),
    }
}

/// Reads a list of rules.
pub(crate) fn parse_all(values: &[Value], source: Source<'_>) -> Result<Vec<Rule>, (usize, String)> {
    if values.len() > MOST {
        return Err((MOST, format!("there are more than {MOST} rules")));
    }
    let rules = values.iter().enumerate();
    rules.map(|(index, value)| Rule::parse(value, source).map_err(|problem| (index, problem))).collect()
}

/// Paths, for whatever enforces them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForbiddenPaths {
    /// Files and folders that no tool may read, nor write.
    pub read: Vec<PathBuf>,
    /// Files and folders that no tool may write.
    pub write: Vec<PathBuf>,
    /// Folders that rules forbid something in, and that have too many files to look at all of them.
    pub unsearched: Vec<Unsearched>,
}

/// A folder in which not every file that a rule forbids was found. To allow what was not found would be to drop the rule, so
/// the whole folder is among the paths that the rule forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsearched {
    /// The pattern of the rule.
    pub pattern: String,
    pub folder: PathBuf,
    /// The limit that was reached, after "it has".
    pub limit: String,
}
