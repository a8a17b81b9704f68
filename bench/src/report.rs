//! Takes the selected measures and reports them.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::arguments::{self, Arguments};
use crate::failure::Failure;
use crate::figure::Figure;
use crate::measures::{MEASURES, Measure, Subject};
use crate::table::table;
use crate::watchdog::Watchdog;

/// Runs the program.
pub(crate) fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    if arguments.help {
        return say(&arguments::help());
    }
    let subject = subject(&arguments)?;
    let mut taken = Vec::new();
    let mut failed = Vec::new();
    for measure in MEASURES.iter().filter(|measure| is_wanted(&arguments, measure)) {
        eprintln!("{}: {} …", measure.name, measure.about);
        let _watchdog = Watchdog::start(measure.name, measure.limit);
        match (measure.run)(&subject) {
            Ok(figures) => taken.push((measure.name, figures)),
            Err(failure) => failed.push(format!("{}: {failure}", measure.name)),
        }
    }
    say(&if arguments.as_json { format!("{}\n", json(&taken)) } else { text(taken) })?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(failed.join("\n"))) }
}

fn text(taken: Vec<(&str, Vec<Figure>)>) -> String {
    let figures: Vec<Figure> = taken.into_iter().flat_map(|(_, figures)| figures).collect();
    format!("\n{}", table(&figures))
}

fn is_wanted(arguments: &Arguments, measure: &Measure) -> bool {
    match &arguments.only {
        Some(name) => name == measure.name,
        None => measure.is_default || arguments.with_instructions,
    }
}

fn subject(arguments: &Arguments) -> Result<Subject, Failure> {
    let itself = std::env::current_exe().map_err(Failure::while_doing("finding this program"))?;
    let binary = arguments.binary.clone().unwrap_or_else(|| itself.with_file_name("bowline"));
    // The agent is started in another folder.
    let binary = binary.canonicalize().map_err(Failure::while_doing(format!(
        "{} (build it with `./package`, or name another with --binary)",
        binary.display()
    )))?;
    Ok(Subject::new(binary, itself, arguments.samples))
}

fn json(taken: &[(&str, Vec<Figure>)]) -> Value {
    let measures = taken.iter().map(|(name, figures)| {
        let figures: Vec<Value> = figures.iter().map(Figure::to_json).collect();
        ((*name).to_owned(), Value::from(figures))
    });
    json!({ "measures": measures.collect::<serde_json::Map<_, _>>() })
}

fn say(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::while_doing("writing the report"))
}
