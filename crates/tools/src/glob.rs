//! Globs as models write them: `*.rs` matches at any depth, `src/**/*.rs` from the root or anywhere below, `!…` everything
//! else.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::Error;

/// A glob for paths relative to the root of a search.
#[derive(Debug)]
pub(crate) struct Glob {
    set: GlobSet,
    negated: bool,
}

impl Glob {
    pub(crate) fn new(given: &str) -> Result<Self, Error> {
        let (negated, pattern) = given.strip_prefix('!').map_or((false, given), |rest| (true, rest));
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut set = GlobSetBuilder::new();
        // A leading slash anchors the pattern at the root.
        let anywhere = pattern.strip_prefix('/').is_none().then(|| format!("**/{pattern}"));
        let from_root = pattern.strip_prefix('/').unwrap_or(pattern).to_owned();
        let error =
            |error: globset::Error| Error::Glob { glob: given.to_owned(), reason: error.kind().to_string() };
        for pattern in [Some(from_root), anywhere].into_iter().flatten() {
            set.add(GlobBuilder::new(&pattern).literal_separator(true).build().map_err(error)?);
        }
        Ok(Self { set: set.build().map_err(error)?, negated })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.set.is_match(path) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_matches(glob: &str, path: &str, expected: bool) {
        assert_eq!(Glob::new(glob).unwrap().matches(Path::new(path)), expected, "{glob} on {path}");
    }

    #[test]
    fn globs_match_what_models_expect() {
        check_matches("*.rs", "src/a/b.rs", true);
        check_matches("*.{ts,tsx}", "a.tsx", true);
        check_matches("src/**/*.rs", "src/lib.rs", true);
        check_matches("src/**/*.rs", "crates/x/src/a/lib.rs", true);
        check_matches("src/*.rs", "src/a/lib.rs", false);
        check_matches("/src/*.rs", "crates/src/lib.rs", false);
        check_matches("!*.rs", "lib.rs", false);
        check_matches("./docs/*.md", "docs/a.md", true);
    }

    #[test]
    fn invalid_glob_is_named() {
        assert!(Glob::new("{a").unwrap_err().to_string().contains("`{a`"));
    }
}
