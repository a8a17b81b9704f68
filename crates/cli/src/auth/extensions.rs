//! The providers that extensions add, for subcommands about keys.

use bowline_dialect::Entry;
use bowline_llm::{Error, KeyState, KeyStatus, Providers};

use crate::arguments::Arguments;
use crate::detached_extensions::DetachedExtensions;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::{hosts, resources, startup};

/// What extensions are started from.
pub(super) struct Desk<'start> {
    pub arguments: &'start Arguments,
    pub environment: &'start Environment,
    pub entry: &'start Entry,
    pub file: &'start SettingsFile,
}

impl Desk<'_> {
    /// Starts the extensions, and returns them with the providers that they add theirs to; `None` if there are none. Call it
    /// in a runtime.
    pub fn start(&self) -> Result<Option<(DetachedExtensions, Providers)>, Failure> {
        let Self { arguments, environment, entry, file } = self;
        let places = hosts::places(arguments, environment, file);
        if !places.may_have_any(&environment.working_directory) {
            return Ok(None);
        }
        let resources = resources::choose(arguments, environment, file);
        let (plan, providers) = startup::extension_plan(arguments, environment, entry, file, &resources)?;
        let started = DetachedExtensions::start(plan, &providers, &environment.working_directory);
        Ok(started.map(|extensions| (extensions, providers)))
    }
}

/// Tells whether only extensions may know a provider, or whether one of the logins can be renewed.
pub(super) fn may_know_more(providers: &Providers, provider: Option<&str>) -> Result<bool, Failure> {
    let is_unclear = |status: &KeyStatus| {
        let is_known = || providers.known_providers().contains(&status.provider);
        status.is_login && (status.state == KeyState::Expired || !is_known())
    };
    match provider {
        None => Ok(providers.providers_with_keys()?.iter().any(is_unclear)),
        Some(provider) => match providers.key_status(provider) {
            Ok(status) => Ok(is_unclear(&status)),
            Err(Error::UnknownProvider { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        },
    }
}
