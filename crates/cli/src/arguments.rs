//! The command line.

use std::iter::Peekable;

use bowline_core::ThinkingLevel;
use bowline_session::Clock;

use crate::failure::Failure;
use crate::flags::{FLAGS, Takes};
use crate::foreign_flags;
use crate::similar::nearest;

/// What bowline does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Action {
    /// No action was given.
    #[default]
    Nothing,
    Rpc,
    Demo,
    Sessions,
    Auth,
    ListModels,
    /// Writes a session as a web page.
    Export,
    /// Prints a dialect as JSON Schema.
    Schema,
    Help,
    Version,
}

/// The parsed command line.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub action: Action,
    /// The folder to work in instead of the current one.
    pub working_directory: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub models: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub api_key: Option<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Vec<String>,
    pub no_context_files: bool,
    pub session: Option<String>,
    pub session_id: Option<String>,
    pub session_dir: Option<String>,
    pub continue_session: bool,
    pub no_session: bool,
    pub name: Option<String>,
    pub tools: Option<Vec<String>>,
    pub exclude_tools: Vec<String>,
    pub no_tools: bool,
    pub allow_mutating: bool,
    pub verbose: bool,
    pub line_limit: Option<usize>,
    pub clock: Option<Clock>,
    pub record: Option<String>,
    pub replay_loose: bool,
    /// The text to search for in listed names.
    pub search: String,
    pub local: bool,
    pub json: bool,
    pub online: bool,
    pub all: bool,
    pub repair: bool,
    /// The session that a new one starts as a copy of.
    pub fork: Option<String>,
    /// The output file of a subcommand.
    pub out: Option<String>,
    /// The words after the name of a subcommand.
    pub words: Vec<String>,
    /// Warnings for stderr: flags without effect.
    pub warnings: Vec<String>,
}

impl Arguments {
    /// Tells whether output must be reproducible, so that nothing may depend on timing.
    pub fn is_reproducible(&self) -> bool {
        matches!(self.clock, Some(Clock::Fixed(_)))
    }

