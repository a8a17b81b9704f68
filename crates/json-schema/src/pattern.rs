//! The regular expressions of schemas. They are searched for without backtracking.

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;

use crate::javascript_pattern::{in_words, translate};

/// The most bytes of an expression, and of the automaton that it becomes.
const LONGEST: usize = 2048;
const LARGEST: usize = 128 * 1024;

/// An expression that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    /// Returns an expression, or why it cannot be used.
    pub fn new(source: &str) -> Result<Self, String> {
        if source.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        // Backtracking is bounded too, but reads a text more than once.
        let config = Config::new().nfa_size_limit(Some(LARGEST)).backtrack(false).onepass(false);
        // Only whether something matches counts, so a match may begin or end within a character.
        let (config, syntax) = (config.utf8_empty(false), syntax::Config::new().utf8(false));
        let built = Regex::builder().configure(config).syntax(syntax).build(&translate(source));
        let regex = built.map_err(|error| format!("the pattern cannot be used: {}", in_words(&error)))?;
        Ok(Self { source: source.to_owned(), regex })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns what a search costs at worst, in units of work.
    pub fn cost(&self, text: &str) -> usize {
        // At worst every state is looked at for every byte.
        text.len().saturating_mul(self.regex.memory_usage()) / 8192
    }
}
