//! What git runs or writes that its own command line names. A rule such as `git log` is about reading a history, and nobody
//! thinks of `--output=FILE` who agrees to it. So an option of that kind is allowed only by a rule that has it among its
//! words; with it, the call is asked about. What git takes from its configuration does not matter here: to change that is
//! a command of its own.

/// A subcommand for which a rule can be offered.
struct Subcommand {
    name: &'static str,
    /// Options that run a program, or write a file, that they are given. Git also takes them shortened.
    long: &'static [&'static str],
    /// The same as letters, which may stand in one word with others.
    short: &'static [char],
}

const fn harmless(name: &'static str) -> Subcommand {
    Subcommand { name, long: &[], short: &[] }
}

const fn with_output(name: &'static str) -> Subcommand {
    Subcommand { name, long: &["--output"], short: &[] }
}

const fn with(name: &'static str, long: &'static [&'static str], short: &'static [char]) -> Subcommand {
    Subcommand { name, long, short }
}

/// The subcommands for which a rule can be offered. The others run what they are given as a matter of course (`bisect run`,
/// `rebase -x`, `submodule foreach`, `difftool`), change settings, or write wherever they are told to (`clone`, `worktree`).
const SUBCOMMANDS: &[Subcommand] = &[
    harmless("add"),
    with_output("blame"),
    harmless("branch"),
    harmless("cat-file"),
    harmless("check-ignore"),
    harmless("checkout"),
    with("cherry-pick", &["--strategy"], &[]),
    harmless("commit"),
    harmless("describe"),
    with_output("diff"),
    with("fetch", &["--upload-pack"], &[]),
    harmless("for-each-ref"),
    with("grep", &["--open-files-in-pager"], &['O']),
    with_output("log"),
    harmless("ls-files"),
    with("ls-remote", &["--upload-pack", "--exec"], &[]),
    harmless("ls-tree"),
    with("merge", &["--strategy"], &['s']),
    harmless("merge-base"),
    harmless("mv"),
    with("pull", &["--upload-pack", "--strategy", "--output"], &['s']),
    with("push", &["--receive-pack", "--exec"], &[]),
    with_output("reflog"),
    harmless("reset"),
    harmless("restore"),
    with("revert", &["--strategy"], &[]),
    with_output("rev-list"),
    harmless("rev-parse"),
    harmless("rm"),
    with_output("shortlog"),
    with_output("show"),
    harmless("show-ref"),
    with_output("stash"),
    harmless("status"),
    harmless("switch"),
    harmless("tag"),
];

/// Tells whether a rule can be offered for a subcommand.
pub(super) fn is_offered(subcommand: &str) -> bool {
    find(subcommand).is_some()
}

/// Tells whether a word after the subcommand, or what the shell makes of it, may have git run or write something that it
/// names.
pub(super) fn is_dangerous(subcommand: &str, word: &str, has_glob: bool) -> bool {
    let Some(Subcommand { long, short, .. }) = find(subcommand) else { return false };
    if long.is_empty() && short.is_empty() {
        return false;
    }
    // A pattern may stand for a file whose name is an option.
    if has_glob && !word.starts_with(|first: char| first.is_alphanumeric() || "./_".contains(first)) {
        return true;
    }
    match word.strip_prefix("--") {
        // Alone it ends the options, or is the value of one.
        Some("") => false,
        Some(_) => {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            long.iter().any(|option| option.starts_with(name))
        }
        None => word.starts_with('-') && word.contains(*short),
    }
}

fn find(subcommand: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.iter().find(|known| known.name == subcommand)
}
