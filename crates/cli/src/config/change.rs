//! `bowline config set` and `unset`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::Context;
use super::effective::{Files, Source};
use super::hiding::hidden;
use crate::failure::Failure;
use crate::settings::{self, Found, NewFile, OF_PROJECTS, SettingsFile, in_place, plain};
use crate::startup;
use crate::terminal::{note, say};

/// Sets a setting, if bowline would accept the value at the start.
pub(super) fn set(context: &Context<'_>, found: &Found, text: &str) -> Result<ExitCode, Failure> {
    let value = value(found, text)?;
    let alone = found.alone(value.clone()).to_string();
    SettingsFile::parse(&alone).map_err(Failure::Usage)?;
    write(context, found, Some(&value))?;
    let shown = hidden(found.setting.path, &value);
    say(&format!("{} is {shown} in {} from the next start on.\n", found.name(), context.file()?.display()))?;
    tell_what_takes_precedence(context, found);
    Ok(ExitCode::SUCCESS)
}

/// Removes a setting. The exit code is 1 if it is not there.
pub(super) fn unset(context: &Context<'_>, found: &Found) -> Result<ExitCode, Failure> {
    let path = context.file()?;
    let was_there = path.symlink_metadata().is_ok() && write(context, found, None)?;
    if !was_there {
        note(format_args!("bowline: {} is not in {}", found.name(), path.display()));
        return Ok(ExitCode::FAILURE);
    }
    let default =
        if found.name() == found.setting.path { plain(found.setting.default) } else { "none".to_owned() };
    say(&format!("{} is not in {} any more; the default is: {default}.\n", found.name(), path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the value that a word of the command line stands for: JSON, or a text without quotes.
fn value(found: &Found, text: &str) -> Result<Value, Failure> {
    let is_whole = found.name() == found.setting.path;
    let value = match serde_json::from_str(text) {
        Ok(value @ Value::String(_)) => value,
        Ok(value) if !(is_whole && found.setting.kind.is_text()) => value,
        Err(error) if text.trim_start().starts_with(['[', '{']) => {
            let example = in_place(found.setting.path, found.setting.example);
            return Err(Failure::Usage(format!(
                "the value for {} is not JSON: {error}; in the file it looks like this: {example}",
                found.name()
            )));
        }
        Ok(_) | Err(_) => Value::from(text),
    };
    if value.is_null() {
        let name = found.name();
        return Err(Failure::Usage(format!("null is the same as no value: bowline config unset {name}")));
    }
    Ok(value)
}

/// Writes the file with another value. Returns whether it was changed.
fn write(context: &Context<'_>, found: &Found, value: Option<&Value>) -> Result<bool, Failure> {
    let path = context.file()?;
    let new_file = if context.arguments.of_project {
        check_project(context, found, &path)?;
        NewFile::Usual
    } else {
        NewFile::Private
    };
    let keys: Vec<_> = found.keys.iter().map(String::as_str).collect();
    let written = value.map(Value::to_string);
    settings::edit(&path, new_file, |before| {
        let after =
            settings::with_member(before, &keys, written.as_deref()).map_err(settings::refusal(&path))?;
        if !context.arguments.of_project && value.is_some() {
            check_start(context, &path, before, &after)?;
        }
        Ok(after)
    })
}

/// Refuses a change after which bowline would not start. If it does not start now, it may be one of several mistakes that is
/// corrected.
fn check_start(context: &Context<'_>, path: &Path, before: &str, after: &str) -> Result<(), Failure> {
    let problem = |text: &str| {
        let refused = settings::refusal(path);
        let text = if text.trim().is_empty() { "{}" } else { text };
        let file = SettingsFile::parse(text).map_err(refused)?;
        startup::check_settings(context.entry, &context.environment, &file)
    };
    match (problem(after), problem(before)) {
        (Err(wrong), Ok(())) => Err(wrong),
        (Err(wrong), Err(_)) => {
            note(format_args!(
                "bowline: something else in the file still keeps bowline from starting: {wrong}"
            ));
            Ok(())
        }
        (Ok(()), _) => Ok(()),
    }
}

/// Refuses what would have no effect in a project, and what would be written elsewhere.
fn check_project(context: &Context<'_>, found: &Found, path: &Path) -> Result<(), Failure> {
    let name = found.setting.path;
    if !OF_PROJECTS.contains(&name) {
        return Err(Failure::Usage(format!(
            "{name} has no effect in the settings of a project: those can have {} (leave out --project to change yours)",
            OF_PROJECTS.join(", ")
        )));
    }
    let file = SettingsFile::of_user(&context.environment)?;
    let project = &context.environment.working_directory;
    if !context.is_project_trusted(&file) {
        return Err(Failure::Usage(format!(
            "this project is not trusted, so its settings have no effect and are not touched. Pass --approve to do it this \
             time, or run: bowline trust {}",
            project.display()
        )));
    }
    settings::check_inside(project, path)
}

/// Says that a variable decides, so that nobody wonders why a change has no effect.
fn tell_what_takes_precedence(context: &Context<'_>, found: &Found) {
    let Ok(files) = Files::read(context) else { return };
    let effective = files.effective(found, context);
    if let Some(said) = effective.said.first().filter(|said| said.source == Source::Environment) {
        note(format_args!("bowline: the variable {} takes precedence over it", said.place));
    }
}
