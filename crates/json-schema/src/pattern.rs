//! The regular expressions of schemas. They are searched for without backtracking.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;

use crate::javascript_pattern::{in_words, translate};

/// The most bytes of an expression, and of the automaton that it becomes.
const LONGEST: usize = 2048;
const LARGEST: usize = 2 * 1024 * 1024;

/// What the computed states of an expression may take, and how often they may be computed again.
const CACHE: usize = 256 * 1024;
const MOST_CLEARS: usize = 8;

/// How many bytes are read, and how many states are looked at, for a unit of work.
const BYTES: usize = 64;
const STATES: usize = 32;

/// An expression that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: String,
    /// Its number among those of the schema.
    number: usize,
    /// Reads every byte once, with states that are computed when they are needed.
    automaton: DFA,
    /// Looks at all states for every byte. It is for expressions that need too many of the computed ones.
    simulation: PikeVM,
}

/// What searches have computed, for each expression of a schema.
#[derive(Debug, Default)]
pub(crate) struct Searches(Vec<Option<Cache>>);

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// `None` if the search would have cost more than was allowed.
    pub is_match: Option<bool>,
    pub cost: usize,
}

impl Pattern {
    /// Returns an expression, or why it cannot be used.
    pub fn new(source: &str, number: usize) -> Result<Self, String> {
        if source.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        let unusable = |reason: String| format!("the pattern cannot be used: {reason}");
        // Only whether something matches counts, so a match may begin or end within a character.
        let config = thompson::Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(LARGEST));
        let syntax = syntax::Config::new().utf8(false);
        let states = NFA::compiler()
            .configure(config)
            .syntax(syntax)
            .build(&translate(source))
            .map_err(|error| unusable(in_words(&error)))?;
        let simulation = PikeVM::new_from_nfa(states.clone()).map_err(|error| unusable(in_words(&error)))?;
        let config = Config::new()
            .cache_capacity(CACHE)
            .minimum_cache_clear_count(Some(MOST_CLEARS))
            .skip_cache_capacity_check(true);
        let automaton = DFA::builder()
            .configure(config)
            .build_from_nfa(states)
            .map_err(|error| unusable(in_words(&error)))?;
        Ok(Self { source: source.to_owned(), number, automaton, simulation })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns how many bytes the automaton takes.
    pub fn size(&self) -> usize {
        self.automaton.get_nfa().memory_usage()
    }

    /// Searches a text. `most` is what it may cost.
    pub fn search(&self, text: &str, searches: &mut Searches, most: usize) -> Found {
        let input = Input::new(text).earliest(true);
        if searches.0.len() <= self.number {
            searches.0.resize_with(self.number + 1, || None);
        }
        let cache = searches.0[self.number].get_or_insert_with(|| self.automaton.create_cache());
        let cost = 1 + text.len() / BYTES;
        if let Ok(place) = self.automaton.try_search_fwd(cache, &input) {
            return Found { is_match: Some(place.is_some()), cost };
        }
        let states = self.simulation.get_nfa().states().len();
        let cost = cost.saturating_add(text.len().saturating_mul(states) / STATES);
        let is_match = (cost <= most).then(|| {
            let mut cache = self.simulation.create_cache();
            self.simulation.is_match(&mut cache, input)
        });
        Found { is_match, cost }
    }
}
