//! Keys and logins of providers, for extensions of the user. Those of a project get none.

use bowline_llm::{KeyState, KeyStatus};
use serde_json::Value;

use super::{Asked, json};
use crate::protocol::{ModelAuth, ModelAuthParams, ModelAuthStatus, StoreCredentialParams};

const OF_PROJECT: &str = "extensions of a project get no keys";

/// Returns what a provider is reached with. Whoever carries out its logins gets the credential and makes the key itself: it
/// may be waiting for this, so it is not asked.
pub(super) async fn auth(asked: &Asked<'_>, params: &ModelAuthParams) -> Result<Value, String> {
    if !asked.extension.is_of_user() {
        return Err(OF_PROJECT.to_owned());
    }
    let _pause = asked.connection.clock.pause();
    let (providers, provider) = (&asked.extension.about.providers, params.provider.as_str());
    if asked.extension.owns_provider(provider)
        && let Some(credential) = providers.fresh_login(provider).await.map_err(|error| error.message)?
    {
        return json(&ModelAuth { credential: Some(credential), ..ModelAuth::default() });
    }
    let access = providers.access(provider, params.model.as_deref()).await.map_err(|error| error.message)?;
    let headers = access.headers.into_iter().map(|(name, value)| (name, value.expose().to_owned()));
    json(&ModelAuth {
        api_key: access.key.map(|key| key.expose().to_owned()),
        headers: headers.collect(),
        credential: None,
    })
}

/// Returns whether there is a key or a login. The other extensions of a process may wait for this, so nobody is asked.
pub(super) async fn status(asked: &Asked<'_>, provider: String) -> Result<Value, String> {
    let providers = asked.extension.about.providers.clone();
    let found = tokio::task::spawn_blocking(move || {
        let answers_itself = providers.is_virtual_only(&provider)
            || providers.is_foreign(&provider) && providers.provider_login(&provider).is_err();
        (providers.key_status(&provider).ok(), answers_itself)
    });
    let (found, answers_itself) = found.await.map_err(|error| error.to_string())?;
    json(&described(found, answers_itself))
}

fn described(found: Option<KeyStatus>, answers_itself: bool) -> ModelAuthStatus {
    let nothing = ModelAuthStatus { configured: answers_itself, source: None, label: None, oauth: false };
    let Some(found) = found.filter(|found| found.state == KeyState::Ready) else { return nothing };
    let source = found.source.map(|source| match source {
        "auth.json" => "stored",
        "environment" => "environment",
        "models.json" if found.is_command => "models_json_command",
        "models.json" => "models_json_key",
        _ => "runtime",
    });
    ModelAuthStatus { configured: true, source, label: found.variable, oauth: found.is_login }
}

/// Stores or removes a credential.
pub(super) async fn store(asked: &Asked<'_>, params: StoreCredentialParams) -> Result<Value, String> {
    if !asked.extension.is_of_user() {
        return Err(OF_PROJECT.to_owned());
    }
    let StoreCredentialParams { provider, credential } = params;
    let providers = asked.extension.about.providers.clone();
    let name = provider.clone();
    let stored = tokio::task::spawn_blocking(move || providers.store_credential(&name, credential));
    stored.await.map_err(|error| error.to_string())??;
    if let Ok(login) = asked.extension.about.providers.provider_login(&provider) {
        login.service.changed();
    }
    Ok(Value::Null)
}
