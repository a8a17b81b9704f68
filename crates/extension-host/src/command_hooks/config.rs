//! The hooks of a user or a project, in Claude Code's format:
//! `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…", "timeout": 60}]}]}`.
//!
//! A mistake costs a warning and the hook that it is in; the others work.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::condition::Condition;
use super::event::{HookEventName, OTHER_EVENTS};
use super::matcher::Matcher;

/// How long a command may take if the settings do not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time limit.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// How many commands an event may have: they run at the same time.
const MOST_COMMANDS: usize = 100;

/// How many mistakes are reported.
const MOST_WARNINGS: usize = 30;

/// The key of `hooks` that is a setting and no event.
pub const IMPORT_KEY: &str = "importClaude";

/// The hooks of a session, in the order of their sources.
#[derive(Debug, Clone, Default)]
pub(super) struct HookConfig {
    groups: Vec<Group>,
    pub warnings: Vec<ConfigWarning>,
}

/// Hooks with the same matcher.
#[derive(Debug, Clone)]
struct Group {
    event: HookEventName,
    matcher: Matcher,
    commands: Vec<Arc<HookCommand>>,
}

/// A command that an event runs.
#[derive(Debug, Clone)]
pub(super) struct HookCommand {
    /// What the shell runs.
    pub command: String,
    pub timeout: Duration,
    /// Whether nobody waits for it.
    pub is_background: bool,
    /// Whether its failure prevents what it was asked about.
    pub blocks_on_failure: bool,
    pub condition: Option<Condition>,
}

/// A mistake in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigWarning {
    /// The event that it is about.
    pub event: String,
    pub text: String,
}

impl HookConfig {
    /// Adds the hooks of a source; `value` is its `hooks`.
    pub fn add(&mut self, source: &str, value: &Value) {
        let Value::Object(events) = value else {
            let text = format!("hooks must be an object, not {}", described(value));
            return self.warn("", source, &text);
        };
        for (name, groups) in events.iter().filter(|(name, value)| *name != IMPORT_KEY && !value.is_null()) {
            match HookEventName::parse(name) {
                Some(event) => self.add_groups(source, event, groups),
                None if OTHER_EVENTS.contains(&name.as_str()) => {
                    self.warn(name, source, "this event does not exist in bowline: its hooks never run");
                }
                None => {
                    let known: Vec<_> = HookEventName::ALL.iter().map(|event| event.as_str()).collect();
                    let text = format!("there is no such event; events are {}", known.join(", "));
                    self.warn(name, source, &text);
                }
            }
        }
    }

    /// Tells whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Tells whether an event has hooks for something with one of these names.
    pub fn has(&self, event: HookEventName, names: &[&str]) -> bool {
        self.matching(event, names).next().is_some()
    }

    /// Tells whether an event has hooks.
    pub fn has_any(&self, event: HookEventName) -> bool {
        self.groups.iter().any(|group| group.event == event)
    }

    /// Returns the commands of an event for something with one of these names, of those that apply. Each is returned once.
    pub fn commands(
        &self,
        event: HookEventName,
        names: &[&str],
        applies: impl Fn(&HookCommand) -> bool,
    ) -> Vec<Arc<HookCommand>> {
        let mut commands: Vec<Arc<HookCommand>> = Vec::new();
        for command in self.matching(event, names).flat_map(|group| &group.commands) {
            if applies(command) && !commands.iter().any(|other| other.command == command.command) {
                commands.push(Arc::clone(command));
            }
        }
        commands
    }

