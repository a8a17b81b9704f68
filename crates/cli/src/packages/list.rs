//! `bowline list`.

use std::process::ExitCode;

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Content, Described, Installed, Root, Source, installed};
use bowline_extension::trust;
use serde_json::json;

use super::install::described;
use super::place::Desk;
use crate::failure::Failure;
use crate::table::{Align, render};
use crate::terminal::{note, say};

/// Lists the packages that the settings name. Those of the user that the project replaces are not among them.
pub(super) fn list(desk: &Desk, as_json: bool) -> Result<ExitCode, Failure> {
    let here = &desk.environment.working_directory;
    let found = trust::found_in(here, &desk.environment.home, desk.home());
    if found.iter().any(|path| path.ends_with("settings.json")) && !desk.is_trusted() {
        note(format_args!("bowline: packages of this project are not listed, because it is not trusted"));
    }
    let packages = installed(&desk.configured(), desk.home());
    if as_json {
        let lines = packages.iter().map(|package| format!("{}\n", as_object(package)));
        say(&lines.collect::<String>())?;
    } else if packages.is_empty() {
        note(format_args!("bowline: there are no packages; bowline install SOURCE adds one"));
    } else {
        let rows: Vec<_> = packages.iter().map(row).collect();
        let columns = ["package", "from", "version", "state", "folder"];
        say(&render(columns.map(|title| (title, Align::Left)), &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn from(package: &Installed) -> &'static str {
    match package.scope {
        Scope::Project => "project",
        Scope::User | Scope::Temporary => "user",
    }
}

fn version(package: &Installed) -> Option<String> {
    match &package.root {
        Ok(Root::Folder(folder)) => Described::read(folder).version,
        Ok(Root::File(_)) | Err(_) => None,
    }
}

fn row(package: &Installed) -> [String; 5] {
    let (state, folder) = match &package.root {
        Ok(root) => {
            let has = described(package).unwrap_or_else(|| "nothing is used of it".to_owned());
            (has, root.path().display().to_string())
        }
        Err(problem) => (problem.clone(), "-".to_owned()),
    };
    let version = version(package).unwrap_or_else(|| "-".to_owned());
    [Source::shown(&package.source), from(package).to_owned(), version, state, folder]
}

fn as_object(package: &Installed) -> serde_json::Value {
    let content = Content::of(package);
    json!({
        "source": Source::shown(&package.source),
        "from": from(package),
        "version": version(package),
        "path": package.root.as_ref().ok().map(|root| root.path().to_string_lossy().into_owned()),
        "problem": package.root.as_ref().err(),
        "filtered": package.filter.is_some(),
        "extensions": content.extensions,
        "skills": content.skills,
        "prompts": content.prompts,
    })
}
