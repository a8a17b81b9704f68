//! Which files of a package are used: patterns in its manifest, and in the entry of the settings.

use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use super::glob;
use crate::folder_search::SKILL_FILE;

/// The patterns of a list. Paths and patterns are relative to the package.
#[derive(Debug, Default)]
pub(super) struct Selection {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    verb: Verb,
    target: String,
    glob: Option<GlobMatcher>,
}

/// What a pattern does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// A plain pattern: only what matches some of them is used.
    Only,
    /// `!pattern`
    Exclude,
    /// `+path`
    Keep,
    /// `-path`
    Remove,
}

impl Selection {
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Self {
        let rule = |text: &String| {
            let (verb, target) = match text.split_at_checked(1) {
                Some(("!", rest)) => (Verb::Exclude, rest),
                Some(("+", rest)) => (Verb::Keep, rest),
                Some(("-", rest)) => (Verb::Remove, rest),
                _ => (Verb::Only, text.as_str()),
            };
            let target = target.strip_prefix("./").unwrap_or(target).to_owned();
            Rule { verb, glob: glob::pattern(&target), target }
        };
        Self { rules: patterns.into_iter().map(rule).collect() }
    }

    /// Returns whether a file is used.
    pub fn keeps(&self, root: &Path, file: &Path) -> bool {
        let any = |verb: Verb| {
            let mut rules = self.rules.iter().filter(|rule| rule.verb == verb);
            rules.any(|rule| rule.matches(root, file))
        };
        let has_only = self.rules.iter().any(|rule| rule.verb == Verb::Only);
        let is_wanted = (!has_only || any(Verb::Only)) && !any(Verb::Exclude);
        (is_wanted || any(Verb::Keep)) && !any(Verb::Remove)
    }

    /// Returns what the patterns say of a file if nothing is used by itself: the last one that matches counts.
    pub fn decides(&self, root: &Path, file: &Path) -> Option<bool> {
        let last = self.rules.iter().rev().find(|rule| rule.matches(root, file))?;
        Some(matches!(last.verb, Verb::Only | Verb::Keep))
    }
}

impl Rule {
    /// Tells whether it is about a file. A skill may be named by its folder.
    fn matches(&self, root: &Path, file: &Path) -> bool {
        let folder = file.parent().filter(|_| file.file_name().is_some_and(|name| name == SKILL_FILE));
        let mut paths = [Some(file), folder].into_iter().flatten();
        paths.any(|path| match self.verb {
            Verb::Keep | Verb::Remove => path == root.join(&self.target),
            Verb::Only | Verb::Exclude => self.glob.as_ref().is_some_and(|glob| {
                glob.is_match(path.strip_prefix(root).unwrap_or(path))
                    || glob.is_match(path)
                    || path.file_name().map(PathBuf::from).is_some_and(|name| glob.is_match(name))
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patterns: &[&str], kept: &[&str]) {
        let patterns: Vec<_> = patterns.iter().map(|text| (*text).to_owned()).collect();
        let selection = Selection::new(&patterns);
        let files = ["e/a.ts", "e/b.ts", "e/legacy.ts", "s/x/SKILL.md", "s/y/SKILL.md"];
        let root = Path::new("/p");
        let found: Vec<_> =
            files.into_iter().filter(|file| selection.keeps(root, &root.join(file))).collect();
        assert_eq!(found, kept, "{patterns:?}");
    }

    #[test]
    fn plain_patterns_choose_and_the_others_change_the_choice() {
        check(&[], &["e/a.ts", "e/b.ts", "e/legacy.ts", "s/x/SKILL.md", "s/y/SKILL.md"]);
        check(&["e/*.ts", "!e/legacy.ts"], &["e/a.ts", "e/b.ts"]);
        check(&["./e/*.ts", "-e/b.ts", "!a.ts", "+e/a.ts"], &["e/a.ts", "e/legacy.ts"]);
        check(&["s/*"], &["s/x/SKILL.md", "s/y/SKILL.md"]);
        check(&["-s/x", "!e/**"], &["s/y/SKILL.md"]);
    }

    #[test]
    fn last_pattern_decides_if_nothing_is_used_by_itself() {
        let patterns = ["+e/a.ts", "!e/*", "e/b.ts"].map(ToOwned::to_owned);
        let selection = Selection::new(&patterns);
        let decides = |file: &str| selection.decides(Path::new("/p"), &Path::new("/p").join(file));
        assert_eq!(decides("e/a.ts"), Some(false));
        assert_eq!(decides("e/b.ts"), Some(true));
        assert_eq!(decides("s/x/SKILL.md"), None);
    }
}