    fn matching(&self, event: HookEventName, names: &[&str]) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.event == event && group.matcher.matches(names))
    }

    fn add_groups(&mut self, source: &str, event: HookEventName, value: &Value) {
        let Value::Array(groups) = value else {
            let text = format!("this must be a list, not {}", described(value));
            return self.warn(event.as_str(), source, &text);
        };
        for (index, group) in groups.iter().enumerate() {
            let place = format!("[{index}]");
            let Value::Object(group) = group else {
                let text = format!("{place} must be an object, not {}", described(group));
                self.warn(event.as_str(), source, &text);
                continue;
            };
            self.add_group(source, event, &place, group);
        }
    }

    fn add_group(&mut self, source: &str, event: HookEventName, place: &str, group: &Map<String, Value>) {
        let warn = |config: &mut Self, text: String| config.warn(event.as_str(), source, &text);
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => Ok(Matcher::All),
            Some(_) if !event.has_matchers() => Ok(Matcher::All),
            Some(Value::String(text)) => Matcher::parse(text)
                .map_err(|error| format!("{place}.matcher \"{text}\" is not a regular expression: {error}")),
            Some(other) => Err(format!("{place}.matcher must be a text, not {}", described(other))),
        };
        let matcher = match matcher {
            Ok(matcher) => matcher,
            Err(text) => return warn(self, format!("{text}; its hooks never run")),
        };
        let Some(Value::Array(hooks)) = group.get("hooks") else {
            return warn(self, format!("{place}.hooks must be a list of hooks"));
        };
        for key in group.keys().filter(|key| !["matcher", "hooks", "description"].contains(&key.as_str())) {
            warn(self, format!("{place}.{key} is not known and is ignored"));
        }
        let mut room = MOST_COMMANDS - self.count(event);
        let mut commands = Vec::new();
        for (index, hook) in hooks.iter().enumerate() {
            let place = format!("{place}.hooks[{index}]");
            let mut notes = Vec::new();
            let command = HookCommand::parse(hook, &mut notes);
            for text in notes {
                warn(self, format!("{place}{text}"));
            }
            match command {
                Ok(_) if room == 0 => {
                    warn(self, format!("{place} never runs: an event has at most {MOST_COMMANDS} commands"));
                }
                Ok(command) => {
                    room -= 1;
                    commands.push(Arc::new(command));
                }
                Err(text) => warn(self, format!("{place}{text}; it never runs")),
            }
        }
        if !commands.is_empty() {
            self.groups.push(Group { event, matcher, commands });
        }
    }

    fn count(&self, event: HookEventName) -> usize {
        let groups = self.groups.iter().filter(|group| group.event == event);
        groups.map(|group| group.commands.len()).sum()
    }

    /// Adds a warning about a source.
    pub fn warn(&mut self, event: &str, source: &str, text: &str) {
        if self.warnings.len() == MOST_WARNINGS {
            "there are more mistakes".clone_into(&mut self.warnings[MOST_WARNINGS - 1].text);
            return;
        }
        self.warnings.push(ConfigWarning { event: event.to_owned(), text: format!("{source}: {text}") });
    }
}

impl HookCommand {
    /// Returns a hook, or why it cannot run. `notes` are mistakes that do not keep it from running.
    fn parse(value: &Value, notes: &mut Vec<String>) -> Result<Self, String> {
        let Value::Object(hook) = value else {
            return Err(format!(" must be an object, not {}", described(value)));
        };
        match hook.get("type") {
            Some(Value::String(kind)) if kind == "command" => {}
            None => return Err(": type is missing; it must be \"command\"".to_owned()),
            Some(other) => return Err(format!(".type must be \"command\", not {}", described(other))),
        }
        let program = match hook.get("command") {
            Some(Value::String(command)) if !command.trim().is_empty() => command.clone(),
            None => return Err(": command is missing".to_owned()),
            Some(other) => {
                return Err(format!(".command must be a text with a command, not {}", described(other)));
            }
        };
        let mut parsed = Self {
            command: program,
            timeout: DEFAULT_TIMEOUT,
            is_background: false,
            blocks_on_failure: false,
            condition: None,
        };
        for (key, value) in hook.iter().filter(|(_, value)| !value.is_null()) {
            parsed.set(key, value, notes)?;
        }
        Ok(parsed)
    }

