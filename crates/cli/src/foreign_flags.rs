//! Flags of the emulated agents that bowline does not serve. A client may pass them, so each is known: ignoring one is
//! reported on stderr, and one that restricts what the agent may do is refused, because without it the agent would do
//! more than its user allowed.

use crate::flags::Takes::{self, Nothing, Value};

/// A flag that an emulated agent has and bowline has not.
#[derive(Debug)]
pub(crate) struct ForeignFlag {
    /// The dialects whose agent has it.
    dialects: &'static [&'static str],
    pub long: &'static str,
    pub takes: Takes,
    treatment: Treatment,
}

/// What happens if a client passes a flag.
#[derive(Debug)]
enum Treatment {
    /// It is ignored with a warning, which says why that is acceptable or what is missing.
    Ignored(&'static str),
    /// Extensions of the agent have it, not the agent itself: refused unless an extension registers it.
    OfExtension { reason: &'static str },
    /// It is refused, except with a value that restricts nothing.
    Refused { harmless: &'static [&'static str], reason: &'static str },
}

use Treatment::{Ignored, OfExtension, Refused};

const PI: &[&str] = &["pi", "pi-classic"];
const OMP: &[&str] = &["omp"];
const OPI: &[&str] = &["opi"];
const ALL: &[&str] = &["pi", "pi-classic", "omp", "opi", "operator", "operator-flat"];

const EXTENSIONS: Treatment = Ignored("bowline loads extensions with --extension");
const TERMINAL: Treatment = Ignored("bowline has no terminal interface");
const RUNS_EVERYTHING: Treatment = Ignored("bowline asks for no approval in any case");
const ROLES: Treatment = Ignored("bowline uses one model for everything; choose it with --model");
const IMPORT: Treatment = Ignored("bowline does not import the sessions of other agents");
const RPC_ONLY: Treatment = Ignored("bowline only serves clients; prompts are sent over stdin");
const PROFILES: Treatment = Ignored("bowline has no profiles; BOWLINE_HOME chooses the folder of its files");

const fn flag(
    dialects: &'static [&'static str],
    long: &'static str,
    takes: Takes,
    treatment: Treatment,
) -> ForeignFlag {
    ForeignFlag { dialects, long, takes, treatment }
}

/// Every such flag. A name may occur once for each agent, with another meaning.
pub(crate) const FOREIGN_FLAGS: &[ForeignFlag] = &[
    flag(PI, "--theme", Value("NAME"), TERMINAL),
    flag(PI, "--no-themes", Nothing, TERMINAL),
    flag(PI, "--use-theme", Value("NAME"), TERMINAL),
    flag(PI, "--tui-mode", Value("MODE"), TERMINAL),
    flag(
        PI,
        "--plan",
        Nothing,
        OfExtension {
            reason: "bowline has no plan mode, so tools could modify things; use an extension that has one, or --tools \
                     read,grep,find,ls",
        },
    ),
    flag(
        OMP,
        "--approval-mode",
        Value("MODE"),
        Refused {
            harmless: &["yolo"],
            reason: "bowline asks for no approval, so tools would modify things unasked; limit them with --tools \
                     read,grep,find,ls, or pass --approval-mode yolo",
        },
    ),
    flag(OMP, "--auto-approve", Nothing, RUNS_EVERYTHING),
    flag(OMP, "--yolo", Nothing, RUNS_EVERYTHING),
    flag(
        OMP,
        "--hook",
        Value("PATH"),
        Ignored("bowline does not run hooks, so what they block is not blocked"),
    ),
    flag(OMP, "--trusted-extension", Value("PATH"), EXTENSIONS),
    flag(OMP, "--plugin-dir", Value("FOLDER"), EXTENSIONS),
    flag(OMP, "--no-ui", Nothing, Ignored("bowline asks the client nothing in any case")),
    flag(OMP, "--no-lsp", Nothing, Ignored("bowline uses no language servers")),
    flag(OMP, "--no-pty", Nothing, Ignored("bowline runs commands without a terminal in any case")),
    flag(OMP, "--no-title", Nothing, Ignored("bowline generates no titles")),
    flag(
        OMP,
        "--add-dir",
        Value("FOLDER"),
        Ignored("the tools are limited to the working directory only in a sandbox; use --writable"),
    ),
    flag(OMP, "--allow-home", Nothing, Ignored("bowline runs in any folder")),
    flag(OMP, "--models-config", Value("FILE"), Ignored("models are described in models.json")),
    flag(OMP, "--service-tier", Value("TIER"), Ignored("bowline does not choose a service tier")),
    flag(OMP, "--system-prompt-template", Value("FILE"), Ignored("use --system-prompt")),
    flag(OMP, "--provider-session-id", Value("ID"), Ignored("bowline derives it from the session")),
    flag(OMP, "--prompt-cache-key", Value("KEY"), Ignored("bowline derives it from the session")),
    flag(OMP, "--smol", Value("MODEL"), ROLES),
    flag(OMP, "--slow", Value("MODEL"), ROLES),
    flag(OMP, "--plan", Value("MODEL"), ROLES),
    flag(OMP, "--advisor", Nothing, ROLES),
    flag(OMP, "--prewalk", Nothing, ROLES),
    flag(OMP, "--no-prewalk", Nothing, ROLES),
    flag(OMP, "--prewalk-into", Value("MODEL"), ROLES),
    flag(OMP, "--plan-yolo", Nothing, ROLES),
    flag(OMP, "--plan-yolo-into", Value("MODEL"), ROLES),
    flag(OMP, "--from-claude", Nothing, IMPORT),
    flag(OMP, "--from-codex", Nothing, IMPORT),
    flag(OMP, "--hide-thinking", Nothing, TERMINAL),
    flag(OMP, "--external-thinking", Nothing, TERMINAL),
    flag(OMP, "--print-thoughts", Nothing, RPC_ONLY),
    flag(OMP, "--profile", Value("NAME"), PROFILES),
    flag(OMP, "--alias", Value("NAME"), PROFILES),
    flag(ALL, "--config", Value("FILE"), Ignored("settings are in settings.json")),
    flag(OPI, "--trace", Value("FILE"), Ignored("--record FILE records the exchanges with the provider")),
    flag(
        OPI,
        "--execution-strategy",
        Value("NAME"),
        Ignored("bowline runs the tool calls of a turn side by side"),
    ),
    flag(
        OPI,
        "--execution-backend",
        Value("NAME"),
        Refused {
            harmless: &["local"],
            reason: "bowline runs tools on this machine only, without the isolation of another backend",
        },
    ),
    flag(
        ALL,
        "--read-only",
        Nothing,
        Refused { harmless: &[], reason: "use --sandbox read-only, or --tools read,grep,find,ls" },
    ),
];

/// Returns the flag with this name in a dialect. What is refused is refused in every dialect.
pub(crate) fn find(dialect: &str, name: &str) -> Option<&'static ForeignFlag> {
    let mut named = FOREIGN_FLAGS.iter().filter(|flag| flag.long == name);
    let own = named.clone().find(|flag| flag.dialects.contains(&dialect));
    own.or_else(|| named.find(|flag| flag.is_refused()))
}

