//! The command line.

use std::iter::Peekable;

use bowline_core::ThinkingLevel;
use bowline_core::limits::Limited;
use bowline_core::sandbox::{AskMode, SandboxLevel, SandboxMode, SandboxNetwork, SandboxWorkspace};
use bowline_extension_host::{GivenFlag, IfUnknown};
use bowline_session::Clock;

use crate::failure::Failure;
use crate::flags::{Flag, Group, Takes, flags};
use crate::foreign_flags;
use crate::help;
use crate::one_shot::Format;
use crate::packages;
use crate::similar::nearest;
use crate::subcommands::{self, Subcommand};

/// Further short forms of flags.
pub(crate) const SHORT_FORMS: &[(&str, &str)] = &[("-V", "--version")];

/// Flags that add up if they are given more than once.
pub(crate) const REPEATABLE: &[&str] = &[
    "--extension",
    "--append-system-prompt",
    "--exclude-tools",
    "--skill",
    "--prompt-template",
    "--writable",
    "--print",
    "--save",
];

/// Flags that look at an empty value themselves: it means something, or is an error. A limit or a guard that is silently
/// absent is not what anybody wants.
const TAKES_EMPTY: &[&str] = &[
    "--mode",
    "--dialect",
    "--cwd",
    "--tools",
    "--search",
    "--sandbox",
    "--network",
    "--writable",
    "--workspace",
    "--ask",
    "--max-cost",
    "--max-tokens",
    "--max-turns",
    "--max-tool-calls",
    "--max-time",
    "--output",
    "--print",
];

/// Flags that run something once.
const ONE_SHOT: &[&str] = &["--print", "--output", "--output-schema", "--output-retries", "--export"];

/// Flags that narrow or change what `--list-models` shows.
pub(crate) const LISTING: &[&str] =
    &["--list-models", "--local", "--json", "--provider", "--search", "--cwd", "--dialect", "--offline"];

/// What to do about messages and files without a mode.
const MESSAGE_WITHOUT_MODE: &str = "to run a message, add -p (see bowline help)";

/// What bowline does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Action {
    /// No action was given.
    #[default]
    Nothing,
    Rpc,
    /// Runs the messages of the command line and ends.
    OneShot,
    /// Talks with the user on the terminal.
    Chat,
    Demo,
    /// Says what is fine and what is not.
    Doctor,
    Sessions,
    Auth,
    ListModels,
    Extension,
    /// Installs, removes, lists or updates packages.
    Packages(packages::Verb),
    /// Writes a session as a web page.
    Export,
    /// Shows an exchange between a client and an agent.
    Inspect,
    /// Lists, tests and calls MCP servers.
    Mcp,
    /// Shows and changes settings.
    Config,
    /// Decides about the trust in a project.
    Trust,
    /// Runs a command in the sandbox, says what it allows, and checks it.
    Sandbox,
    /// Prints a dialect as JSON Schema.
    Schema,
    /// Prints what shells need to complete command lines.
    Completions,
    /// Prints manual pages.
    Man,
    Help,
    Version,
}

