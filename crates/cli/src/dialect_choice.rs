//! The choice of the dialect: by `--dialect`, by `--rpc`, or by the name under which bowline was started.

use std::path::Path;

use bowline_dialect::{Entry, PROGRAMS, Program, Start};

use crate::failure::Failure;
use crate::flags::{Takes, flags};
use crate::foreign_flags;
use crate::similar::nearest;

/// The default dialect.
const DEFAULT: &str = "pi";

/// The dialect that `--rpc` stands for.
const RPC: &str = "opi";

/// The chosen dialect.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The agent under whose name bowline was started.
    pub program: Option<&'static Program>,
    dialect: String,
    is_serving: bool,
}

impl Choice {
    /// Chooses by the program's name and its arguments. This comes first, because parsing the other arguments and
    /// reporting errors depend on it.
    pub fn new(started_as: &str, words: &[String]) -> Self {
        let name = Path::new(started_as).file_name().map(|name| name.to_string_lossy());
        let program = PROGRAMS.iter().find(|program| name.as_deref() == Some(program.name));
        let is_pi = program.is_some_and(|program| program.name == DEFAULT);
        let (mut named, mut is_rpc, mut is_serving) = (None, false, false);
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("--dialect", "") => named = words.next(),
                ("--dialect", name) => named = Some(name),
                ("--rpc", _) => (is_rpc, is_serving) = (true, true),
                ("--mode", value) => {
                    let value = if value.is_empty() { words.next().unwrap_or_default() } else { value };
                    // A mistaken mode was probably meant for a client, but pi says so on stderr only.
                    is_serving = value.starts_with("rpc") || !is_pi && !matches!(value, "text" | "json");
                }
                (flag, "") if takes_value(flag) => drop(words.next()),
                _ => {}
            }
        }
        let by_name = program.map(|program| program.dialect);
        let dialect = named.or(is_rpc.then_some(RPC)).or(by_name).unwrap_or(DEFAULT).to_owned();
        Self { program, dialect, is_serving }
    }

    /// Tells whether a mode was named, so that a client expects records on stdout.
    pub fn is_serving(&self) -> bool {
        self.is_serving
    }

    /// Tells whether the program was started under the name of pi.
    pub fn is_pi(&self) -> bool {
        self.program.is_some_and(|program| program.name == DEFAULT)
    }

    /// Returns the name of the chosen dialect, which may be unknown.
    pub fn dialect(&self) -> &str {
        &self.dialect
    }

    /// Returns the chosen dialect.
    pub fn entry(&self) -> Result<&'static Entry, Failure> {
        bowline_dialect::find(&self.dialect).ok_or_else(|| {
            let names: Vec<_> = bowline_dialect::DIALECTS.iter().map(|entry| entry.name).collect();
            let hint = nearest(&self.dialect, names.iter().copied());
            let hint = hint.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default();
            Failure::Usage(format!(
                "unknown dialect \"{}\"{hint}; the dialects are: {}",
                self.dialect,
                names.join(", ")
            ))
        })
    }

    /// Returns how the dialect's clients expect the process to start.
    pub fn start(&self) -> &'static Start {
        bowline_dialect::find(&self.dialect).map_or(&bowline_dialect::DIALECTS[0].start, |entry| &entry.start)
    }

    /// Returns what `--version` prints.
    pub fn version(&self, verbose: bool) -> String {
        let own = env!("CARGO_PKG_VERSION");
        let spoken = self.program.or_else(|| PROGRAMS.iter().find(|program| program.dialect == self.dialect));
        match (verbose, self.program, spoken) {
            (true, _, Some(program)) => format!("bowline {own}\n{} {}\n", program.name, program.version),
            (true, _, None) => format!("bowline {own}\n{}\n", self.dialect),
            (false, Some(program), _) => format!("{}\n", program.version),
            (false, None, _) => format!("{own}\n"),
        }
    }
}

fn takes_value(name: &str) -> bool {
    let flag = flags().find(|flag| flag.long == name);
    flag.is_some_and(|flag| matches!(flag.takes, Takes::Value(_))) || foreign_flags::takes_value(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(started_as: &str, words: &str, dialect: &str) {
        let words: Vec<String> = words.split_whitespace().map(ToOwned::to_owned).collect();
        assert_eq!(Choice::new(started_as, &words).dialect, dialect, "{started_as} {words:?}");
    }

    #[test]
    fn flags_take_precedence_over_the_program_name() {
        check("bowline", "--mode rpc", "pi");
        check("/usr/bin/pi", "--mode rpc", "pi");
        check("omp", "", "omp");
        check("./opi", "--rpc", "opi");
        check("bowline", "--rpc", "opi");
        check("bowline", "--rpc --dialect operator", "operator");
        check("omp", "--dialect=pi", "pi");
        check("bowline", "--name --rpc", "pi");
        check("operator-use", "", "pi");
    }
}