    fn set(&mut self, key: &str, value: &Value, notes: &mut Vec<String>) -> Result<(), String> {
        let mut expect = |what: &str| notes.push(format!(".{key} must be {what}, not {}", described(value)));
        match (key, value) {
            // What Claude Code shows while a hook runs, and for what part of a session, means nothing here.
            ("type" | "command" | "statusMessage" | "once" | "description", _) => {}
            ("timeout", value) => match value.as_f64().filter(|seconds| *seconds > 0.0) {
                Some(seconds) => {
                    let timeout = Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_TIMEOUT);
                    self.timeout = timeout.min(LONGEST_TIMEOUT);
                }
                None => expect("a number of seconds above 0"),
            },
            ("args", Value::Array(arguments)) if arguments.iter().all(Value::is_string) => {
                let words = arguments.iter().filter_map(Value::as_str);
                let words = std::iter::once(self.command.as_str()).chain(words);
                self.command = words.map(quoted).collect::<Vec<_>>().join(" ");
            }
            // Without its arguments it would be another command.
            ("args", _) => return Err(".args must be a list of texts".to_owned()),
            ("async", Value::Bool(is_background)) => self.is_background = *is_background,
            ("async", _) => expect("true or false"),
            ("if", Value::String(rule)) => match Condition::parse(rule) {
                Ok(condition) => self.condition = Some(condition),
                Err(error) => notes.push(format!(".if \"{rule}\" is ignored: {error}")),
            },
            ("if", _) => expect("a text"),
            ("onFailure", Value::String(choice)) if choice == "block" => self.blocks_on_failure = true,
            ("onFailure", Value::String(choice)) if choice == "continue" => self.blocks_on_failure = false,
            ("onFailure", _) => expect("\"block\" or \"continue\""),
            ("shell", Value::String(shell)) if shell == "bash" => {}
            ("shell", _) => return Err(".shell must be \"bash\"".to_owned()),
            ("asyncRewake", Value::Bool(false)) => {}
            _ => notes.push(format!(".{key} is not known and is ignored")),
        }
        Ok(())
    }
}

