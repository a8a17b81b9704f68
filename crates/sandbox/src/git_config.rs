//! Whether the configuration of a repository makes git run programs or use other files. Only that of a repository which
//! a command has made is judged: existing ones are protected as they are.

use std::path::Path;

/// The longest configuration that is read. A longer one is not believed.
const LONGEST: u64 = 256 * 1024;

/// Keys of the section `core` that only describe the repository.
const HARMLESS_IN_CORE: &[&str] = &[
    "abbrev",
    "autocrlf",
    "bare",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "precomposeunicode",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "symlinks",
    "untrackedcache",
];

/// Keys of the sections for other repositories.
const HARMLESS_IN_REMOTE: &[&str] =
    &["fetch", "mirror", "partialclonefilter", "promisor", "prune", "push", "pushurl", "tagopt", "url"];

/// Keys of the sections for submodules. `update` may be a command.
const HARMLESS_IN_SUBMODULE: &[&str] =
    &["active", "branch", "fetchrecursesubmodules", "ignore", "path", "shallow", "url"];

/// Sections of which no key runs a program.
const HARMLESS_SECTIONS: &[&str] = &[
    "advice",
    "branch",
    "color",
    "column",
    "extensions",
    "feature",
    "fetch",
    "index",
    "init",
    "pack",
    "pull",
    "push",
    "rebase",
    "status",
    "user",
];

/// Tells whether the configuration at a path is there and may make git run programs.
pub(crate) fn runs_programs(path: &Path) -> bool {
    match bowline_files::read_text(path, LONGEST) {
        Ok(text) => !is_harmless(&text),
        // What is there and cannot be read as a text is not git's.
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

/// Tells whether every line is one that is known to be harmless. What is not understood is not.
fn is_harmless(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        // A line that goes on in the next one could hide anything there.
        if line.ends_with('\\') {
            return false;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some((name, after)) = rest.split_once(']') else { return false };
            let name = name.split_ascii_whitespace().next().unwrap_or_default();
            section = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
            return after.trim().is_empty();
        }
        let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        is_harmless_key(&section, &key)
    })
}

fn is_harmless_key(section: &str, key: &str) -> bool {
    match section {
        "core" => HARMLESS_IN_CORE.contains(&key),
        "remote" => HARMLESS_IN_REMOTE.contains(&key),
        "submodule" => HARMLESS_IN_SUBMODULE.contains(&key),
        _ => HARMLESS_SECTIONS.contains(&section) && key != "signingkey",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_as_git_writes_it_is_harmless() {
        let cloned = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      [remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                      [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\n# text\n[user]\n\tname = A B\n";
        assert!(is_harmless(cloned));
    }

    #[test]
    fn whatever_may_run_something_or_is_not_understood_is_not() {
        for text in [
            "[core]\n\tfsmonitor = evil",
            "[CORE]\nhooksPath=/x",
            "[core] fsmonitor = evil",
            "[alias]\n\tst = !evil",
            "[include]\n\tpath = evil",
            "[filter \"x\"]\n\tsmudge = evil",
            "[remote \"o\"]\n\tuploadpack = evil",
            "[submodule \"s\"]\n\tupdate = !evil",
            "[core]\n\tbare = false\\\nfsmonitor = evil",
            "[core",
            "[credential]\n\thelper = evil",
            "worktree = /elsewhere",
        ] {
            assert!(!is_harmless(text), "{text}");
        }
    }
}
