//! The subcommands: one row each feeds the parser and the help.

use crate::arguments::Action;
use crate::{auth, extension, mcp, sandbox, sessions, trust};

/// A subcommand.
#[derive(Debug)]
pub(crate) struct Subcommand {
    pub name: &'static str,
    pub action: Action,
    /// What it does, in a few words.
    pub about: &'static str,
    /// How it is called, and anything else that a user has to know.
    pub usage: &'static str,
    /// Command lines, one per line.
    pub examples: &'static str,
    /// Whether words may follow it.
    pub takes_words: bool,
    /// Whether a command may follow it after `--`.
    pub takes_command: bool,
    /// The flags that have an effect on it, besides those that all have.
    pub flags: &'static [&'static str],
}

/// Flags that every subcommand takes.
const COMMON: &[&str] = &["--help", "--version", "--cwd"];

/// Every subcommand, in the order of the help.
pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "demo",
        action: Action::Demo,
        about: "show an exchange with a scripted model (no key, no network)",
        usage: "\
bowline demo

Starts bowline in RPC mode, as a client does, and shows every line that is exchanged. The model is a script; the tools are
real and work in a temporary folder, which is removed at the end.
",
        examples: "bowline demo\n",
        takes_words: false,
        takes_command: false,
        flags: &[],
    },
    Subcommand {
        name: "sessions",
        action: Action::Sessions,
        about: "sessions on disk: list, show, rm, undo, fsck",
        usage: sessions::USAGE,
        examples: "\
bowline sessions list --all --search parser
bowline sessions show 0199
bowline sessions undo 0199 --dry-run
bowline sessions fsck --repair
",
        takes_words: true,
        takes_command: false,
        flags: &["--all", "--search", "--json", "--repair", "--run", "--dry-run", "--session-dir", "--dialect"],
    },
    Subcommand {
        name: "auth",
        action: Action::Auth,
        about: "keys of providers: list, set, remove, check",
        usage: auth::USAGE,
        examples: "\
bowline auth set --provider anthropic
bowline auth set --provider groq < key.txt
bowline auth check --online
",
        takes_words: true,
        takes_command: false,
        flags: &["--provider", "--json", "--online"],
    },
    Subcommand {
        name: "extension",
        action: Action::Extension,
        about: "extensions: new, check, list",
        usage: extension::USAGE,
        examples: "\
bowline extension new gate --lang python
bowline extension check gate
bowline extension list
",
        takes_words: true,
        takes_command: false,
        flags: &[
            "--lang",
            "--out",
            "--json",
            "--verbose",
            "--extension",
            "--no-extensions",
            "--approve",
            "--no-approve",
            "--dialect",
        ],
    },
    Subcommand {
        name: "export",
        action: Action::Export,
        about: "render a session as an HTML page",
        usage: "\
bowline export PATH|ID [--out FILE]

Writes one HTML page without scripts from elsewhere, into the current folder unless --out names a file, and prints its
path. A unique prefix of an id is enough; `bowline sessions list` shows them.
",
        examples: "bowline export 0199 --out session.html --name \"What we did\"\n",
        takes_words: true,
        takes_command: false,
        flags: &["--out", "--name", "--session-dir", "--no-session", "--dialect"],
    },
    Subcommand {
        name: "mcp",
        action: Action::Mcp,
        about: "MCP servers: list, test, call",
        usage: mcp::USAGE,
        examples: "\
bowline mcp list
bowline mcp test time
bowline mcp call time get_current_time '{\"timezone\": \"Europe/Paris\"}'
",
        takes_words: true,
        takes_command: false,
        flags: &["--json", "--approve", "--no-approve"],
    },
    Subcommand {
        name: "trust",
        action: Action::Trust,
        about: "decide whether what a project brings along is used",
        usage: trust::USAGE,
        examples: "\
bowline trust
bowline trust ~/projects
bowline trust --list
bowline trust --remove ~/projects
",
        takes_words: true,
        takes_command: false,
        flags: &["--list", "--remove", "--no-approve", "--json"],
    },
    Subcommand {
        name: "sandbox",
        action: Action::Sandbox,
        about: "what tools may do: run, explain, check",
        usage: sandbox::USAGE,
        examples: "\
bowline sandbox explain --sandbox workspace-write
bowline sandbox run -- npm test
bowline sandbox run --network full --writable ~/.cache/pip -- pip install -e .
bowline sandbox check --level landlock
",
        takes_words: true,
        takes_command: true,
        flags: &["--sandbox", "--network", "--writable", "--workspace", "--level", "--json"],
    },
    Subcommand {
        name: "schema",
        action: Action::Schema,
        about: "print a protocol as JSON Schema",
        usage: "\
bowline schema [--dialect NAME | extension]

Prints the commands, responses and events of a dialect as JSON Schema, or the records that bowline and extensions exchange.
The default is the dialect pi.
",
        examples: "bowline schema --dialect omp > omp.json\nbowline schema extension > extension.json\n",
        takes_words: true,
        takes_command: false,
        flags: &["--dialect"],
    },
    Subcommand {
        name: "help",
        action: Action::Help,
        about: "show all options, or the help of a subcommand; help settings lists the settings",
        usage: "bowline help [SUBCOMMAND|settings]\n",
        examples: "bowline help sessions\nbowline help settings\n",
        takes_words: true,
        takes_command: false,
        flags: &[],
    },
];

impl Subcommand {
    /// Tells whether a flag has an effect on the subcommand.
    pub fn has_flag(&self, long: &str) -> bool {
        self.flags.contains(&long) || COMMON.contains(&long)
    }
}

/// Returns the subcommand with this name.
pub(crate) fn find(name: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name)
}

/// Returns the names of all subcommands.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SUBCOMMANDS.iter().map(|subcommand| subcommand.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{FLAGS, Group};

    #[test]
    fn flags_of_subcommands_exist_and_each_is_for_some_subcommand() {
        for flag in SUBCOMMANDS.iter().flat_map(|subcommand| subcommand.flags).chain(COMMON) {
            assert!(FLAGS.iter().any(|known| known.long == *flag), "{flag}");
        }
        for flag in FLAGS.iter().filter(|flag| flag.group == Group::Subcommand) {
            let is_for_listing = flag.long == "--list-models" || flag.long == "--local";
            let is_used = SUBCOMMANDS.iter().any(|subcommand| subcommand.has_flag(flag.long));
            assert!(is_used || is_for_listing, "{} is for no subcommand", flag.long);
        }
    }
}
