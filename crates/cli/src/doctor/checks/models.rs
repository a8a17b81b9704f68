//! Which model a prompt would use.

use std::time::Duration;

use bowline_core::Model;
use bowline_llm::{LocalScope, Providers};
use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::models::model_wishes;
use crate::{hosts, startup};

/// How long a server on this machine may take to list its models.
const LOCAL_LIMIT: Duration = Duration::from_secs(2);

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let providers = match &facts.providers {
            Ok(providers) => providers,
            Err(problem) => {
                return vec![Finding::broken(problem.clone()).because("bowline does not start.")];
            }
        };
        let mut findings = Vec::new();
        if facts.arguments.online {
            for server in providers.ask_local_servers(LOCAL_LIMIT, LocalScope::Configured).await {
                if let Ok(models) = server.models {
                    let (provider, count) = (server.provider, models.len());
                    findings.push(Finding::fine(format!(
                        "{provider} answers at {} with {count} models",
                        server.base_url
                    )));
                }
            }
        }
        findings.insert(0, usual(facts, providers));
        findings
    })
}

/// Returns what a prompt would be sent to if the command line names no model.
fn usual(facts: &Facts, providers: &Providers) -> Finding {
    let named = startup::model_variable(&facts.environment, &facts.entry.start).map(|(_, model)| model);
    let wishes = model_wishes(&facts.arguments, facts.arguments.model.as_deref().or(named), &facts.file);
    let places = hosts::places(&facts.arguments, &facts.environment, &facts.file);
    let may_be_of_extension = places.may_have_any(&facts.environment.working_directory);
    let defaults = wishes
        .choose(providers)
        .and_then(|chosen| Ok(wishes.defaults(chosen, wishes.limit(providers)?, providers)));
    let defaults = match defaults {
        Ok(defaults) => defaults,
        Err(error) if may_be_of_extension && error.is_unknown_name() => {
            return Finding::look(error.to_string()).because("An extension may bring it.");
        }
        Err(error) => return Finding::broken(error.to_string()).because("bowline does not start."),
    };
    let Some(model) = defaults.default_model else {
        return Finding::broken("no model can be used: there is no key, and no provider that needs none")
            .because("A prompt is refused unless --model names one. Any one of these helps:")
            .remedy("bowline auth set --provider anthropic")
            .remedy("bowline --list-models --local")
            .remedy("bowline demo");
    };
    if let Err(problem) = providers.check_credentials(&model) {
        return Finding::broken(format!("{} would be used, but {}", model.full_name(), problem.message))
            .remedy(format!("bowline auth set --provider {}", model.provider));
    }
    match wishes.preferred.filter(|(provider, id)| !is_model(&model, provider, id)) {
        Some((provider, id)) if defaults.chosen_model.is_none() => Finding::look(format!(
            "the settings name {provider}/{id}, but a prompt would use {}",
            model.full_name()
        ))
        .because("The model is not known, has no key, or is not among enabledModels.")
        .remedy(format!("bowline --list-models {id}")),
        _ => Finding::fine(format!("a prompt would use {}", model.full_name())),
    }
}

fn is_model(model: &Model, provider: &str, id: &str) -> bool {
    model.provider == provider && model.id == id
}