/// The parsed command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub action: Action,
    pub subcommand: Option<&'static Subcommand>,
    pub wants_help: bool,
    pub wants_version: bool,
    pub lists_models: bool,
    /// Whether a one-shot mode was chosen, and not only by the name of the program.
    pub is_one_shot: bool,
    /// What a one-shot mode writes.
    pub format: Option<&'static Format>,
    /// The file with the schema of what the last message of a one-shot mode asks for.
    pub output_schema: Option<String>,
    /// How often a wrong answer to it is asked for again.
    pub output_retries: Option<u32>,
    /// The messages of a one-shot mode, in order.
    pub messages: Vec<String>,
    /// The files for the first message.
    pub file_arguments: Vec<String>,
    /// The session that is exported by a flag, as in pi.
    pub export: Option<String>,
    /// The folder to work in instead of the current one.
    pub working_directory: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub models: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub api_key: Option<String>,
    pub system_prompt: Option<String>,
    /// The file that replaces the instructions.
    pub system_file: Option<String>,
    pub append_system_prompt: Vec<String>,
    pub no_context_files: bool,
    pub no_rules: bool,
    /// Files and folders with skills.
    pub skill_paths: Vec<String>,
    pub no_skills: bool,
    /// The names of the only skills to use.
    pub skill_names: Option<Vec<String>>,
    /// Files and folders with prompt templates.
    pub template_paths: Vec<String>,
    pub no_templates: bool,
    /// Whether the project is trusted, if the user says.
    pub approval: Option<bool>,
    /// When the user is asked about tool calls.
    pub ask: Option<AskMode>,
    pub list: bool,
    pub remove: bool,
    pub session: Option<String>,
    pub session_id: Option<String>,
    pub session_dir: Option<String>,
    pub continue_session: bool,
    pub no_session: bool,
    pub name: Option<String>,
    pub tools: Option<Vec<String>>,
    pub exclude_tools: Vec<String>,
    pub no_tools: bool,
    pub no_builtin_tools: bool,
    pub allow_mutating: bool,
    /// Whether no MCP server is used.
    pub no_mcp: bool,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<SandboxNetwork>,
    pub workspace: Option<SandboxWorkspace>,
    /// Folders that tools may write beside the working folder.
    pub writable: Vec<String>,
    pub sandbox_eager: bool,
    pub client_may_widen: bool,
    pub verbose: bool,
    pub line_limit: Option<usize>,
    /// What each run may spend; 0 means unlimited.
    pub limits: Vec<(Limited, f64)>,
    pub clock: Option<Clock>,
    pub record: Option<String>,
    pub replay_loose: bool,
    /// The text to search for in listed names.
    pub search: String,
    pub local: bool,
    pub temporary: bool,
    /// Whether the settings of the project are meant.
    pub of_project: bool,
    pub json: bool,
    pub online: bool,
    /// Whether a key is to be asked for in the terminal, whatever else is wanted.
    pub login: bool,
    pub all: bool,
    pub repair: bool,
    /// The run whose changes are restored.
    pub run: Option<u64>,
    pub dry_run: bool,
    /// The session that a new one starts as a copy of.
    pub fork: Option<String>,
    /// The output file of a subcommand.
    pub out: Option<String>,
    /// The files that an exchange is saved in.
    pub save: Vec<String>,
    /// The level of the sandbox to check.
    pub level: Option<SandboxLevel>,
    /// The language of a new extension.
    pub lang: Option<String>,
    /// The words after the name of a subcommand.
    pub words: Vec<String>,
    /// The words after `--`, where a subcommand takes a command there.
    pub command: Option<Vec<String>>,
    /// The flags that a subcommand passes on to the bowline that it starts.
    pub passed_on: Vec<String>,
    /// Warnings for stderr: flags without effect.
    pub warnings: Vec<String>,
    /// The long names of the flags that were given, in order.
    used: Vec<&'static str>,
    unknown: Vec<Unknown>,
    /// Why bowline does not start if there can be no extension, which would have to know a flag.
    pub needs_extension: Option<String>,
    /// Flags of an emulated agent that bowline does not serve.
    foreign: Vec<GivenFlag>,
    /// Whether words are messages even if no mode is named.
    takes_messages: bool,
    /// Files and folders with extensions.
    pub extension_paths: Vec<String>,
    /// Whether only these extensions are loaded.
    pub no_extensions: bool,
}

/// An argument that has no meaning to bowline. Whether that is an error depends on the rest of the command line.
#[derive(Debug, Clone)]
enum Unknown {
    /// A long flag, which an extension may know.
    Flag(GivenFlag),
    /// The very first argument, which was probably meant to be a subcommand.
    First(String),
    /// Any other word. Its text is not kept: it may be the value of a mistyped flag, and so a key.
    Word,
    /// The word after an unknown flag, which may be its value.
    Value,
}

