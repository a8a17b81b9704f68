//! `bowline --list-models`: the known models. Only `--local` uses the network.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::Model;
use bowline_llm::{LocalModels, Providers};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::startup;
use crate::table::{Align, render};
use crate::terminal::{note, plain_line, say};

/// How long a server on this machine may take to list its models.
const LOCAL_LIMIT: Duration = Duration::from_secs(2);

/// Whether a model can be used; those that can come first in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Key,
    NoKey,
    /// bowline does not support its API.
    Unsupported,
}

/// Lists the models; the exit code is 1 if there are none to show.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let providers = Providers::new(startup::sources(&environment, &file))?;
    for warning in arguments.warnings.iter().cloned().chain(providers.warnings()) {
        note(format_args!("bowline: {warning}"));
    }
    let models = if arguments.local { local(&providers)? } else { known(&providers) };
    let wanted = |model: &Model| matches(model, arguments);
    let mut models: Vec<_> = models.into_iter().filter(|(model, _)| wanted(model)).collect();
    models.sort_by_key(|(_, access)| *access);
    if arguments.json {
        let lines: Vec<String> = models.iter().map(|(model, access)| record(model, *access)).collect();
        say(&lines.concat())?;
    } else if !models.is_empty() {
        say(&table(&models))?;
    }
    if models.is_empty() {
        note(format_args!("bowline: {}", nothing(arguments)));
        return Ok(ExitCode::FAILURE);
    }
    if !arguments.json && !arguments.local {
        note(format_args!("\n{}", summary(&models)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns all known models.
fn known(providers: &Providers) -> Vec<(Arc<Model>, Access)> {
    let mut by_provider: HashMap<String, bool> = HashMap::new();
    let with_access = providers.known_models().into_iter().map(|model| {
        if !providers.is_supported(&model) {
            return (model, Access::Unsupported);
        }
        let has_key = by_provider
            .entry(model.provider.clone())
            .or_insert_with(|| providers.check_credentials(&model).is_ok());
        let access = if *has_key { Access::Key } else { Access::NoKey };
        (model, access)
    });
    with_access.collect()
}

/// Queries the servers on this machine and reports on stderr which there are.
fn local(providers: &Providers) -> Result<Vec<(Arc<Model>, Access)>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let servers =
        runtime.block_on(providers.ask_local_servers(LOCAL_LIMIT, bowline_llm::LocalScope::Configured));
    let mut found = Vec::new();
    for LocalModels { provider, base_url, models } in servers {
        match models {
            Ok(models) => {
                note(format_args!("{provider}: {} at {base_url}", counted(models.len())));
                found.extend(models.into_iter().map(|model| (model, Access::Key)));
            }
            Err(reason) => note(format_args!("{provider}: {reason}")),
        }
    }
    Ok(found)
}

fn counted(models: usize) -> String {
    if models == 1 { "1 model".to_owned() } else { format!("{models} models") }
}

/// Tells whether every word of the search is in a model's names.
fn matches(model: &Model, arguments: &Arguments) -> bool {
    let names = format!("{} {}", model.full_name(), model.name).to_lowercase();
    let is_of = |provider: &String| provider.eq_ignore_ascii_case(&model.provider);
    arguments.provider.as_ref().is_none_or(is_of)
        && arguments.search.to_lowercase().split_whitespace().all(|word| names.contains(word))
}

fn table(models: &[(Arc<Model>, Access)]) -> String {
    use Align::{Left, Right};
    let rows: Vec<[String; 8]> = models.iter().map(|(model, access)| row(model, *access)).collect();
    let columns = [
        ("provider", Left),
        ("model", Left),
        ("context", Right),
        ("max out", Right),
        ("thinking", Left),
        ("images", Left),
        ("$ in/out", Right),
        ("key", Left),
    ];
    render(columns, &rows)
}

fn row(model: &Model, access: Access) -> [String; 8] {
    let price = |dollars: f64| format!("{dollars:.2}");
    let cost = model.cost;
    let is_free = cost.input == 0.0 && cost.output == 0.0;
    [
        plain_line(&model.provider),
        plain_line(&model.id),
        tokens(model.context_window),
        tokens(model.max_tokens),
        if model.reasoning { "yes" } else { "no" }.to_owned(),
        if model.takes_images() { "yes" } else { "no" }.to_owned(),
        if is_free { "-".to_owned() } else { format!("{}/{}", price(cost.input), price(cost.output)) },
        match access {
            Access::Key => "yes".to_owned(),
            Access::NoKey => "no".to_owned(),
            Access::Unsupported => format!("not supported: {}", plain_line(&model.api)),
        },
    ]
}

/// Returns a number of tokens in short form: 200K, 1M, 1.05M.
fn tokens(count: u64) -> String {
    let short = |unit: u64, letter: &str| {
        let hundredths = count / (unit / 100);
        let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{letter}")
    };
    match count {
        1_000_000.. => short(1_000_000, "M"),
        1000.. => format!("{}K", (count + 500) / 1000),
        _ => count.to_string(),
    }
}

/// Returns a model as JSON: what clients see of it, and whether it can be used.
fn record(model: &Model, access: Access) -> String {
    let mut record = serde_json::to_value(model).unwrap_or_default();
    if let Value::Object(members) = &mut record {
        members.insert("hasKey".to_owned(), json!(access == Access::Key));
        members.insert("supported".to_owned(), json!(access != Access::Unsupported));
    }
    format!("{record}\n")
}

fn summary(models: &[(Arc<Model>, Access)]) -> String {
    let usable = models.iter().filter(|(_, access)| *access == Access::Key).count();
    let hint = if usable == 0 { " Store a key with: bowline auth set --provider NAME" } else { "" };
    format!("{}, {usable} of them with a key.{hint}", counted(models.len()))
}

fn nothing(arguments: &Arguments) -> String {
    if let Some(provider) = arguments.provider.as_ref().filter(|_| arguments.search.is_empty()) {
        return format!("no model of a provider \"{provider}\" is known; without --provider, all are listed");
    }
    match (arguments.local, arguments.search.as_str()) {
        (true, "") => "no model server on this machine has a model".to_owned(),
        (true, search) => format!("no model of the servers on this machine has \"{search}\" in its name"),
        (false, search) => format!("no known model has \"{search}\" in its name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short() {
        for (count, text) in [
            (512, "512"),
            (8192, "8K"),
            (200_000, "200K"),
            (1_000_000, "1M"),
            (1_048_576, "1.04M"),
            (2_000_000, "2M"),
        ] {
            assert_eq!(tokens(count), text);
        }
    }
}