    /// Parses the words after the program's name. `short_flags` are those with another meaning in the chosen dialect.
    pub fn parse(words: Vec<String>, dialect: &str, short_flags: &[(&str, &str)]) -> Result<Self, Failure> {
        let mut arguments = Self::default();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if arguments.action == Action::Nothing
                && let Some(action) = subcommand(&word)
            {
                arguments.action = action;
            } else if word.starts_with('-') && word.len() > 1 {
                let long = short_flags.iter().find(|(short, _)| *short == word).map(|(_, long)| *long);
                arguments.take_flag(long.unwrap_or(&word), dialect, &mut words)?;
            } else {
                arguments.take_text(&word)?;
            }
        }
        arguments.check()?;
        Ok(arguments)
    }

    fn take_flag(
        &mut self,
        word: &str,
        dialect: &str,
        words: &mut Peekable<impl Iterator<Item = String>>,
    ) -> Result<(), Failure> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        if let Some(flag) = FLAGS.iter().find(|flag| flag.long == name || flag.short == Some(name)) {
            let value = take_value(flag.long, flag.takes, attached, words)?;
            return (flag.apply)(self, value)
                .map_err(|problem| Failure::Usage(format!("{}: {problem}", flag.long)));
        }
        let Some(flag) = foreign_flags::find(dialect, name) else {
            return self.unknown(name);
        };
        let value = take_value(flag.long, flag.takes, attached, words)?;
        self.warnings.push(flag.judge(&value).map_err(Failure::Usage)?);
        Ok(())
    }

    /// Accepts an unknown long flag with a warning: it may belong to an extension of pi and must not stop a client.
    fn unknown(&mut self, name: &str) -> Result<(), Failure> {
        if !name.starts_with("--") {
            return Err(Failure::Usage(format!("Unknown option: {name} (see bowline --help)")));
        }
        let hint = nearest(name, FLAGS.iter().map(|flag| flag.long));
        let hint = hint.map(|flag| format!("; did you mean {flag}?")).unwrap_or_default();
        self.warnings.push(format!("unknown option {name} is ignored{hint}"));
        Ok(())
    }

    fn take_text(&mut self, word: &str) -> Result<(), Failure> {
        if matches!(
            self.action,
            Action::Auth | Action::Sessions | Action::Export | Action::Schema | Action::Help
        ) {
            self.words.push(word.to_owned());
            return Ok(());
        }
        if word.starts_with('@') {
            return Err(Failure::Usage(
                "@file arguments are not supported in RPC mode: send the file's content or its path with the prompt".to_owned(),
            ));
        }
        // Not repeated: it may be the value of a mistyped flag, and so a key.
        self.warnings.push("an argument that is no flag is ignored: messages are sent over stdin".to_owned());
        Ok(())
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
        if self.local && self.action != Action::ListModels {
            return Err(Failure::Usage("--local is for --list-models".to_owned()));
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
    words: &mut Peekable<impl Iterator<Item = String>>,
) -> Result<String, Failure> {
    match takes {
        Takes::Nothing if attached.is_some() => Err(Failure::Usage(format!("{name} takes no value"))),
        Takes::Nothing => Ok(String::new()),
        Takes::Optional(_) => {
            Ok(attached.or_else(|| words.next_if(|next| !next.starts_with(['-', '@']))).unwrap_or_default())
        }
        Takes::Value(what) => attached
            .or_else(|| words.next())
            .ok_or_else(|| Failure::Usage(format!("{name} needs a value: {name} {what}"))),
    }
}

/// Returns the action of a subcommand.
fn subcommand(word: &str) -> Option<Action> {
    match word {
        "demo" => Some(Action::Demo),
        "sessions" => Some(Action::Sessions),
        "export" => Some(Action::Export),
        "auth" => Some(Action::Auth),
        "schema" => Some(Action::Schema),
        "help" => Some(Action::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(ToOwned::to_owned).collect(), "pi", &[])
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_flag_of_pi_clients_is_accepted() {
        let arguments = parse(
            "--mode rpc --provider mock --model m1:high --models a,b --thinking low --api-key k --system-prompt s \
             --append-system-prompt x --append-system-prompt y --session-dir d --name n --tools read,bash -xt bash \
             --no-extensions --no-skills --no-context-files --no-prompt-templates --no-themes --offline --approve \
             --no-approve --extension e --skill s --prompt-template p --theme t -nt -nbt -ne -ns -np -nc --verbose \
             --no-session",
        )
        .unwrap();
        assert_eq!(arguments.action, Action::Rpc);
        assert_eq!(arguments.append_system_prompt, ["x", "y"]);
        assert_eq!(arguments.tools.unwrap(), ["read", "bash"]);
        assert!(
            arguments.warnings.iter().all(|warning| warning.contains(" is ignored: ")),
            "{:?}",
            arguments.warnings
        );
    }

    #[test]
    fn search_text_is_optional() {
        for (line, search) in [
            ("--list-models", ""),
            ("--list-models opus", "opus"),
            ("--list-models=opus", "opus"),
            ("--list-models --json", ""),
        ] {
            let arguments = parse(line).unwrap();
            assert_eq!((arguments.action, arguments.search.as_str()), (Action::ListModels, search), "{line}");
        }
        assert_eq!(parse("--mode rpc --local").unwrap_err(), "--local is for --list-models");
    }

    #[test]
    fn words_after_a_subcommand_belong_to_it() {
        let arguments = parse("auth check --provider groq --json").unwrap();
        assert_eq!((arguments.action, arguments.words), (Action::Auth, vec!["check".to_owned()]));
    }

    #[test]
    fn an_unknown_long_flag_warns_and_swallows_nothing() {
        let arguments = parse("--planet --modle=x --mode rpc").unwrap();
        assert_eq!(arguments.action, Action::Rpc);
        assert_eq!(
            arguments.warnings,
            [
                "unknown option --planet is ignored",
                "unknown option --modle is ignored; did you mean --model?"
            ]
        );
    }

    #[test]
    fn an_export_has_a_file_and_may_have_another() {
        let arguments = parse("export a.jsonl --out b.html").unwrap();
        assert_eq!(arguments.action, Action::Export);
        assert_eq!(
            (&arguments.words[..], arguments.out.as_deref()),
            (&["a.jsonl".to_owned()][..], Some("b.html"))
        );
    }

    #[test]
    fn bad_arguments_are_refused() {
        let refused = |line| parse(line).unwrap_err();
        assert_eq!(refused("-Z"), "Unknown option: -Z (see bowline --help)");
        assert_eq!(refused("--mode json"), "--mode: \"json\" is not a mode; the only one is rpc");
        assert_eq!(refused("--mode rpc --model"), "--model needs a value: --model PROVIDER/ID[:LEVEL]");
        assert!(refused("--mode rpc @file.txt").starts_with("@file arguments are not supported in RPC mode"));
        assert_eq!(refused("--session a --continue"), "--session and --continue cannot be used together");
    }
}
