//! The regular expressions of rules: one automaton for all of them, which reads every byte of a text once.
//!
//! Authors write them for JavaScript, so they are translated first. There is no backtracking, and so nothing that takes
//! longer than a multiple of the text; what needs backtracking (look-around, references to groups) is refused.

use bowline_json_schema::javascript_pattern::{in_words, translate};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

/// The most bytes of an expression, and of the automaton that it becomes.
const LONGEST: usize = 4096;
const LARGEST: usize = 128 * 1024;

/// What the computed states of an automaton may take. When it is full they are computed again, but not without end: an
/// expression that needs ever more states is made to take time.
const CACHE: usize = 1024 * 1024;
const MAX_CLEARS: usize = 8;

/// The automaton of several expressions.
#[derive(Debug)]
pub(super) struct Patterns(DFA);

/// A text that is searched while it grows.
#[derive(Debug)]
pub(super) struct Search {
    cache: Cache,
    /// Where the automaton is; `None` if nothing that follows is searched.
    state: Option<LazyStateID>,
    /// How many bytes were looked at.
    #[cfg(test)]
    pub looked_at: usize,
}

/// Returns the size of an expression's automaton in bytes, or why it cannot be used.
pub(super) fn check(pattern: &str) -> Result<usize, String> {
    if pattern.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let patterns = Patterns::build(&[pattern], Some(LARGEST))?;
    let mut matches_nothing = false;
    patterns.search().end(&patterns, |_| matches_nothing = true);
    if matches_nothing {
        Err("it matches the empty text".to_owned())
    } else {
        Ok(patterns.0.get_nfa().memory_usage())
    }
}

impl Patterns {
    /// Returns the automaton of expressions that were checked.
    pub fn new(patterns: &[&str]) -> Result<Self, String> {
        Self::build(patterns, None)
    }

    fn build(patterns: &[&str], size_limit: Option<usize>) -> Result<Self, String> {
        let translated: Vec<_> = patterns.iter().map(|pattern| translate(pattern)).collect();
        // Only whether something matches counts, so a match may begin or end within a character.
        let config = thompson::Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(size_limit);
        let syntax = syntax::Config::new().utf8(false);
        let automaton = NFA::compiler().configure(config).syntax(syntax).build_many(&translated);
        let automaton = automaton.map_err(|error| in_words(&error))?;
        let config = Config::new()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE)
            .minimum_cache_clear_count(Some(MAX_CLEARS))
            .skip_cache_capacity_check(true);
        let built = DFA::builder().configure(config).build_from_nfa(automaton);
        built.map(Self).map_err(|error| in_words(&error))
    }

    /// Starts the search of a text.
    pub fn search(&self) -> Search {
        let mut search = Search {
            cache: self.0.create_cache(),
            state: None,
            #[cfg(test)]
            looked_at: 0,
        };
        search.restart(self);
        search
    }
}

impl Search {
    /// Starts the search of another text. What was computed for the last one is kept.
    pub fn restart(&mut self, patterns: &Patterns) {
        if self.cache.clear_count() > 0 {
            self.cache.reset(&patterns.0);
        }
        self.state = patterns.0.start_state_forward(&mut self.cache, &Input::new("")).ok();
    }

    /// Searches more of the text, and calls `found` with the number of each expression that matches. One that ends with
    /// the text so far is found with what follows it.
    pub fn feed(&mut self, patterns: &Patterns, text: &str, mut found: impl FnMut(usize)) {
        let Some(mut state) = self.state.take() else { return };
        for byte in text.bytes() {
            #[cfg(test)]
            {
                self.looked_at += 1;
            }
            match patterns.0.next_state(&mut self.cache, state, byte) {
                Ok(next) => state = next,
                Err(_) => return,
            }
            if state.is_tagged() {
                if !state.is_match() {
                    return;
                }
                self.report(patterns, state, &mut found);
            }
        }
        self.state = Some(state);
    }

    /// Ends the text.
    pub fn end(&mut self, patterns: &Patterns, mut found: impl FnMut(usize)) {
        let Some(state) = self.state.take() else { return };
        if let Ok(state) = patterns.0.next_eoi_state(&mut self.cache, state)
            && state.is_match()
        {
            self.report(patterns, state, &mut found);
        }
    }

