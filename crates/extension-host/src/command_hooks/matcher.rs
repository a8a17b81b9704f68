//! Which tools, or sources of an event, a group of hooks is for.

use regex_automata::meta::{Config, Regex};

/// The most memory that a compiled pattern takes.
const LARGEST_PATTERN: usize = 1 << 20;

/// What the `matcher` of a group stands for. As in Claude Code, a text of letters, digits, `_`, `-`, spaces, `,` and `|`
/// is a list of names; any other is a regular expression that is searched for.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Returns what a text stands for, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let is_plain = |character: char| character.is_alphanumeric() || "_- ,|".contains(character);
        if text.chars().all(is_plain) {
            let names = text.split(['|', ',']).map(|name| name.trim().to_owned());
            return Ok(Self::Names(names.filter(|name| !name.is_empty()).collect()));
        }
        let config =
            Config::new().nfa_size_limit(Some(LARGEST_PATTERN)).hybrid_cache_capacity(LARGEST_PATTERN);
        let regex =
            Regex::builder().configure(config).build(text).map_err(|error| match error.syntax_error() {
                Some(error) => one_line(&error.to_string()),
                None => error.to_string(),
            })?;
        Ok(Self::Pattern(Box::new(regex)))
    }

    /// Tells whether one of the names that something has is meant.
    pub fn matches(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Names(wanted) => names.iter().any(|name| wanted.iter().any(|wanted| wanted == name)),
            Self::Pattern(regex) => names.iter().any(|name| regex.is_match(*name)),
        }
    }
}

/// Returns the last line of an error, which says what is wrong; those before it show the pattern again.
fn one_line(error: &str) -> String {
    error.lines().last().unwrap_or(error).trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let matcher = Matcher::parse(pattern).unwrap();
        for name in matching {
            assert!(matcher.matches(&[name]), "{pattern} {name}");
        }
        for name in others {
            assert!(!matcher.matches(&[name]), "{pattern} {name}");
        }
    }

    #[test]
    fn lists_of_names_match_whole_names() {
        check("Bash", &["Bash"], &["BashOutput", "bash", "MyBash"]);
        check("Edit|Write", &["Edit", "Write"], &["MultiEdit"]);
        check("Edit, Write", &["Edit", "Write"], &["Edit, Write"]);
        check("mcp__memory", &["mcp__memory"], &["mcp__memory__add"]);
    }

    #[test]
    fn nothing_and_a_star_match_everything() {
        for pattern in ["", "*", ".*"] {
            check(pattern, &["Bash", "mcp__a__b", ""], &[]);
        }
    }

    #[test]
    fn other_texts_are_regular_expressions_as_people_write_them() {
        check("mcp__memory__.*", &["mcp__memory__add"], &["mcp__github__add"]);
        check("mcp__*", &["mcp__memory__add"], &["Bash"]);
        check("^Notebook", &["NotebookEdit"], &["MyNotebook"]);
        check("^(Edit|Write)$", &["Edit", "Write"], &["MultiEdit"]);
    }

    #[test]
    fn bad_and_huge_patterns_are_refused_in_one_line() {
        for pattern in ["(Bash", "(?!Bash).*", "(\\w{500}){500}"] {
            let error = Matcher::parse(pattern).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
