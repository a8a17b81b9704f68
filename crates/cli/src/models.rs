//! Which models an agent starts with: what the command line and the settings say of them.
//!
//! A name that nobody knows is an error, unless there are extensions: they may bring the model, and they register only after
//! the start. Then the agent looks it up again.

use std::sync::Arc;

use bowline_engine::{LaterModels, ModelDefaults, ModelWishes};
use bowline_llm::{Error, Providers, Resolved, Sources};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::startup::sources;
use crate::terminal::note;

/// A model that the user named.
pub(crate) enum Chosen {
    Known(Option<Resolved>),
    /// Nobody knows it yet, for this reason.
    Missing(Error),
}

/// Returns what the user says of models. `model` is what stands for `--model`.
pub(crate) fn model_wishes(arguments: &Arguments, model: Option<&str>, file: &SettingsFile) -> ModelWishes {
    let saved_scope = || file.enabled_models.as_ref().map(|patterns| patterns.join(","));
    ModelWishes {
        model: model.map(ToOwned::to_owned),
        provider: arguments.provider.clone(),
        thinking_level: arguments.thinking,
        scope: arguments.models.clone().or_else(saved_scope),
        preferred: file.default_provider.clone().zip(file.default_model.clone()),
        default_thinking_level: file.default_thinking_level,
        thinking_level_by_model: Arc::new(file.model_thinking_levels.clone()),
    }
}

/// Reads the providers and finds the model that the user named, if any.
pub(crate) fn choose_model(
    arguments: &Arguments,
    wishes: &ModelWishes,
    environment: &Environment,
    file: &SettingsFile,
    may_have_extensions: bool,
) -> Result<(Providers, Chosen), Failure> {
    let sources = sources(environment, file);
    let mut providers = Providers::new(sources.clone())?;
    for warning in providers.warnings() {
        note(format_args!("bowline: {warning}"));
    }
    let chosen = match wishes.choose(&providers) {
        Ok(chosen) => Chosen::Known(chosen),
        Err(error) if may_have_extensions && error.is_unknown_name() => Chosen::Missing(error),
        Err(error) => return Err(error.into()),
    };
    if let Chosen::Known(Some(Resolved { warning: Some(warning), .. })) = &chosen {
        note(format_args!("bowline: {warning}"));
    }
    if arguments.api_key.is_some() || arguments.record.is_some() || arguments.replay_loose {
        // The key is for the provider that was chosen and is never sent to another.
        let provider = match &chosen {
            Chosen::Known(choice) => choice.as_ref().map(|choice| choice.model.provider.clone()),
            Chosen::Missing(error) => match named_provider(wishes) {
                None if arguments.api_key.is_some() => return Err(error.clone().into()),
                named => named.map(ToOwned::to_owned),
            },
        };
        providers = Providers::new(Sources {
            api_key: arguments.api_key.clone(),
            api_key_provider: provider.or_else(|| arguments.provider.clone()),
            record: arguments.record.as_deref().map(|path| environment.expand(path)),
            replay_loose: arguments.replay_loose,
            ..sources
        })?;
    }
    Ok((providers, chosen))
}

/// Returns the provider that the user named, by itself or before the model.
fn named_provider(wishes: &ModelWishes) -> Option<&str> {
    let before_model = || Some(wishes.model.as_deref()?.split_once('/')?.0);
    wishes.provider.as_deref().or_else(before_model)
}

/// Returns what sessions start with.
pub(crate) fn model_defaults(
    wishes: ModelWishes,
    chosen: Chosen,
    providers: &Providers,
    may_have_extensions: bool,
) -> Result<ModelDefaults, Failure> {
    let (chosen, missing) = match chosen {
        Chosen::Known(chosen) => (chosen, None),
        Chosen::Missing(error) => (None, Some(error)),
    };
    let (scope, missing) = match wishes.limit(providers) {
        Ok(scope) => (scope, missing),
        Err(error) if may_have_extensions && error.is_unknown_name() => (Vec::new(), missing.or(Some(error))),
        Err(error) => return Err(error.into()),
    };
    for warning in scope.iter().filter_map(|choice| choice.warning.as_ref()) {
        note(format_args!("bowline: {warning}"));
    }
    let mut models = match &missing {
        None => wishes.defaults(chosen, scope, providers),
        // No other model is used instead of the one that the user named.
        Some(_) => {
            ModelDefaults { chosen_model: chosen.map(|choice| choice.model), ..ModelDefaults::default() }
        }
    };
    models.later = may_have_extensions.then(|| {
        let missing = missing.map(|error| error.to_string());
        LaterModels { wishes: Arc::new(wishes), missing }
    });
    Ok(models)
}
