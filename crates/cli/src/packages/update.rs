//! `bowline update`.

use std::process::ExitCode;

use bowline_extension::packages::{Configured, NpmSource, Place, Source};

use super::install::fetch;
use super::place::Desk;
use super::remove::not_configured;
use crate::failure::Failure;
use crate::terminal::{note, say};

/// Updates the packages that the settings name, or one of them. One that fails does not keep the others from it.
pub(super) fn update(desk: &Desk, text: Option<&str>) -> Result<ExitCode, Failure> {
    let configured = desk.configured();
    let chosen: Vec<&Configured> = match text {
        None => configured.iter().collect(),
        Some(text) => {
            let identity = desk.identity(&desk.wanted(text)?.source);
            let is_wanted = |known: &&Configured| known.identity(desk.home()).as_ref() == Some(&identity);
            let chosen: Vec<_> = configured.iter().filter(is_wanted).collect();
            if chosen.is_empty() {
                return Err(not_configured(text, &configured, false));
            }
            chosen
        }
    };
    let mut has_failed = false;
    let mut of_npm: Vec<(&Place, Vec<String>)> = Vec::new();
    let mut count = 0;
    for known in chosen {
        let updated = match Source::parse(&known.entry.source) {
            Ok(Source::Npm(npm)) if npm.exact_version().is_some() && known.root(desk.home()).is_ok() => {
                continue;
            }
            Ok(Source::Npm(npm)) => {
                match of_npm.iter_mut().find(|(place, _)| *place == &known.place) {
                    Some((_, specs)) => specs.push(newest(&npm)),
                    None => of_npm.push((&known.place, vec![newest(&npm)])),
                }
                continue;
            }
            Ok(Source::Local(_)) => continue,
            Ok(source) => fetch(desk, &known.place, &source),
            Err(problem) => Err(Failure::Package(problem)),
        };
        count += usize::from(updated.is_ok());
        has_failed |= report(updated);
    }
    for (place, specs) in of_npm {
        let updated = desk.check_inside(place, &place.npm_folder()).and_then(|()| {
            note(format_args!("Updating {} in {}", specs.join(" "), place.npm_folder().display()));
            desk.npm.install(place, &specs)
        });
        count += if updated.is_ok() { specs.len() } else { 0 };
        has_failed |= report(updated);
    }
    match (has_failed, count) {
        (true, _) => return Ok(ExitCode::FAILURE),
        (false, 0) => say("There is nothing to update: versions are fixed, and paths stay as they are.\n")?,
        (false, 1) => say("1 package is up to date.\n")?,
        (false, count) => say(&format!("{count} packages are up to date.\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns what npm is given: the newest version that the settings allow.
fn newest(npm: &NpmSource) -> String {
    match npm.version {
        Some(_) => npm.spec(),
        None => format!("{}@latest", npm.name),
    }
}

/// Reports a failure, if it is one.
fn report(result: Result<(), Failure>) -> bool {
    result.is_err_and(|failure| {
        note(format_args!("bowline: {failure}"));
        true
    })
}