/// Tells whether a flag has a value in any dialect.
pub(crate) fn takes_value(name: &str) -> bool {
    FOREIGN_FLAGS.iter().any(|flag| flag.long == name && matches!(flag.takes, Value(_)))
}

impl ForeignFlag {
    /// Returns the warning that the flag is ignored, or why it is refused.
    pub fn judge(&self, value: &str) -> Result<String, String> {
        match self.treatment {
            Ignored(reason) => Ok(format!("{} is ignored: {reason}", self.long)),
            Refused { harmless, .. } if harmless.contains(&value) => {
                Ok(format!("{} {value} changes nothing: it is how bowline works", self.long))
            }
            OfExtension { reason } | Refused { reason, .. } => {
                Err(format!("{} cannot be served: {reason}", self.long))
            }
        }
    }

    /// Tells whether some value of it is refused.
    pub fn is_refused(&self) -> bool {
        matches!(self.treatment, OfExtension { .. } | Refused { .. })
    }

    /// Tells whether extensions are who has it.
    pub fn is_of_extension(&self) -> bool {
        matches!(self.treatment, OfExtension { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flags;

    #[test]
    fn every_name_is_known_once_in_a_dialect_and_not_served() {
        for entry in bowline_dialect::DIALECTS {
            let mut names: Vec<_> = FOREIGN_FLAGS
                .iter()
                .filter(|flag| flag.dialects.contains(&entry.name))
                .map(|flag| flag.long)
                .collect();
            let served = flags().flat_map(|flag| [Some(flag.long), flag.short]).flatten();
            names.extend(served);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}: {names:?}", entry.name);
        }
    }

    #[test]
    fn every_dialect_in_the_table_exists() {
        for flag in FOREIGN_FLAGS {
            assert!(flag.dialects.iter().all(|name| bowline_dialect::find(name).is_some()), "{}", flag.long);
        }
    }

    #[track_caller]
    fn check(dialect: &str, name: &str, value: &str, expected: Result<&str, &str>) {
        let judged = find(dialect, name).unwrap().judge(value);
        let beginning = expected.unwrap_or_else(|text| text);
        let text = judged.as_ref().unwrap_or_else(|text| text);
        assert!(judged.is_ok() == expected.is_ok() && text.starts_with(beginning), "{judged:?}");
    }

    #[test]
    fn flags_that_restrict_the_agent_are_refused_and_others_warned_about() {
        check("omp", "--approval-mode", "write", Err("--approval-mode cannot be served: "));
        check("omp", "--approval-mode", "yolo", Ok("--approval-mode yolo changes nothing"));
        check("pi", "--approval-mode", "always-ask", Err("--approval-mode cannot be served: "));
        check("omp", "--no-lsp", "", Ok("--no-lsp is ignored: "));
        check("pi", "--plan", "", Err("--plan cannot be served: "));
        check("omp", "--plan", "opus", Ok("--plan is ignored: "));
        check("opi", "--execution-backend", "docker", Err("--execution-backend cannot be served: "));
        assert!(find("pi", "--no-lsp").is_none() && find("opi", "-e").is_none());
    }
}