/// Returns a word that the shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a value for a warning. Texts are cut: a long one is no help.
fn described(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > LONGEST => {
            format!("{}…", Value::String(text.chars().take(LONGEST).collect()))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(value: &Value) -> HookConfig {
        let mut config = HookConfig::default();
        config.add("settings.json", value);
        config
    }

    fn texts(config: &HookConfig) -> Vec<String> {
        config.warnings.iter().map(|warning| format!("{}: {}", warning.event, warning.text)).collect()
    }

    fn found(config: &HookConfig, event: HookEventName, name: &str) -> Vec<String> {
        config.commands(event, &[name], |_| true).iter().map(|command| command.command.clone()).collect()
    }

    fn hook(command: &str) -> Value {
        json!({"type": "command", "command": command})
    }

    #[test]
    fn commands_of_all_matching_groups_run_once_each() {
        let config = config(&json!({"PreToolUse": [
            {"matcher": "Bash", "hooks": [hook("a"), hook("b"), hook("a")]},
            {"hooks": [hook("b"), hook("c")]},
            {"matcher": "Edit", "hooks": [hook("d")]},
        ], "importClaude": true, "Stop": null}));
        assert_eq!(texts(&config), [""; 0]);
        assert_eq!(found(&config, HookEventName::PreToolUse, "Bash"), ["a", "b", "c"]);
        assert_eq!(found(&config, HookEventName::PreToolUse, "Write"), ["b", "c"]);
        assert!(!config.has(HookEventName::PostToolUse, &["Bash"]));
        assert!(!config.has_any(HookEventName::Stop));
    }

    #[test]
    fn matchers_of_events_without_a_subject_are_ignored() {
        for matcher in [".*", "Bash", "("] {
            let group = json!([{"matcher": matcher, "hooks": [hook("x")]}]);
            let config = config(&json!({"Stop": group, "UserPromptSubmit": group}));
            assert_eq!(texts(&config), [""; 0]);
            for event in [HookEventName::Stop, HookEventName::UserPromptSubmit] {
                assert_eq!(config.commands(event, &[], |_| true).len(), 1, "{matcher}");
            }
        }
    }

    #[test]
    fn fields_of_a_hook_are_read() {
        let config = config(&json!({"Stop": [{"hooks": [
            {"type": "command", "command": "x", "timeout": 1.5, "async": true, "onFailure": "block", "if": "Bash(x)"},
            {"type": "command", "command": "node", "args": ["it's", "b c"], "timeout": 1e300, "statusMessage": "…"},
        ]}]}));
        assert_eq!(texts(&config), [""; 0]);
        let commands = config.commands(HookEventName::Stop, &[], |_| true);
        assert_eq!(commands[0].timeout, Duration::from_millis(1500));
        assert!(
            commands[0].is_background && commands[0].blocks_on_failure && commands[0].condition.is_some()
        );
        assert_eq!(commands[1].command, r"'node' 'it'\''s' 'b c'");
        assert_eq!(commands[1].timeout, LONGEST_TIMEOUT);
    }

    #[test]
    fn each_mistake_is_one_warning_and_the_rest_works() {
        let config = config(&json!({
            "PreToolUse": [
                {"matcher": "(", "hooks": [hook("never")]},
                {"matcher": 1, "hooks": [hook("never")]},
                {"matcher": "Bash", "hooks": [
                    hook("first"),
                    {"type": "prompt", "prompt": "?"},
                    {"command": "x"},
                    {"type": "command"},
                    {"type": "command", "command": " "},
                    {"type": "command", "command": "x", "args": "y"},
                    {"type": "command", "command": "x", "shell": "powershell"},
                    "text",
                    {"type": "command", "command": "second", "timeout": -1, "timout": 5, "async": 1},
                ]},
                {"matcher": "Bash"},
                "text",
            ],
            "PostToolUse": {},
            "SubagentStop": [],
            "PreTooluse": [],
        }));
        let warnings = texts(&config);
        let expected = [
            "PreToolUse: settings.json: [0].matcher \"(\" is not a regular expression: unclosed group; its hooks never run",
            "PreToolUse: settings.json: [1].matcher must be a text, not 1; its hooks never run",
            "PreToolUse: settings.json: [2].hooks[1].type must be \"command\", not \"prompt\"; it never runs",
            "PreToolUse: settings.json: [2].hooks[2]: type is missing; it must be \"command\"; it never runs",
            "PreToolUse: settings.json: [2].hooks[3]: command is missing; it never runs",
            "PreToolUse: settings.json: [2].hooks[4].command must be a text with a command, not \" \"; it never runs",
            "PreToolUse: settings.json: [2].hooks[5].args must be a list of texts; it never runs",
            "PreToolUse: settings.json: [2].hooks[6].shell must be \"bash\"; it never runs",
            "PreToolUse: settings.json: [2].hooks[7] must be an object, not \"text\"; it never runs",
            "PreToolUse: settings.json: [2].hooks[8].timeout must be a number of seconds above 0, not -1",
            "PreToolUse: settings.json: [2].hooks[8].timout is not known and is ignored",
            "PreToolUse: settings.json: [2].hooks[8].async must be true or false, not 1",
            "PreToolUse: settings.json: [3].hooks must be a list of hooks",
            "PreToolUse: settings.json: [4] must be an object, not \"text\"",
            "PostToolUse: settings.json: this must be a list, not an object",
            "SubagentStop: settings.json: this event does not exist in bowline: its hooks never run",
        ];
        assert_eq!(warnings[..expected.len()], expected);
        assert!(
            warnings[expected.len()]
                .starts_with("PreTooluse: settings.json: there is no such event; events are")
        );
        assert_eq!(warnings.len(), expected.len() + 1);
        assert_eq!(found(&config, HookEventName::PreToolUse, "Bash"), ["first", "second"]);
    }

    #[test]
    fn commands_of_an_event_are_bounded() {
        let hooks: Vec<_> = (0..150).map(|number| hook(&number.to_string())).collect();
        let config = config(&json!({"Stop": [{"hooks": hooks[..60]}, {"hooks": hooks[60..]}]}));
        assert_eq!(config.commands(HookEventName::Stop, &[], |_| true).len(), MOST_COMMANDS);
        assert_eq!(config.warnings.len(), MOST_WARNINGS);
        assert_eq!(config.warnings[MOST_WARNINGS - 1].text, "there are more mistakes");
        let none = super::tests::config(&json!([]));
        assert_eq!(texts(&none), [": settings.json: hooks must be an object, not a list"]);
    }
}