    fn report(&self, patterns: &Patterns, state: LazyStateID, found: &mut impl FnMut(usize)) {
        for index in 0..patterns.0.match_len(&self.cache, state) {
            found(patterns.0.match_pattern(&self.cache, state, index).as_usize());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of the expressions match a text that arrives in pieces.
    fn matches(patterns: &[&str], pieces: &[&str]) -> Vec<usize> {
        let patterns = Patterns::new(patterns).unwrap();
        let mut search = patterns.search();
        let mut found = Vec::new();
        for piece in pieces {
            search.feed(&patterns, piece, |pattern| found.push(pattern));
        }
        search.end(&patterns, |pattern| found.push(pattern));
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn match_is_found_across_pieces_wherever_they_are_cut() {
        let text = "let x = thing.unwrap(); // ünwrap";
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let pieces = [&text[..cut], &text[cut..]];
            assert_eq!(matches(&[r"\.unwrap\(\)", "never", "ün"], &pieces), [0, 2], "{cut}");
        }
        let letters: Vec<_> = text.split("").collect();
        assert_eq!(matches(&[r"\.unwrap\(\)", "never", "ün"], &letters), [0, 2]);
    }

    #[test]
    fn anchors_are_the_bounds_of_the_text() {
        assert_eq!(matches(&["^a", "c$", "^b", "b$", "(?m)^b", r"b\b"], &["a\nb", "c"]), [0, 1, 4]);
    }

    #[test]
    fn classes_are_those_of_javascript() {
        let check = |pattern: &str, text: &str| !matches(&[pattern], &[text]).is_empty();
        assert!(check(r"[\w.]+@x", "a.b@x") && !check(r"^\w$", "é") && check(r"\W", "é"));
        assert!(check(r"[[(]x", "[x") && check(r"[&&]", "&") && check(r"a[^]b", "a\nb") && !check("[]", "a"));
        assert!(check(r"a\b", "aé") && !check(r"é\b", "é a") && check(r"é\B", "é a"));
        assert!(check(r"https?:\/\/", "http://") && check(r"(?i)TODO", "todo") && check(r"\u0041", "A"));
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_a_reason() {
        for (pattern, reason) in [
            ("(", "unclosed group"),
            ("(?=x)", "look-around"),
            (r"(a)\1", "backreferences"),
            ("a*", "empty text"),
            (r"(\p{L}{100}){100}", "exceeded limit"),
            (&*"x".repeat(5000), "longer than"),
        ] {
            let refused = check(pattern).unwrap_err();
            assert!(refused.contains(reason), "{pattern}: {refused}");
        }
        assert!(check(r"console\.log\(").is_ok());
    }

    #[test]
    fn search_that_needs_ever_more_states_is_given_up_and_the_next_one_starts_anew() {
        let expression = "[ab]*a[ab]{700}c";
        assert!(check(expression).is_ok());
        let patterns = Patterns::new(&[expression]).unwrap();
        let mut search = patterns.search();
        let mut number = 1_u64;
        let mut letter = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if number >> 63 == 0 { "a" } else { "b" }
        };
        let most = 200_000;
        let fed = (0..most).take_while(|_| {
            search.feed(&patterns, letter(), |_| {});
            search.state.is_some()
        });
        assert!(fed.count() < most - 1);
        search.restart(&patterns);
        let mut found = 0;
        search.feed(&patterns, &("a".repeat(701) + "c "), |_| found += 1);
        assert_eq!(found, 1);
    }

    #[test]
    fn every_byte_is_looked_at_once_whatever_the_expression() {
        // Takes exponential time where expressions are matched by backtracking.
        let patterns = Patterns::new(&["(x+x+)+y", "(a|a)*b{3}c"]).unwrap();
        let mut search = patterns.search();
        "x".repeat(200_000).as_bytes().chunks(7).for_each(|piece| {
            search.feed(&patterns, std::str::from_utf8(piece).unwrap(), |_| {});
        });
        assert_eq!(search.looked_at, 200_000);
    }

    proptest::proptest! {
        #[test]
        fn expressions_are_used_or_refused(pattern in "[a\\[\\](){}^$|?*+.\\\\bBdDwWsu1,:=!<&~\\-é]{0,14}", text in "[ab1 é]{0,20}") {
            if check(&pattern).is_ok() {
                matches(&[&pattern], &[&text]);
            }
        }
    }
}
