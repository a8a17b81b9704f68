//! `bowline config show` and `get`.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::effective::{Effective, Files, Said, Source};
use super::hiding::hidden;
use crate::failure::Failure;
use crate::settings::{Found, plain};
use crate::terminal::{columns, note, plain_line, say};

/// The width for which texts are written if there is no terminal.
const WIDTH: usize = 100;

/// Shows what settings are, by where they come from.
pub(super) fn show(context: &Context<'_>, wanted: impl Iterator<Item = Found>) -> Result<ExitCode, Failure> {
    let files = Files::read(context)?;
    let shown: Vec<_> = wanted.map(|found| (files.effective(&found, context), found)).collect();
    if context.arguments.json {
        let lines = shown.iter().map(|(effective, found)| format!("{}\n", record(found, effective)));
        say(&lines.collect::<String>())?;
    } else {
        say(&text(&shown, columns().unwrap_or(WIDTH)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one value: a text as it is, anything else as JSON.
pub(super) fn get(context: &Context<'_>, found: &Found) -> Result<ExitCode, Failure> {
    let effective = Files::read(context)?.effective(found, context);
    if context.arguments.json {
        say(&format!("{}\n", record(found, &effective)))?;
        return Ok(code(&effective));
    }
    match effective.value().map(|value| hidden(found.setting.path, &value)) {
        Some(Value::String(text)) => say(&format!("{text}\n"))?,
        Some(value) => say(&format!("{value}\n"))?,
        None => {
            let default = in_words(found);
            note(format_args!("bowline: {} is not set; the default is: {default}", found.name()));
        }
    }
    Ok(code(&effective))
}

fn code(effective: &Effective) -> ExitCode {
    if effective.said.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns the default as the documentation describes it.
fn in_words(found: &Found) -> String {
    if found.name() == found.setting.path { plain(found.setting.default) } else { "none".to_owned() }
}

fn record(found: &Found, effective: &Effective) -> Value {
    let path = found.setting.path;
    let said = |said: &Said| {
        let place = Some(&said.place).filter(|place| !place.is_empty());
        json!({ "source": said.source.as_str(), "from": place, "value": hidden(path, &said.value) })
    };
    let first = effective.said.first();
    let mut record = json!({
        "name": found.name(),
        "value": effective.value().map(|value| hidden(path, &value)),
        "source": effective.source().as_str(),
        "from": first.map(|said| &said.place).filter(|place| !place.is_empty()),
        "default": in_words(found),
    });
    if effective.said.len() > 1 {
        record["parts"] = effective.said.iter().map(said).collect();
    }
    record
}

/// Returns settings as text, under a heading for each place that they come from.
fn text(shown: &[(Effective, Found)], width: usize) -> String {
    let names = shown.iter().map(|(_, found)| found.name().chars().count());
    let column = names.max().unwrap_or_default() + 4;
    let mut text = String::new();
    for source in Source::ALL {
        let mut rows: Vec<(&str, String, String)> = Vec::new();
        for (effective, found) in shown {
            let path = found.setting.path;
            if source == Source::Default && effective.said.is_empty() {
                rows.push(("", found.name(), format!("({})", in_words(found))));
            }
            for said in effective.said.iter().filter(|said| said.source == source) {
                rows.push((&said.place, found.name(), hidden(path, &said.value).to_string()));
            }
        }
        // Rows of one file are together, in the order of the settings.
        rows.sort_by_key(|(place, ..)| *place);
        let mut heading = None;
        for (place, name, value) in rows {
            if heading != Some(place) {
                let blank = if text.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{blank}{}", title(source, place));
                heading = Some(place);
            }
            let _ = writeln!(
                text,
                "  {name:<column$}{}",
                cut(&value, width.saturating_sub(column + 2)),
                column = column - 2
            );
        }
    }
    text
}

fn title(source: Source, place: &str) -> String {
    match source {
        Source::Flag => format!("From the command line ({place})"),
        Source::Environment => format!("From the environment ({place})"),
        Source::Project => format!("From this project ({place})"),
        Source::User => format!("From your settings ({place})"),
        Source::Pi => format!("From the settings of pi ({place})"),
        Source::Default => "Defaults".to_owned(),
    }
}

/// Returns the beginning of a value that is too long for a line.
fn cut(value: &str, width: usize) -> String {
    let value = plain_line(value);
    let width = width.max(20);
    if value.chars().count() <= width {
        return value;
    }
    value.chars().take(width - 1).chain(['…']).collect()
}
