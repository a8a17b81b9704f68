//! The help text, generated from the table of flags.

use std::fmt::Write as _;

use crate::flags::{FLAGS, Flag, Group, Takes};
use crate::foreign_flags::FOREIGN_FLAGS;

/// Returns the usage in a few lines.
pub(crate) fn usage() -> &'static str {
    "bowline is a headless coding agent: another program drives it over stdin and stdout.

  bowline demo          show an exchange (no key, no network)
  bowline --mode rpc    serve a client: one JSON object per line, both ways
  bowline sessions      sessions on disk: list, show, rm, fsck
  bowline auth          keys: list, set, remove, check
  bowline --list-models list the known models
  bowline export FILE   render a session as HTML (--out FILE)
  bowline schema        the protocol as JSON Schema (--dialect NAME)
  bowline --help        all options"
}

/// Returns the whole help.
pub(crate) fn text() -> String {
    let mut text = format!("{}\n", usage());
    for (group, heading) in Group::ALL {
        let flags = FLAGS.iter().filter(|flag| flag.group == group);
        let _ = write!(text, "\n{heading}:\n");
        for flag in flags {
            let _ = writeln!(text, "  {:<36} {}", spelling(flag), flag.about);
        }
    }
    write_foreign(&mut text, "Flags of the emulated agents that are ignored with a warning", false);
    write_foreign(
        &mut text,
        "Flags of the emulated agents that are refused, because they restrict the agent",
        true,
    );
    text.push_str("\nDialects (--dialect):\n");
    for entry in bowline_dialect::DIALECTS {
        let _ = writeln!(text, "  {:<36} {}", entry.name, entry.about);
    }
    text.push_str(
        "
A link to bowline named pi, omp or opi speaks that agent's dialect and prints its version for --version.

Files, in ~/.bowline (BOWLINE_HOME or PI_CODING_AGENT_DIR moves it):
  settings.json   what flags set, and time-outs, retries, queue modes
  models.json     providers and models of your own
  auth.json       keys by provider; the environment (ANTHROPIC_API_KEY, …) works too
  sessions/       one file per session
",
    );
    text
}

fn write_foreign(text: &mut String, heading: &str, is_refused: bool) {
    let flags = FOREIGN_FLAGS.iter().filter(|flag| flag.is_refused() == is_refused);
    let mut names: Vec<_> = flags.map(|flag| flag.long).collect();
    names.sort_unstable();
    names.dedup();
    let _ = write!(text, "\n{heading}:\n");
    for line in names.chunks(5) {
        let _ = writeln!(text, "  {}", line.join(" "));
    }
}

fn spelling(flag: &Flag) -> String {
    let mut spelling = flag.short.map(|short| format!("{short}, ")).unwrap_or_default();
    spelling.push_str(flag.long);
    let _ = match flag.takes {
        Takes::Nothing => Ok(()),
        Takes::Value(what) => write!(spelling, " {what}"),
        Takes::Optional(what) => write!(spelling, " [{what}]"),
    };
    spelling
}
