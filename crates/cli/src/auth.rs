//! `bowline auth`: the keys of providers and the logins to them. It never prints one.

mod dialogs;
mod extensions;
pub(crate) mod interactive;
mod login;

use std::process::ExitCode;

use bowline_dialect::Entry;
use bowline_llm::{KeyState, KeyStatus, Providers, Secret};
use serde_json::{Value, json};

use extensions::Desk;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::table::{Align, render};
use crate::terminal::{note, say};
use crate::{hidden_input, online_check, startup};

pub(crate) const USAGE: &str = "\
bowline auth list                    show where keys were found
bowline auth set --provider NAME     store a key in auth.json; reads it from stdin or prompts for it
bowline auth login NAME              log in to a provider of an extension; the login is stored in auth.json
bowline auth remove --provider NAME  remove a key or login from auth.json
bowline auth check [--provider NAME] check whether there is a key; --online also queries the provider

login starts the extensions and shows what they ask: pages to open, codes, questions, which are answered on the terminal or
line by line from a pipe. Ctrl-C cancels it. list and check start them only for logins that they do not know themselves.

--json prints list and check as one JSON object per line. No key is ever shown.
";

/// Runs a subcommand; the exit code tells whether there is a key.
pub(crate) fn main(arguments: &Arguments, entry: &Entry) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let (verb, named) = match words[..] {
        [] => return say(USAGE).map(|()| ExitCode::from(2)),
        [verb] => (verb, None),
        [verb, provider] => (verb, Some(provider)),
        // Not repeated: one of the words may be a key.
        _ => {
            return Err(Failure::Usage("too many arguments after auth; a key is read from stdin".to_owned()));
        }
    };
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let providers = Providers::new(startup::sources(&environment, &file))?;
    for warning in providers.warnings() {
        note(format_args!("bowline: {warning}"));
    }
    let provider = arguments.provider.as_deref().or(named);
    let desk = Desk { arguments, environment: &environment, entry, file: &file };
    match verb {
        "list" => list(&desk, &providers),
        "check" => check(&desk, &providers, provider),
        "login" => login::log_in(&desk, provider),
        "set" => set(&providers, needed(provider, "set")?),
        "remove" => remove(&providers, needed(provider, "remove")?),
        // Other words are refused with the command line.
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

fn needed<'a>(provider: Option<&'a str>, verb: &str) -> Result<&'a str, Failure> {
    provider.ok_or_else(|| Failure::Usage(format!("which provider? bowline auth {verb} --provider NAME")))
}