impl Arguments {
    /// Tells whether output must be reproducible, so that nothing may depend on timing.
    pub fn is_reproducible(&self) -> bool {
        matches!(self.clock, Some(Clock::Fixed(_)))
    }

    /// Returns what help is asked about: nothing in particular, or a subcommand or other subject.
    pub fn help_topic(&self) -> Option<&str> {
        let subcommand = self.subcommand.map(|subcommand| subcommand.name);
        match subcommand {
            Some("help") if !self.words.is_empty() => self.words.first().map(String::as_str),
            Some("help") if !self.wants_help => None,
            named => named,
        }
    }

    /// Returns the text for a command line that names no action.
    pub fn nothing_to_do(&self) -> String {
        let flag = self
            .used
            .first()
            .map(|flag| format!("bowline: {flag} alone does nothing; to serve a client, add --mode rpc\n\n"));
        flag.unwrap_or_default() + help::usage().trim_end()
    }

    /// Returns the flags that bowline does not know: an extension may.
    pub fn unknown_flags(&self) -> Vec<GivenFlag> {
        let flags = self.unknown.iter().filter_map(|unknown| match unknown {
            Unknown::Flag(flag) => Some(flag.clone()),
            _ => None,
        });
        flags.chain(self.foreign.iter().cloned()).collect()
    }

    /// Returns the warnings about what only an extension can know, if there is none.
    pub fn unknown_flag_warnings(&self) -> Vec<String> {
        self.unknown.iter().filter(|unknown| unknown.may_be_of_extension()).map(Unknown::warning).collect()
    }

    /// Parses the words after the program's name. `short_flags` are those with another meaning in the chosen dialect.
    /// `is_pi` says that the program was started under the name of pi, so that its arguments are messages.
    pub fn parse(
        words: Vec<String>,
        dialect: &str,
        short_flags: &[(&str, &str)],
        is_pi: bool,
    ) -> Result<Self, Failure> {
        let mut arguments = Self { takes_messages: is_pi, ..Self::default() };
        let mut words = words.into_iter().enumerate().map(|(index, word)| (word, index == 0)).peekable();
        while let Some((word, is_first)) = words.next() {
            if word == "--" && arguments.subcommand.is_some_and(|subcommand| subcommand.takes_command()) {
                arguments.command = Some(words.map(|(word, _)| word).collect());
                break;
            }
            if word == "--" && arguments.subcommand.is_none() {
                words.for_each(|(word, _)| arguments.take_message(word));
                break;
            }
            if word.starts_with('-') && word.len() > 1 {
                let aliases = short_flags.iter().chain(SHORT_FORMS);
                let long = aliases.into_iter().find(|(short, _)| *short == word).map(|(_, long)| *long);
                arguments.take_flag(long.unwrap_or(&word), dialect, &mut words)?;
            } else {
                arguments.take_word(word, is_first)?;
            }
        }
        arguments.settle()?;
        arguments.check()?;
        Ok(arguments)
    }

