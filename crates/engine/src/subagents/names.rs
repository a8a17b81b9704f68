//! The ids of subagents, by which clients know them and their files are named.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The longest name that is taken from the model.
const LONGEST: usize = 48;

/// The ids that a session has given away.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<HashSet<String>>);

impl Names {
    /// Returns an id that no other subagent of the session has: `wanted`, or the name of the agent, with a number if
    /// there was another one. No file in `folder` has its name.
    pub fn take(&self, wanted: Option<&str>, agent: &str, folder: Option<&Path>) -> String {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = wanted.map(plain).filter(|name| !name.is_empty());
        // Some file systems take capitals for small letters.
        let mut is_free = |id: &str| {
            let has_file = || folder.is_some_and(|folder| folder.join(format!("{id}.jsonl")).exists());
            !has_file() && taken.insert(id.to_lowercase())
        };
        if let Some(name) = &named
            && is_free(name)
        {
            return name.clone();
        }
        let first = if named.is_some() { 2 } else { 1 };
        let base = named.unwrap_or_else(|| agent.to_owned());
        let mut numbered = (first..=u64::MAX).map(|number| format!("{base}-{number}"));
        numbered.find(|id| is_free(id)).unwrap_or(base)
    }
}

/// Returns the letters and digits of a name, with hyphens between them, so that it is safe in a file name.
fn plain(name: &str) -> String {
    let words = name.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let plain: String = words.join("-").chars().take(LONGEST).collect();
    plain.trim_matches(['-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_safe_in_file_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("explore-1.jsonl"), "").unwrap();
        let long = "x".repeat(100);
        let names = Names::default();
        let take = |wanted| names.take(wanted, "explore", Some(folder.path()));
        assert_eq!([take(None), take(None)], ["explore-2", "explore-3"]);
        assert_eq!(
            [take(Some("Parser tests")), take(Some("parser-TESTS")), take(Some("Parser tests"))],
            ["Parser-tests", "parser-TESTS-2", "Parser-tests-3"]
        );
        assert_eq!(take(Some("../../etc/passwd")), "etc-passwd");
        assert_eq!(take(Some("..")), "explore-4");
        assert_eq!(take(Some(&long)).len(), LONGEST);
        assert_eq!(take(Some("ä_b_")), "b");
    }
}
