//! What the words before the cursor mean, as far as it matters for the word at the cursor. They are read as the command line
//! is, but nothing is an error: the line is not finished.

use crate::arguments::Action;
use crate::flags::{Flag, Takes, flags};
use crate::subcommands::{self, Subcommand, Verb};

/// Where the cursor is.
#[derive(Debug, Default)]
pub(super) struct Position {
    pub subcommand: Option<&'static Subcommand>,
    pub verb: Option<&'static Verb>,
    /// How many words stand after the subcommand and its verb.
    pub further_words: usize,
    /// The long names of the flags before the cursor.
    pub used: Vec<&'static str>,
    /// Whether a mode is named, so that words are no subcommands.
    pub has_mode: bool,
    /// Whether `--` stands before the cursor.
    pub after_dashes: bool,
    /// The flag whose value is at the cursor.
    pub flag: Option<&'static Flag>,
    values: Vec<(&'static str, String)>,
}

impl Position {
    /// Returns where the cursor is after these words.
    pub fn after(words: &[String]) -> Self {
        let mut position = Self::default();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                position.after_dashes = true;
                break;
            }
            match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                Some(_) => position.take_flag(word, &mut words),
                None => position.take_word(word),
            }
        }
        position
    }

    /// Returns the value that a flag before the cursor has.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.values.iter().rfind(|(known, _)| *known == long).map(|(_, value)| value.as_str())
    }

    fn take_flag<'a>(&mut self, word: &str, words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(flag) = find(name) else { return };
        self.used.push(flag.long);
        self.has_mode |= matches!(flag.long, "--mode" | "--rpc" | "--print" | "--output" | "--output-schema");
        let value = match flag.takes {
            Takes::Nothing => return,
            Takes::Value(_) => attached.or_else(|| words.next()),
            Takes::Optional(_) => attached.or_else(|| words.next_if(|next| !next.starts_with(['-', '@']))),
        };
        match value {
            Some(value) => self.values.push((flag.long, value.to_owned())),
            None if matches!(flag.takes, Takes::Value(_)) => self.flag = Some(flag),
            None => {}
        }
    }

    fn take_word(&mut self, word: &str) {
        let Some(subcommand) = self.subcommand else {
            self.subcommand = subcommands::find(word).filter(|_| !self.has_mode);
            // It stands for flags that name a mode.
            if self.subcommand.is_some_and(|subcommand| subcommand.action == Action::Rpc) {
                self.subcommand = None;
                self.has_mode = true;
            }
            return;
        };
        match subcommand.verbs.iter().find(|verb| verb.name == word) {
            Some(verb) if self.verb.is_none() && self.further_words == 0 => self.verb = Some(verb),
            _ => self.further_words += 1,
        }
    }
}

/// Returns the flag with this name, long or short.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    flags().find(|flag| flag.long == name || flag.short == Some(name))
}
