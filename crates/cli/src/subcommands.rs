//! The subcommands: one row each feeds the parser and the help.

use crate::arguments::Action;
use crate::flags::{Group, flags};
use crate::similar::nearest;
use crate::{
    auth, chat, completions, config, doctor, extension, inspect, manual, mcp, packages, sandbox, sessions,
    trust,
};

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
    /// What its first word can be; none if it has no such word.
    pub verbs: &'static [Verb],
    /// Whether words may follow it.
    pub takes_words: bool,
    /// The flags that have an effect on it whatever its first word is, besides those that all have.
    pub flags: &'static [&'static str],
    /// Whether it starts bowline in RPC mode with the flags that have an effect there.
    pub passes_flags_on: bool,
}

/// The first word after a subcommand.
#[derive(Debug)]
pub(crate) struct Verb {
    pub name: &'static str,
    /// The flags that have an effect on it, besides those of the subcommand.
    pub flags: &'static [&'static str],
    /// How many words may follow it.
    pub most_words: usize,
    /// Whether a command may follow it after `--`.
    pub takes_command: bool,
}

/// Stands for any number of words.
const ANY: usize = usize::MAX;

const fn verb(name: &'static str, most_words: usize, flags: &'static [&'static str]) -> Verb {
    Verb { name, flags, most_words, takes_command: false }
}

/// Flags that every subcommand takes.
const COMMON: &[&str] = &["--help", "--version", "--cwd"];

/// Flags about a process as a whole that have an effect in RPC mode whoever the client is.
const LIMITS: &[&str] =
    &["--max-cost", "--max-tokens", "--max-turns", "--max-tool-calls", "--max-time", "--offline"];

/// Flags that do something else than serve a client.
const OTHER_WORK: &[&str] = &["--export", "--out"];

/// Every subcommand, in the order of the help.
pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "chat",
        action: Action::Chat,
        about: "talk with the agent on this terminal",
        usage: chat::USAGE,
        examples: "bowline chat\nbowline chat --model scripted/demo --no-session\nbowline chat -c \"And why did it fail?\"\n",
        verbs: &[],
        takes_words: true,
        flags: &[],
        passes_flags_on: true,
    },
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
        verbs: &[],
        takes_words: false,
        flags: &[],
        passes_flags_on: false,
    },
    Subcommand {
        name: "acp",
        action: Action::Rpc,
        about: "serve an editor by the Agent Client Protocol",
        usage: "\
bowline acp [flags]

Serves an editor on stdin and stdout: Zed, JetBrains, Neovim, Emacs, acpx and any other client of the Agent Client Protocol.
It is the same as bowline --mode rpc --dialect acp. The flags are the defaults of every session; the folder that a session
works in is the editor's. Without --ask, the user is asked before files are changed and commands are run.
",
        examples: "bowline acp\nbowline acp --model anthropic/claude-sonnet-5 --sandbox workspace-write\n",
        verbs: &[],
        takes_words: false,
        flags: &[],
        passes_flags_on: false,
    },
    Subcommand {
        name: "doctor",
        action: Action::Doctor,
        about: "say what is wrong here, and what to do about it",
        usage: doctor::USAGE,
        examples: "bowline doctor\nbowline doctor --online\n",
        verbs: &[],
        takes_words: false,
        flags: &[
            "--online",
            "--json",
            "--dialect",
            "--model",
            "--sandbox",
            "--session-dir",
            "--extension",
            "--no-extensions",
            "--approve",
            "--no-approve",
        ],
        passes_flags_on: false,
    },
    Subcommand {
        name: "config",
        action: Action::Config,
        about: "settings: show, get, set, unset, path",
        usage: config::USAGE,
        examples: "\
bowline config show sandbox
bowline config get maxTurns
bowline config set defaultProvider anthropic
bowline config set retry.maxRetries 5
bowline config set --project skills '[\"./tools/skills\"]'
",
        verbs: &[
            verb("show", 1, config::FLAGS),
            verb("get", 1, config::FLAGS),
            verb("set", 2, &["--project", "--approve", "--no-approve"]),
            verb("unset", 1, &["--project", "--approve", "--no-approve"]),
            verb("path", 0, &["--project"]),
        ],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
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
        verbs: &[
            verb("list", ANY, &["--all", "--search", "--json"]),
            verb("show", ANY, &["--json"]),
            verb("rm", ANY, &[]),
            verb("undo", ANY, &["--run", "--dry-run", "--json"]),
            verb("fsck", ANY, &["--repair", "--json"]),
        ],
        takes_words: true,
        flags: &["--session-dir", "--dialect"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "auth",
        action: Action::Auth,
        about: "keys of providers and logins: list, set, login, remove, check",
        usage: auth::USAGE,
        examples: "\
bowline auth set --provider anthropic
bowline auth set --provider groq < key.txt
bowline auth login my-provider --extension ./my-provider.ts
bowline auth check --online
",
        verbs: &[
            verb("list", 0, &["--json", "--extension", "--no-extensions"]),
            verb("set", ANY, &["--provider"]),
            verb("login", 1, &["--provider", "--extension", "--no-extensions", "--verbose"]),
            verb("remove", 1, &["--provider"]),
            verb("check", 1, &["--provider", "--json", "--online", "--extension", "--no-extensions"]),
        ],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
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
        verbs: &[
            verb("new", 1, &["--lang", "--out", "--json"]),
            verb("check", 1, &["--json", "--verbose", "--dialect"]),
            verb(
                "list",
                0,
                &[
                    "--json",
                    "--verbose",
                    "--extension",
                    "--no-extensions",
                    "--approve",
                    "--no-approve",
                    "--dialect",
                ],
            ),
        ],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
    },
    Subcommand {
        name: "install",
        action: Action::Packages(packages::Verb::Install),
        about: "install a package of extensions, skills and prompt templates",
        usage: packages::INSTALL_USAGE,
        examples: "\
bowline install npm:pi-subagents
bowline install git:github.com/NAME/REPOSITORY@v1
bowline install --local ./tools/my-package
",
        verbs: &[],
        takes_words: true,
        flags: &["--local", "--temporary", "--approve", "--no-approve"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "remove",
        action: Action::Packages(packages::Verb::Remove),
        about: "remove a package",
        usage: packages::REMOVE_USAGE,
        examples: "bowline remove npm:pi-subagents\n",
        verbs: &[],
        takes_words: true,
        flags: &["--local", "--approve", "--no-approve"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "list",
        action: Action::Packages(packages::Verb::List),
        about: "list the packages",
        usage: packages::LIST_USAGE,
        examples: "bowline list --json\n",
        verbs: &[],
        takes_words: false,
        flags: &["--json", "--approve", "--no-approve"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "update",
        action: Action::Packages(packages::Verb::Update),
        about: "update packages",
        usage: packages::UPDATE_USAGE,
        examples: "bowline update\nbowline update npm:pi-subagents\n",
        verbs: &[],
        takes_words: true,
        flags: &["--approve", "--no-approve"],
        passes_flags_on: false,
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
        verbs: &[],
        takes_words: true,
        flags: &["--out", "--name", "--session-dir", "--no-session", "--dialect"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "inspect",
        action: Action::Inspect,
        about: "show an exchange with an agent on a page, live or recorded",
        usage: inspect::USAGE,
        examples: "\
bowline inspect --model scripted/demo
bowline inspect -- pi --mode rpc
bowline inspect --save exchange.jsonl --save exchange.html -- bowline --mode rpc --dialect omp
bowline inspect exchange.jsonl
",
        verbs: &[],
        takes_words: true,
        flags: &["--save", "--dialect"],
        passes_flags_on: true,
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
        verbs: &[verb("list", 0, &[]), verb("test", ANY, &[]), verb("call", 3, &[])],
        takes_words: true,
        flags: &["--json", "--approve", "--no-approve"],
        passes_flags_on: false,
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
        verbs: &[],
        takes_words: true,
        flags: &["--list", "--remove", "--no-approve", "--json"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "sandbox",
        action: Action::Sandbox,
        about: "what tools may do: run, explain, check",
        usage: sandbox::USAGE,
        examples: "\
bowline sandbox explain --sandbox workspace-write
bowline sandbox run -- npm test
bowline sandbox run --network full --writable ~/.cache -- npm install
bowline sandbox check --level landlock
",
        verbs: &[
            Verb {
                takes_command: true,
                ..verb("run", ANY, &["--sandbox", "--network", "--writable", "--workspace"])
            },
            verb("explain", 0, &["--sandbox", "--network", "--writable", "--workspace", "--json"]),
            verb("check", 0, &["--level", "--json"]),
        ],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
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
        verbs: &[],
        takes_words: true,
        flags: &["--dialect"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "completions",
        action: Action::Completions,
        about: "print what bash, zsh or fish need to complete command lines",
        usage: completions::USAGE,
        examples: "\
bowline completions bash > ~/.local/share/bash-completion/completions/bowline
bowline completions fish > ~/.config/fish/completions/bowline.fish
bowline completions words -- --thinking m
",
        verbs: &[
            verb("bash", 0, &[]),
            verb("zsh", 0, &[]),
            verb("fish", 0, &[]),
            Verb { takes_command: true, ..verb("words", 0, &[]) },
        ],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
    },
    Subcommand {
        name: "man",
        action: Action::Man,
        about: "print a manual page, or write all of them to a folder",
        usage: manual::USAGE,
        examples: "bowline man | man -l -\nbowline man sessions | man -l -\nbowline man --out ~/.local/share/man\n",
        verbs: &[],
        takes_words: true,
        flags: &["--out"],
        passes_flags_on: false,
    },
    Subcommand {
        name: "help",
        action: Action::Help,
        about: "show all options, or the help of a subcommand; help settings lists the settings",
        usage: "bowline help [SUBCOMMAND|settings]\n",
        examples: "bowline help sessions\nbowline help settings\n",
        verbs: &[],
        takes_words: true,
        flags: &[],
        passes_flags_on: false,
    },
];

impl Subcommand {
    /// Tells whether a flag has an effect on the subcommand, at least with some first word.
    pub fn has_flag(&self, long: &str) -> bool {
        self.has_general_flag(long) || self.verbs.iter().any(|verb| verb.flags.contains(&long))
    }

    /// Tells whether a flag has an effect on the subcommand with this first word, or before any.
    pub fn has_flag_with(&self, long: &str, verb: Option<&Verb>) -> bool {
        let has_verb = |verb: &Verb| self.has_general_flag(long) || verb.flags.contains(&long);
        verb.map_or_else(|| self.has_flag(long), has_verb)
    }

    fn has_general_flag(&self, long: &str) -> bool {
        let is_passed_on = || {
            let is_served = |group: Group| !matches!(group, Group::Mode | Group::Subcommand);
            !OTHER_WORK.contains(&long)
                && flags().any(|flag| flag.long == long && (is_served(flag.group) || LIMITS.contains(&long)))
        };
        self.flags.contains(&long) || COMMON.contains(&long) || (self.passes_flags_on && is_passed_on())
    }

    /// Tells whether a command may follow it after `--`.
    pub fn takes_command(&self) -> bool {
        matches!(self.action, Action::Inspect) || self.verbs.iter().any(|verb| verb.takes_command)
    }

    /// Checks the words and flags after it. The error says what is wrong with the first of them that has no effect.
    pub fn check(&self, words: &[String], flags: &[&str], has_command: bool) -> Result<(), String> {
        let name = self.name;
        let see = format!("(see bowline help {name})");
        if let Some(flag) = flags.iter().find(|flag| !self.has_flag(flag)) {
            return Err(format!("{flag} is not an option of bowline {name} {see}"));
        }
        if !self.takes_words && !words.is_empty() {
            return Err(format!("bowline {name} takes no arguments {see}"));
        }
        let Some((word, rest)) = words.split_first().filter(|_| !self.verbs.is_empty()) else {
            return Ok(());
        };
        let Some(verb) = self.verbs.iter().find(|verb| verb.name == word) else {
            return Err(self.unknown_word(word));
        };
        let has_effect = |flag: &&&str| self.has_flag_with(flag, Some(verb));
        if let Some(flag) = flags.iter().find(|flag| !has_effect(flag)) {
            return Err(format!("{flag} is not an option of bowline {name} {word} {see}"));
        }
        match (verb.most_words, has_command && !verb.takes_command) {
            (_, true) => Err(format!("bowline {name} {word} takes no command {see}")),
            (0, _) if !rest.is_empty() => Err(format!("bowline {name} {word} takes no arguments {see}")),
            (most, _) if rest.len() > most => {
                let plural = if most == 1 { "" } else { "s" };
                Err(format!("bowline {name} {word} takes at most {most} argument{plural} {see}"))
            }
            _ => Ok(()),
        }
    }

    /// Says that a first word is unknown. It is only repeated if it resembles a known one: it may be a key.
    fn unknown_word(&self, word: &str) -> String {
        let names = || self.verbs.iter().map(|verb| verb.name);
        let known = names().collect::<Vec<_>>().join(", ");
        match nearest(word, names()) {
            Some(near) => {
                format!(
                    "unknown subcommand \"{word}\" of {}; did you mean {near}? (there are {known})",
                    self.name
                )
            }
            None => format!("unknown subcommand of {} (there are {known})", self.name),
        }
    }
}

/// Returns the subcommand with this name.
pub(crate) fn find(name: &str) -> Option<&'static Subcommand> {
    // pi has both names.
    let name = if name == "uninstall" { "remove" } else { name };
    SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name)
}

/// Returns the names of all subcommands.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SUBCOMMANDS.iter().map(|subcommand| subcommand.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_lists_the_subcommands() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (_, section) = page.split_once("The subcommands are ").unwrap();
        let (list, _) = section.split_once(". ").unwrap();
        let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, names().collect::<Vec<_>>());
    }

    #[test]
    fn flags_of_subcommands_exist_and_each_is_for_some_subcommand() {
        let of_verbs = SUBCOMMANDS.iter().flat_map(|subcommand| subcommand.verbs).flat_map(|verb| verb.flags);
        let all = SUBCOMMANDS.iter().flat_map(|subcommand| subcommand.flags).chain(COMMON).chain(of_verbs);
        for flag in all {
            assert!(flags().any(|known| known.long == *flag), "{flag}");
        }
        for flag in flags().filter(|flag| flag.group == Group::Subcommand) {
            let is_for_listing = flag.long == "--list-models" || flag.long == "--local";
            let is_used = SUBCOMMANDS.iter().any(|subcommand| subcommand.has_flag(flag.long));
            assert!(is_used || is_for_listing, "{} is for no subcommand", flag.long);
        }
    }
}