fn list(desk: &Desk<'_>, providers: &Providers) -> Result<ExitCode, Failure> {
    let (found, _) = look(desk, providers, None)?;
    show(&found, &[], desk.arguments.json)?;
    if found.is_empty() {
        note(format_args!("bowline: no keys were found. Store one with: bowline auth set --provider NAME"));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(desk: &Desk<'_>, providers: &Providers, provider: Option<&str>) -> Result<ExitCode, Failure> {
    let (found, answers) = look(desk, providers, provider)?;
    show(&found, &answers, desk.arguments.json)?;
    if found.is_empty() {
        note(format_args!("bowline: no keys were found. Store one with: bowline auth set --provider NAME"));
    }
    let is_ready = !found.is_empty()
        && found.iter().all(|status| status.state == KeyState::Ready)
        && answers.iter().all(|answer| answer.error.is_none());
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns what is known of the keys of a provider, or of all, with the answers of the providers if they are to be asked.
fn look(
    desk: &Desk<'_>,
    providers: &Providers,
    provider: Option<&str>,
) -> Result<(Vec<KeyStatus>, Vec<online_check::Answer>), Failure> {
    if !extensions::may_know_more(providers, provider)? && !desk.arguments.online {
        return Ok((statuses(providers, provider)?, Vec::new()));
    }
    crate::blocking::block_on(async {
        match extensions::may_know_more(providers, provider)?.then(|| desk.start()).transpose()?.flatten() {
            None => ask(providers, provider, desk.arguments).await,
            Some((mut extensions, providers)) => {
                extensions.become_ready(|_| {}).await;
                let result = extensions.during(ask(&providers, provider, desk.arguments)).await;
                extensions.stop().await;
                result
            }
        }
    })?
}

fn statuses(providers: &Providers, provider: Option<&str>) -> Result<Vec<KeyStatus>, Failure> {
    Ok(match provider {
        Some(provider) => vec![providers.key_status(provider)?],
        None => providers.providers_with_keys()?,
    })
}

async fn ask(
    providers: &Providers,
    provider: Option<&str>,
    arguments: &Arguments,
) -> Result<(Vec<KeyStatus>, Vec<online_check::Answer>), Failure> {
    let mut found = statuses(providers, provider)?;
    let mut answers = Vec::new();
    if arguments.online {
        for status in found.iter_mut().filter(|status| status.state == KeyState::Ready) {
            answers.push(online_check::ask(providers, status, arguments.model.as_deref()).await?);
        }
    }
    Ok((found, answers))
}

fn show(found: &[KeyStatus], answers: &[online_check::Answer], as_json: bool) -> Result<(), Failure> {
    let answer = |status: &KeyStatus| answers.iter().find(|answer| answer.provider == status.provider);
    if as_json {
        let lines = found.iter().map(|status| format!("{}\n", record(status, answer(status))));
        return say(&lines.collect::<String>());
    }
    if found.is_empty() {
        return Ok(());
    }
    let rows: Vec<[String; 4]> = found
        .iter()
        .map(|status| {
            let source = match (&status.variable, status.source) {
                (Some(name), _) => name.clone(),
                (None, source) => source.unwrap_or("-").to_owned(),
            };
            let note = match answer(status) {
                Some(answer) => answer.to_string(),
                None => status.note.clone().unwrap_or_default(),
            };
            [status.provider.clone(), status.state.as_str().to_owned(), source, note]
        })
        .collect();
    let columns = ["provider", "status", "source", ""].map(|title| (title, Align::Left));
    say(&render(columns, &rows))
}

fn record(status: &KeyStatus, answer: Option<&online_check::Answer>) -> Value {
    let mut record = json!({ "provider": status.provider, "status": status.state.as_str() });
    record["source"] = json!(status.source);
    if let Some(name) = &status.variable {
        record["variable"] = json!(name);
    }
    if let Some(note) = &status.note {
        record["note"] = json!(note);
    }
    if let Some(answer) = answer {
        record["online"] = json!({ "model": answer.model, "ok": answer.error.is_none() });
        if let Some(error) = &answer.error {
            record["online"]["error"] = json!(error);
        }
    }
    record
}

fn set(providers: &Providers, provider: &str) -> Result<ExitCode, Failure> {
    // A wrong name is reported before a key is typed.
    let name = providers.key_status(provider)?.provider;
    let key = hidden_input::read(&format!("Key of {name} (not shown): "))
        .map_err(Failure::io("reading the key"))?;
    if key.is_empty() {
        return Err(Failure::Usage("no key was given, so nothing was changed".to_owned()));
    }
    providers.store_key(&name, &Secret::new(key))?;
    say(&format!("The key of {name} is in auth.json.\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(providers: &Providers, provider: &str) -> Result<ExitCode, Failure> {
    if !providers.remove_key(provider)? {
        note(format_args!("bowline: auth.json has nothing for \"{provider}\""));
        return Ok(ExitCode::FAILURE);
    }
    say(&format!("{provider} is no longer in auth.json.\n"))?;
    if let Ok(KeyStatus { state: KeyState::Ready, source: Some(source), .. }) = providers.key_status(provider)
    {
        note(format_args!("bowline: there is still a key for it ({source})"));
    }
    Ok(ExitCode::SUCCESS)
}
