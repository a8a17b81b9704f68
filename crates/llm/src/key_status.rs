//! The status of a provider's key, as far as it can be known without asking the provider.

use bowline_core::stream::StreamError;
use serde_json::{Value, json};

use crate::auth_file::{self, AuthFile, Lock, Login};
use crate::credentials::{Found, KeySources, Origin};
use crate::error::Error;
use crate::providers::Providers;
use crate::secret::Secret;
use crate::setting_value::SettingValue;

/// Whether there is a key that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    Ready,
    Missing,
    /// There is a login, but it has expired and cannot be renewed.
    Expired,
    /// There is a key, but it cannot be used.
    Invalid,
}

impl KeyState {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Missing => "missing",
            Self::Expired => "expired",
            Self::Invalid => "invalid",
        }
    }
}

/// The status of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus {
    pub provider: String,
    pub state: KeyState,
    /// Where the key is: `--api-key`, `auth.json`, `models.json` or `environment`. `None` for a provider that needs no
    /// key or lacks one.
    pub source: Option<&'static str>,
    /// The environment variable that holds it.
    pub variable: Option<String>,
    /// Whether it is what a command of `models.json` prints.
    pub is_command: bool,
    /// Whether it is a login and not a key.
    pub is_login: bool,
    /// A remark or advice for the user.
    pub note: Option<String>,
}

impl Providers {
    /// Returns the status of a provider's key.
    pub fn key_status(&self, provider: &str) -> Result<KeyStatus, Error> {
        let provider = self.known_provider(provider)?;
        let (registry, auth) = (self.registry(), self.auth()?);
        Ok(status(&self.key_sources(&registry, &provider, &auth), &auth))
    }

    /// Returns the providers with a key, usable or not, and those that the user defined.
    pub fn providers_with_keys(&self) -> Result<Vec<KeyStatus>, Error> {
        let (registry, auth) = (self.registry(), self.auth()?);
        let known: Vec<&str> = registry.providers().collect();
        let others = auth.providers().filter(|name| !known.contains(name));
        let status = |name| status(&self.key_sources(&registry, name, &auth), &auth);
        let all = known.iter().copied().chain(others).map(status);
        let own = |name: &str| registry.settings(name).is_some();
        Ok(all.filter(|status| status.source.is_some() || own(&status.provider)).collect())
    }

    /// Returns the names of the known providers.
    pub fn known_providers(&self) -> Vec<String> {
        self.registry().providers().map(ToOwned::to_owned).collect()
    }

    /// Stores a key in `auth.json`, replacing the provider's entry.
    pub fn store_key(&self, provider: &str, key: &Secret) -> Result<String, Error> {
        let provider = self.known_provider(provider)?;
        let entry = json!({ "type": "api_key", "key": escaped(key.expose()) });
        self.lock()?.change(|entries| entries.insert(provider.clone(), entry))?;
        Ok(provider)
    }

    /// Removes a provider's key or login from `auth.json`; returns whether there was one.
    pub fn remove_key(&self, provider: &str) -> Result<bool, Error> {
        let has = |entries: &serde_json::Map<String, Value>| {
            entries.keys().find(|name| name.eq_ignore_ascii_case(provider)).cloned()
        };
        self.lock()?.change(|entries| has(entries).and_then(|name| entries.shift_remove(&name)).is_some())
    }

    /// Returns warnings about the files, such as keys that others can read.
    pub fn warnings(&self) -> Vec<String> {
        self.auth_path().and_then(auth_file::exposure).into_iter().collect()
    }

    fn lock(&self) -> Result<Lock, Error> {
        Lock::acquire(self.auth_path().ok_or(Error::NoAuthFile)?)
    }
}

fn status(sources: &KeySources<'_>, auth: &AuthFile) -> KeyStatus {
    let login = auth.login(sources.provider);
    let (state, origin, note) = match sources.first() {
        Found::Renewable => (
            KeyState::Ready,
            Some(Origin::AuthFile),
            Some("the login has expired and is renewed on next use".to_owned()),
        ),
        Found::Login => (KeyState::Ready, Some(Origin::AuthFile), None),
        Found::Text { origin, .. } => (KeyState::Ready, Some(origin), None),
        Found::Value { origin, .. } => match sources.check() {
            Ok(()) => (KeyState::Ready, Some(origin), None),
            Err(StreamError { message, .. }) => (KeyState::Invalid, Some(origin), Some(message)),
        },
        Found::Expired => (KeyState::Expired, Some(Origin::AuthFile), problem(sources)),
        Found::Nothing => match login {
            Some(Login::Unknown) => {
                let note = "the entry in auth.json has an unknown type".to_owned();
                (KeyState::Invalid, Some(Origin::AuthFile), Some(note))
            }
            _ if sources.optional => (KeyState::Ready, None, Some("no key is needed".to_owned())),
            _ => (KeyState::Missing, None, problem(sources)),
        },
    };
    let is_login = origin == Some(Origin::AuthFile) && matches!(login, Some(Login::Oauth(_)));
    let is_command =
        origin == Some(Origin::ModelsFile) && sources.setting.is_some_and(SettingValue::is_command);
    let (source, variable) = match origin {
        None => (None, None),
        Some(Origin::Argument) => (Some("--api-key"), None),
        Some(Origin::AuthFile) => (Some("auth.json"), None),
        Some(Origin::ModelsFile) => (Some("models.json"), None),
        Some(Origin::Variable(name)) => (Some("environment"), Some(name)),
    };
    KeyStatus { provider: sources.provider.to_owned(), state, source, variable, is_command, is_login, note }
}

