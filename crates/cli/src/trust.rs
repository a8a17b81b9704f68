//! `bowline trust`: the user's decisions about projects.

use std::path::Path;
use std::process::ExitCode;

use bowline_extension::trust::{self, TrustFile};
use serde_json::json;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::{Align, render};
use crate::terminal::{note, say};

pub(crate) const USAGE: &str = "\
bowline trust [FOLDER]               trust a project, by default that in the current folder, and all folders in it
bowline trust --no-approve [FOLDER]  do not trust it, even if a folder around it is trusted
bowline trust --remove [FOLDER]      remove the decision about it
bowline trust --list                 show all decisions; --json prints one JSON object per line

Skills, prompt templates, extensions, instructions and settings of a project are used only if it is trusted. The decisions
are in trust.json, and the one for the nearest folder counts.
";

/// Records, removes or shows decisions.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = TrustFile::in_folder(&environment.home);
    let named = match &arguments.words[..] {
        [] => None,
        [folder] => Some(environment.expand(folder)),
        _ => return Err(Failure::Usage("trust takes one folder (see bowline help trust)".to_owned())),
    };
    if arguments.list {
        if named.is_some() || arguments.remove || arguments.approval.is_some() {
            return Err(Failure::Usage("--list shows all decisions and takes nothing else".to_owned()));
        }
        return list(&file, arguments.json);
    }
    if arguments.json {
        return Err(Failure::Usage("--json is for trust --list".to_owned()));
    }
    let folder = named.unwrap_or_else(|| environment.working_directory.clone());
    if arguments.remove {
        if arguments.approval.is_some() {
            return Err(Failure::Usage("--remove and --no-approve cannot be used together".to_owned()));
        }
        return remove(&file, &folder);
    }
    if !folder.is_dir() {
        return Err(Failure::Usage(format!("{} is not a folder", folder.display())));
    }
    let is_trusted = arguments.approval.unwrap_or(true);
    let (_, folder) = file.decide(&folder, Some(is_trusted))?;
    let not = if is_trusted { "" } else { "not " };
    say(&format!("{} is {not}trusted from the next start on.\n", folder.display()))?;
    if is_trusted {
        let found = trust::found_in(&folder, &environment.home, environment.user_home.as_deref());
        let names = found.iter().map(|path| format!("  {}\n", path.display()));
        if !found.is_empty() {
            say(&format!("It brings along:\n{}", names.collect::<String>()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(file: &TrustFile, as_json: bool) -> Result<ExitCode, Failure> {
    let decisions = file.decisions()?;
    if as_json {
        let lines = decisions
            .iter()
            .map(|(path, trusted)| format!("{}\n", json!({ "path": path, "trusted": trusted })));
        say(&lines.collect::<String>())?;
    } else if decisions.is_empty() {
        note(format_args!("bowline: there are no decisions yet"));
    } else {
        let word = |trusted: &bool| if *trusted { "trusted" } else { "not trusted" };
        let rows: Vec<_> =
            decisions.iter().map(|(path, trusted)| [word(trusted).to_owned(), path.clone()]).collect();
        say(&render([("decision", Align::Left), ("folder", Align::Left)], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(file: &TrustFile, folder: &Path) -> Result<ExitCode, Failure> {
    let (before, folder) = file.decide(folder, None)?;
    if before.is_none() {
        note(format_args!("bowline: there is no decision about {}", folder.display()));
        return Ok(ExitCode::FAILURE);
    }
    say(&format!("There is no decision about {} any more.\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