    fn take_flag(
        &mut self,
        word: &str,
        dialect: &str,
        words: &mut Peekable<impl Iterator<Item = (String, bool)>>,
    ) -> Result<(), Failure> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        if let Some(flag) = flags().find(|flag| flag.long == name || flag.short == Some(name)) {
            let value = take_value(flag.long, flag.takes, attached, words)?;
            let has_value = matches!(flag.takes, Takes::Value(_));
            if has_value && self.used.contains(&flag.long) && !REPEATABLE.contains(&flag.long) {
                self.warnings.push(format!("{} is given more than once; the last one counts", flag.long));
            }
            self.used.push(flag.long);
            self.pass_on(flag, &value);
            if value.is_empty() && matches!(flag.takes, Takes::Value(_)) && !TAKES_EMPTY.contains(&flag.long)
            {
                // As in pi: clients pass on settings that are not set.
                self.warnings.push(format!("{} is ignored: its value is empty", flag.long));
                return Ok(());
            }
            return (flag.apply)(self, value)
                .map_err(|problem| Failure::Usage(format!("{}: {problem}", flag.long)));
        }
        let foreign = foreign_flags::find(dialect, name);
        let Some(flag) = foreign.filter(|flag| !flag.is_of_extension()) else {
            if !name.starts_with("--") {
                let help = if self.takes_messages { "" } else { " (see bowline --help)" };
                return Err(Failure::Usage(format!("Unknown option: {name}{help}")));
            }
            let next_word = words.peek().map(|(word, _)| word.clone());
            let next_word = next_word.filter(|word| attached.is_none() && !word.starts_with(['-', '@']));
            let name = name.trim_start_matches('-').to_owned();
            self.needs_extension =
                foreign.and_then(|flag| flag.judge("").err()).or(self.needs_extension.take());
            self.passed_on.push(word.to_owned());
            let if_unknown = if foreign.is_some() { IfUnknown::Fatal } else { IfUnknown::Reported };
            self.unknown.push(Unknown::Flag(GivenFlag { name, attached, next_word, if_unknown }));
            return Ok(());
        };
        let value = take_value(flag.long, flag.takes, attached, words)?;
        self.warnings.push(flag.judge(&value).map_err(Failure::Usage)?);
        // An extension may have a flag of this name.
        let name = flag.long.trim_start_matches('-').to_owned();
        let attached = matches!(flag.takes, Takes::Value(_)).then_some(value);
        self.foreign.push(GivenFlag { name, attached, next_word: None, if_unknown: IfUnknown::Ignored });
        Ok(())
    }

    /// Notes a flag as it is given to another bowline. The folder to work in has been entered by then.
    fn pass_on(&mut self, flag: &Flag, value: &str) {
        if flag.long != "--cwd" {
            let has_value = matches!(flag.takes, Takes::Value(_)) || !value.is_empty();
            self.passed_on.push(if has_value {
                format!("{}={value}", flag.long)
            } else {
                flag.long.to_owned()
            });
        }
    }

    fn take_word(&mut self, word: String, is_first: bool) -> Result<(), Failure> {
        if self.subcommand.is_some() {
            self.words.push(word);
            return Ok(());
        }
        let has_mode = self.action == Action::Rpc || self.is_one_shot;
        // Started as pi, only the first word can be a subcommand: others are messages.
        let may_be_subcommand = !has_mode && (is_first || !self.takes_messages);
        if let Some(subcommand) = subcommands::find(&word).filter(|_| may_be_subcommand) {
            self.subcommand = Some(subcommand);
        } else if word.starts_with('@') {
            self.take_message(word);
        } else {
            let follows_unknown = matches!(
                self.unknown.last(),
                Some(Unknown::Flag(GivenFlag { next_word: Some(next), .. })) if *next == word
            );
            if !follows_unknown {
                self.messages.push(word.clone());
            }
            self.unknown.push(match (is_first, follows_unknown) {
                (true, _) => Unknown::First(word),
                (false, true) => Unknown::Value,
                (false, false) => Unknown::Word,
            });
        }
        Ok(())
    }

    /// Takes a word that is a message, or names a file for the first one.
    fn take_message(&mut self, word: String) {
        match word.strip_prefix('@') {
            Some(path) => self.file_arguments.push(path.to_owned()),
            None => self.messages.push(word),
        }
    }

    /// Decides what to do, now that everything was read.
    fn settle(&mut self) -> Result<(), Failure> {
        if self.wants_help || self.wants_version {
            self.action = if self.wants_help { Action::Help } else { Action::Version };
            return Ok(());
        }
        if let Some(subcommand) = self.subcommand {
            self.action = subcommand.action;
            return self.check_subcommand(subcommand);
        }
        if self.lists_models {
            self.action = Action::ListModels;
            let idle = self.used.iter().filter(|name| !LISTING.contains(name));
            let idle = idle.map(|name| format!("{name} has no effect with --list-models"));
            self.warnings.extend(idle);
            return self.unknown.first().map_or(Ok(()), |unknown| Err(unknown.error(None)));
        }
        if self.action == Action::Rpc {
            if !self.file_arguments.is_empty() {
                return Err(Failure::Usage(
                    "@file arguments are not supported in RPC mode: send the file's content or its path with the \
                     prompt"
                        .to_owned(),
                ));
            }
        } else if let Some(file) = &self.export {
            self.words.push(file.clone());
            self.out = self.out.take().or_else(|| self.messages.first().cloned());
            self.action = Action::Export;
            return Ok(());
        } else if self.is_one_shot || self.takes_messages {
            self.action = Action::OneShot;
            self.warn_of_idle("with messages");
            return Ok(());
        } else {
            return self.nothing_known();
        }
        // Unknown flags may belong to extensions, and must not stop a client.
        let unknown = self.unknown.iter().filter(|unknown| !unknown.may_be_of_extension());
        self.warnings.extend(unknown.map(Unknown::warning));
        self.warn_of_idle("in RPC mode");
        let idle = ONE_SHOT.iter().filter(|flag| self.used.contains(flag));
        self.warnings.extend(idle.map(|flag| format!("{flag} has no effect in RPC mode")));
        Ok(())
    }

    /// Warns of flags that only subcommands have.
    fn warn_of_idle(&mut self, place: &str) {
        let idle = flags().filter(|flag| flag.group == Group::Subcommand && self.used.contains(&flag.long));
        self.warnings.extend(idle.map(|flag| format!("{} has no effect {place}", flag.long)));
    }

    /// Returns the error for a command line that names no mode and no subcommand, if it has arguments.
    fn nothing_known(&self) -> Result<(), Failure> {
        if self.messages.len() > 1
            && let Some(unknown @ Unknown::First(_)) = self.unknown.first()
        {
            return Err(unknown.error_among_words());
        }
        match (self.unknown.first(), self.file_arguments.first()) {
            (Some(unknown), _) => Err(unknown.error(None)),
            (None, Some(_)) => Err(Failure::Usage(MESSAGE_WITHOUT_MODE.to_owned())),
            (None, None) if !self.messages.is_empty() => Err(Failure::Usage(MESSAGE_WITHOUT_MODE.to_owned())),
            (None, None) => Ok(()),
        }
    }

    fn check_subcommand(&self, subcommand: &Subcommand) -> Result<(), Failure> {
        // Extensions may know a flag that is passed on.
        let unknown =
            self.unknown.iter().find(|unknown| !subcommand.passes_flags_on || !unknown.may_be_of_extension());
        if let Some(unknown) = unknown {
            return Err(unknown.error(Some(subcommand)));
        }
        subcommand.check(&self.words, &self.used, self.command.is_some()).map_err(Failure::Usage)
    }

    fn check(&self) -> Result<(), Failure> {
        let conflicts = [
            (self.session.is_some(), "--session"),
            (self.continue_session, "--continue"),
            (self.session_id.is_some(), "--session-id"),
            (self.fork.is_some(), "--fork"),
        ];
        let given: Vec<_> = conflicts.iter().filter(|(given, _)| *given).map(|(_, name)| *name).collect();
        if given.len() > 1 {
            return Err(Failure::Usage(format!("{} cannot be used together", given.join(" and "))));
        }
        if self.no_session
            && let Some(flag) = given.first().filter(|flag| **flag != "--session-id")
        {
            return Err(Failure::Usage(format!("--no-session and {flag} cannot be used together")));
        }
        if self.system_prompt.is_some() && self.system_file.is_some() {
            return Err(Failure::Usage("--system and --system-prompt cannot be used together".to_owned()));
        }
        if self.output_retries.is_some() && self.output_schema.is_none() && self.action != Action::Rpc {
            return Err(Failure::Usage("--output-retries needs --output-schema FILE".to_owned()));
        }
        if self.local && !matches!(self.action, Action::ListModels | Action::Packages(_) | Action::Help) {
            return Err(Failure::Usage("--local is for --list-models, install and remove".to_owned()));
        }
        if self.api_key.is_some() && self.model.is_none() && self.provider.is_none() {
            return Err(Failure::Usage(
                "--api-key needs --model or --provider, to say whose key it is".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Returns the value of a flag: what is attached to it, or the word after it.
fn take_value(
    name: &str,
    takes: Takes,
    attached: Option<String>,
    words: &mut Peekable<impl Iterator<Item = (String, bool)>>,
) -> Result<String, Failure> {
    match takes {
        Takes::Nothing if attached.is_some() => Err(Failure::Usage(format!("{name} takes no value"))),
        Takes::Nothing => Ok(String::new()),
        Takes::Optional(_) => {
            // As in pi, a text that begins with a line of dashes is none.
            let is_value = |word: &str| !word.starts_with(['-', '@']) || word.starts_with("---");
            let next = || words.next_if(|(next, _)| is_value(next)).map(|(word, _)| word);
            Ok(attached.or_else(next).unwrap_or_default())
        }
        Takes::Value(what) => attached
            .or_else(|| words.next().map(|(word, _)| word))
            .ok_or_else(|| Failure::Usage(format!("{name} needs a value: {name} {what}"))),
    }
}

impl Unknown {
    /// Returns the error that it is if bowline does not serve a client.
    fn error(&self, subcommand: Option<&Subcommand>) -> Failure {
        let help =
            subcommand.map_or("bowline help".to_owned(), |named| format!("bowline help {}", named.name));
        // The subcommand that follows a misspelt word is not the one that was meant.
        let help = if matches!(self, Self::First(_)) { "bowline help".to_owned() } else { help };
        let (what, near) = match self {
            Self::Flag(flag) => {
                let name = &format!("--{}", flag.name);
                let known = flags().map(|flag| flag.long);
                let fitting = known.filter(|flag| subcommand.is_none_or(|named| named.has_flag(flag)));
                (format!("Unknown option: {name}"), nearest(name, fitting))
            }
            Self::First(word) => {
                let near = nearest(word, subcommands::names());
                if near.is_none() && word.contains(char::is_whitespace) {
                    return Failure::Usage(MESSAGE_WITHOUT_MODE.to_owned());
                }
                (format!("unknown subcommand \"{word}\""), near)
            }
            Self::Word | Self::Value => (
                "an argument is neither an option nor a subcommand; to run a message, add -p".to_owned(),
                None,
            ),
        };
        let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        Failure::Usage(format!("{what}{hint} (see {help})"))
    }

    /// Returns the error for a first word that other words follow: they may be a message.
    fn error_among_words(&self) -> Failure {
        let text = self.error(None).to_string();
        Failure::Usage(match text.strip_suffix(" (see bowline help)") {
            Some(what) if what.ends_with('?') => {
                format!("{what} To run a message, add -p (see bowline help)")
            }
            Some(what) => format!("{what}; to run a message, add -p (see bowline help)"),
            None => text,
        })
    }

    /// Tells whether an extension may know it.
    fn may_be_of_extension(&self) -> bool {
        matches!(self, Self::Flag(_) | Self::Value)
    }

    /// Returns the warning that it is if bowline serves a client.
    fn warning(&self) -> String {
        match self {
            Self::Flag(flag) => {
                let name = &format!("--{}", flag.name);
                let hint = nearest(name, flags().map(|flag| flag.long));
                let hint = hint.map(|flag| format!("; did you mean {flag}?")).unwrap_or_default();
                format!("unknown option {name} is ignored{hint}")
            }
            Self::First(_) | Self::Word | Self::Value => {
                "an argument that is no flag is ignored: messages are sent over stdin".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