fn problem(sources: &KeySources<'_>) -> Option<String> {
    sources.check().err().map(|error| error.message)
}

/// Escapes a key for the file, where `$` and a leading `!` have a special meaning.
pub(crate) fn escaped(key: &str) -> String {
    let plain = key.replace('$', "$$");
    match plain.strip_prefix('!') {
        Some(rest) => format!("$!{rest}"),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Sources;
    use crate::credentials::KeyForRequest;
    use crate::setting_value::CommandCache;

    fn providers(folder: &Path, auth: &str, variables: &[(&str, &str)]) -> Providers {
        std::fs::write(folder.join("auth.json"), auth).unwrap();
        std::fs::write(folder.join("models.json"), r#"{"providers": {"home": {"baseUrl": "http://h", "api": "openai-completions", "models": [{"id": "m"}]},
            "anthropic": {"oauth": {"tokenUrl": "https://login.example/token", "clientId": "c"}}}}"#).unwrap();
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sources = Sources {
            models_file: Some(folder.join("models.json")),
            auth_file: Some(folder.join("auth.json")),
            environment,
            ..Sources::default()
        };
        Providers::new(sources).unwrap()
    }

    #[test]
    fn key_is_ready_missing_expired_or_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let auth = r#"{"xai": {"type": "api_key", "key": "k"}, "zai": {"type": "api_key", "key": "$NOWHERE"},
            "anthropic": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1},
            "deepseek": {"type": "oauth", "access": "a", "expires": 1}, "meta": {"type": "later"},
            "strange": {"type": "api_key", "key": "k"}}"#;
        let providers = providers(folder.path(), auth, &[("GROQ_API_KEY", "k")]);
        let seen = |name: &str| {
            let status = providers.key_status(name).unwrap();
            (status.state, status.source, status.variable)
        };
        assert_eq!(seen("XAI"), (KeyState::Ready, Some("auth.json"), None));
        assert_eq!(seen("groq"), (KeyState::Ready, Some("environment"), Some("GROQ_API_KEY".into())));
        assert_eq!(seen("zai"), (KeyState::Invalid, Some("auth.json"), None));
        assert_eq!(seen("anthropic"), (KeyState::Ready, Some("auth.json"), None));
        assert_eq!(seen("deepseek"), (KeyState::Expired, Some("auth.json"), None));
        assert_eq!(seen("meta"), (KeyState::Invalid, Some("auth.json"), None));
        assert_eq!(seen("openai"), (KeyState::Missing, None, None));
        assert_eq!(seen("home"), (KeyState::Ready, None, None));
        assert_eq!(seen("ollama"), (KeyState::Ready, None, None));
        assert!(matches!(providers.key_status("nowhere"), Err(Error::UnknownProvider { .. })));
        let listed = providers.providers_with_keys().unwrap();
        let listed: Vec<_> = listed.iter().map(|status| status.provider.as_str()).collect();
        assert_eq!(listed, ["home", "anthropic", "xai", "deepseek", "zai", "meta", "groq", "strange"]);
    }

    #[tokio::test]
    async fn stored_key_is_the_one_that_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        for key in ["plain", "!not a command", "a$HOME$$b"] {
            let providers = providers(folder.path(), "{}", &[]);
            assert_eq!(providers.store_key("Groq", &Secret::new(key)).unwrap(), "groq");
            let auth = providers.auth().unwrap();
            let (registry, cache) = (providers.registry(), CommandCache::default());
            let sources = providers.key_sources(&registry, "groq", &auth);
            let KeyForRequest::Here(Some(credential)) = sources.credential(&cache).await.unwrap() else {
                panic!("no key")
            };
            assert_eq!(credential.secret.expose(), key);
            assert!(providers.remove_key("GROQ").unwrap());
            assert!(!providers.remove_key("groq").unwrap());
        }
    }
}
