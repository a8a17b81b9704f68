//! The command line.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::measures::MEASURES;

/// The options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) binary: Option<PathBuf>,
    pub(crate) samples: Option<usize>,
    /// The only measure to take.
    pub(crate) only: Option<String>,
    pub(crate) with_instructions: bool,
    pub(crate) as_json: bool,
    pub(crate) help: bool,
}

impl Arguments {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| Failure::new(format!("{word} needs a value")));
            match word.as_str() {
                "--binary" => arguments.binary = Some(PathBuf::from(value()?)),
                "--samples" => arguments.samples = Some(samples(&value()?)?),
                "--only" => arguments.only = Some(measure(value()?)?),
                "--instructions" => arguments.with_instructions = true,
                "--json" => arguments.as_json = true,
                "--help" | "-h" => arguments.help = true,
                _ => return Err(Failure::new(format!("{word} is unknown; try --help"))),
            }
        }
        Ok(arguments)
    }
}

fn samples(value: &str) -> Result<usize, Failure> {
    match value.parse() {
        Ok(samples) if samples > 0 => Ok(samples),
        _ => Err(Failure::new(format!("\"{value}\" is not a number of samples"))),
    }
}

fn measure(name: String) -> Result<String, Failure> {
    if MEASURES.iter().any(|measure| measure.name == name) {
        return Ok(name);
    }
    let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).collect();
    Err(Failure::new(format!("unknown measure \"{name}\"; known: {}", names.join(", "))))
}

/// Returns the help.
pub(crate) fn help() -> String {
    let measures = MEASURES.iter().map(|measure| {
        let when = if measure.is_default { "" } else { " (not by default)" };
        format!("  {:18} {}{when}\n", measure.name, measure.about)
    });
    format!("{USAGE}\nMeasures:\n{}", measures.collect::<String>())
}

const USAGE: &str = "\
Measures bowline beside floors taken in the same run. A missed goal is reported, but is not a failure.

Usage: bowline-bench [OPTIONS]

  --binary PATH    The bowline to measure (default: the one next to this program)
  --only NAME      Take only this measure
  --samples N      Take N samples of each measure; round trips are sampled in blocks of 500
  --instructions   Count instructions too; needs valgrind
  --json           Print one JSON object instead of the table
  --help           Show this help
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Arguments, Failure> {
        Arguments::parse(words.split_whitespace().map(ToOwned::to_owned))
    }

    #[test]
    fn every_option_is_read() {
        let arguments =
            parse("--binary /b --samples 3 --only start --instructions --json").expect("good words");
        let expected = Arguments {
            binary: Some(PathBuf::from("/b")),
            samples: Some(3),
            only: Some("start".to_owned()),
            with_instructions: true,
            as_json: true,
            help: false,
        };
        assert_eq!(arguments, expected);
    }

    #[test]
    fn invalid_argument_is_refused() {
        for words in ["--samples", "--samples 0", "--samples x", "--only nothing", "--fast"] {
            assert!(parse(words).is_err(), "{words}");
        }
    }
}
