//! Logins to providers that were added while the program runs: whoever added one logs the user in, renews the credential
//! and makes the key out of it. bowline stores the credential in `auth.json`, in pi's format, and decides when it is renewed.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bowline_core::stream::{FailureKind, StreamError};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use crate::added::AddedBy;
use crate::auth_file::{AuthFile, Lock, Login, Tokens};
use crate::credentials::{Credential, Scheme};
use crate::error::Error;
use crate::key_status::escaped;
use crate::providers::Providers;
use crate::secret::Secret;

/// The longest credential, in bytes of JSON.
const LONGEST: usize = 64 * 1024;

/// The largest time that a number of JavaScript holds exactly.
const LATEST: u64 = (1 << 53) - 1;

/// What logs users in to a provider. The errors are sentences or clauses for the user and hold no part of a credential.
pub trait LoginService: fmt::Debug + Send + Sync {
    /// Logs the user in and returns the credential to store. Dropping the future stops it.
    fn login(&self) -> BoxFuture<'static, Result<Value, String>>;

    /// Returns what takes the place of a credential that has expired.
    fn renew(&self, credential: Value) -> BoxFuture<'static, Result<Value, String>>;

    /// Returns the key that requests are made with.
    fn key(&self, credential: Value) -> BoxFuture<'static, Result<Secret, String>>;

    /// Is told that another credential was stored, or that there is none any longer.
    fn changed(&self);
}

/// The login of a provider.
#[derive(Debug, Clone)]
pub struct ProviderLogin {
    /// What it is called, for people.
    pub name: Option<String>,
    /// Whether the provider cannot be used without it or a key.
    pub is_required: bool,
    pub service: Arc<dyn LoginService>,
}

/// Why a user is not logged in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoginFailure {
    #[error("Login cancelled: nothing was changed")]
    Cancelled,
    #[error("The login to the provider \"{provider}\" failed: {reason}")]
    Failed { provider: String, reason: String },
    #[error(
        "The provider \"{provider}\" has no login. Store a key instead: bowline auth set --provider {provider}"
    )]
    NoLogin { provider: String },
    #[error(
        "The provider \"{provider}\" is of an extension of the project, which gets no logins and keys. Put the extension into your own folder"
    )]
    OfProject { provider: String },
    #[error(transparent)]
    Storage(#[from] Error),
}

/// What extensions say when the user has cancelled a login.
const CANCELLED: &str = "Login cancelled";

impl Providers {
    /// Returns the login of a provider that was added, if it has one and may be used.
    pub fn provider_login(&self, provider: &str) -> Result<ProviderLogin, LoginFailure> {
        let provider = provider.to_owned();
        let registry = self.registry();
        let Some(added) = registry.added(&provider) else { return Err(LoginFailure::NoLogin { provider }) };
        match &added.login {
            None => Err(LoginFailure::NoLogin { provider }),
            Some(_) if added.by == AddedBy::Project => Err(LoginFailure::OfProject { provider }),
            Some(login) => Ok(login.clone()),
        }
    }

    /// Logs the user in to a provider and stores the credential. Dropping the future stops the login.
    pub async fn log_in(&self, provider: &str) -> Result<(), LoginFailure> {
        let login = self.provider_login(provider)?;
        let failed = |reason: String| match reason.starts_with(CANCELLED) {
            true => LoginFailure::Cancelled,
            false => LoginFailure::Failed { provider: provider.to_owned(), reason },
        };
        let credential = login.service.login().await.map_err(failed)?;
        let entry = entry(credential).map_err(failed)?;
        let (providers, name) = (self.clone(), provider.to_owned());
        let stored = spawn_blocking(move || providers.put_entry(&name, Some(entry))).await;
        stored.map_err(|error| failed(error.to_string()))??;
        login.service.changed();
        Ok(())
    }

    /// Stores a credential in `auth.json` in place of the provider's, or removes that. The error says what is wrong with it.
    /// Waits for other processes that have locked the file.
    pub fn store_credential(&self, provider: &str, credential: Option<Value>) -> Result<(), String> {
        let entry = credential.map(entry).transpose()?;
        self.put_entry(provider, entry).map_err(|error| error.to_string())
    }

    fn put_entry(&self, provider: &str, entry: Option<Map<String, Value>>) -> Result<(), Error> {
        let lock = Lock::acquire(self.auth_path().ok_or(Error::NoAuthFile)?)?;
        lock.change(|entries| match entry {
            Some(entry) => drop(entries.insert(provider.to_owned(), Value::Object(entry))),
            None => drop(entries.shift_remove(provider)),
        })
    }

    /// Returns the stored credential of a login as it is. Reads the file.
    pub fn stored_login(&self, provider: &str) -> Option<Value> {
        match self.auth().ok()?.login(provider) {
            Some(Login::Oauth(tokens)) => Some(tokens.whole()),
            _ => None,
        }
    }

    /// Returns the stored credential of a login, renewed if it has expired.
    pub async fn fresh_login(&self, provider: &str) -> Result<Option<Value>, StreamError> {
        let (Ok(login), Some(path)) = (self.provider_login(provider), self.auth_path()) else {
            return Ok(None);
        };
        match AuthFile::read(path).ok().as_ref().and_then(|file| file.login(provider)) {
            Some(Login::Oauth(_)) => fresh(provider, &login, path).await.map(Some),
            _ => Ok(None),
        }
    }
}

/// Returns the key of a stored login, which is renewed first if it has expired.
pub(crate) async fn key(
    provider: &str,
    login: &ProviderLogin,
    path: &Path,
) -> Result<Credential, StreamError> {
    let credential = fresh(provider, login, path).await?;
    let made = login.service.key(credential).await;
    let secret = made.map_err(|reason| {
        let message =
            format!("The login of the provider \"{provider}\" in auth.json gives no key: {reason}.");
        StreamError::new(FailureKind::Authentication, message)
    })?;
    Ok(Credential { secret, scheme: Scheme::Key, origin: "auth.json".to_owned() })
}

/// Returns everything secret about a login.
pub(crate) async fn secrets(login: &ProviderLogin, tokens: &Tokens) -> Vec<Secret> {
    let key = login.service.key(tokens.whole()).await.ok();
    [Some(tokens.access.clone()), tokens.refresh.clone(), key].into_iter().flatten().collect()
}

/// Returns the credential of a stored login. If it has expired and several want it, one renews it and the others use the
/// result: a refresh token works only once.
async fn fresh(provider: &str, login: &ProviderLogin, path: &Path) -> Result<Value, StreamError> {
    let failed = |reason: String| {
        let message = format!(
            "The login of the provider \"{provider}\" in auth.json cannot be used: {reason}. Log in again: bowline auth login {provider}."
        );
        StreamError::new(FailureKind::Authentication, message)
    };
    let read = || match AuthFile::read(path).map_err(|error| failed(error.to_string()))?.login(provider) {
        Some(Login::Oauth(tokens)) => Ok(tokens.clone()),
        _ => Err(failed("it is no longer in the file".to_owned())),
    };
    let tokens = read()?;
    if !tokens.is_over() {
        return Ok(tokens.whole());
    }
    let place = path.to_owned();
    let lock = spawn_blocking(move || Lock::acquire(&place)).await;
    let lock = lock.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    let tokens = read()?;
    if !tokens.is_over() {
        return Ok(tokens.whole());
    }
    let renewed = login.service.renew(tokens.whole()).await;
    let renewed =
        renewed.map_err(|reason| failed(format!("it has expired and could not be renewed ({reason})")))?;
    let entry = entry(renewed).map_err(failed)?;
    let credential = Value::Object(entry.clone());
    let stored = lock.change(|entries| entries.insert(provider.to_owned(), Value::Object(entry)));
    stored.map_err(|error| failed(error.to_string()))?;
    Ok(credential)
}

/// Returns a credential as the file has it. The error says what is wrong with it, not what it contains.
fn entry(credential: Value) -> Result<Map<String, Value>, String> {
    let wrong = |what: &str| Err(format!("it returned a credential {what}"));
    if credential.to_string().len() > LONGEST {
        return wrong(&format!("of more than {LONGEST} bytes"));
    }
    let Value::Object(mut entry) = credential else { return wrong("that is no object") };
    let is_text = |entry: &Map<String, Value>, name: &str| {
        entry.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    if entry.get("type").and_then(Value::as_str) == Some("api_key") {
        let Some(key) = entry.get("key").and_then(Value::as_str).filter(|key| !key.is_empty()) else {
            return wrong("without a key");
        };
        entry["key"] = json!(escaped(key));
        return Ok(entry);
    }
    if !is_text(&entry, "access") {
        return wrong("without an access token");
    }
    if entry.get("refresh").is_some_and(|refresh| !refresh.is_string() && !refresh.is_null()) {
        return wrong("whose \"refresh\" is no text");
    }
    match entry.get("expires").map(milliseconds) {
        None => {}
        Some(Some(expires)) => drop(entry.insert("expires".to_owned(), json!(expires))),
        // JavaScript writes an infinite time as null.
        Some(None) if entry["expires"].is_null() => drop(entry.shift_remove("expires")),
        Some(None) => return wrong("whose \"expires\" is not a time in milliseconds since 1970"),
    }
    let mut whole = Map::from_iter([("type".to_owned(), json!("oauth"))]);
    entry.shift_remove("type");
    whole.extend(entry);
    Ok(whole)
}

/// Returns a time in whole milliseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the time is bounded before")]
fn milliseconds(value: &Value) -> Option<u64> {
    if let Some(whole) = value.as_u64() {
        return Some(whole.min(LATEST));
    }
    let number = value.as_f64()?;
    #[expect(clippy::cast_precision_loss, reason = "the number is exact")]
    let latest = LATEST as f64;
    Some(number.clamp(0.0, latest) as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::{AddedBy, Additions, KeyState, NewProvider, Sources};

    /// Renews by counting, and makes keys of the access token.
    #[derive(Debug, Default)]
    struct Service {
        renewals: AtomicUsize,
        /// What logging in returns.
        login: Value,
    }

    impl LoginService for Service {
        fn login(&self) -> BoxFuture<'static, Result<Value, String>> {
            let answer = self.login.clone();
            Box::pin(async move {
                match answer {
                    Value::String(reason) => Err(reason),
                    credential => Ok(credential),
                }
            })
        }

        fn renew(&self, credential: Value) -> BoxFuture<'static, Result<Value, String>> {
            let number = self.renewals.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if credential["refresh"] != json!("r") || number > 0 {
                    return Err("the token is used up".to_owned());
                }
                Ok(
                    json!({"access": "renewed", "refresh": "next", "expires": 4e12, "account": credential["account"]}),
                )
            })
        }

        fn key(&self, credential: Value) -> BoxFuture<'static, Result<Secret, String>> {
            let key = format!("key-{}", credential["access"].as_str().unwrap_or_default());
            Box::pin(async move { Ok(Secret::new(key)) })
        }

        fn changed(&self) {}
    }

    /// Returns providers with one of an extension that has a login, over a file of credentials.
    fn providers(folder: &Path, auth: &Value, login: Value) -> (Providers, Additions, Arc<Service>) {
        let auth_file = folder.join("auth.json");
        std::fs::write(&auth_file, auth.to_string()).unwrap();
        let providers = Providers::new(Sources { auth_file: Some(auth_file), ..Sources::default() }).unwrap();
        let additions = providers.additions(AddedBy::User);
        let service = Arc::new(Service { login, ..Service::default() });
        add(&additions, &service);
        (providers, additions, service)
    }

    fn add(additions: &Additions, service: &Arc<Service>) {
        let settings =
            json!({"baseUrl": "http://corp", "api": "openai-completions", "models": [{"id": "m"}]});
        let service = Arc::clone(service) as Arc<dyn LoginService>;
        let login = ProviderLogin { name: Some("Corp".to_owned()), is_required: true, service };
        additions.add("corp", NewProvider { settings, source: None, login: Some(login) }).unwrap();
    }

    fn stored(folder: &Path) -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join("auth.json")).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn expired_login_is_renewed_once_and_the_file_keeps_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let corp = json!({"type": "oauth", "access": "old", "refresh": "r", "expires": 1, "account": "me"});
        let other = json!({"type": "later", "x": 1});
        let auth = json!({"corp": corp, "other": other});
        let (providers, _additions, service) = providers(folder.path(), &auth, Value::Null);
        let keys = futures_util::future::join_all((0..5).map(|_| providers.key("corp"))).await;
        for key in keys {
            assert_eq!(key.unwrap().unwrap().expose(), "key-renewed");
        }
        assert_eq!(service.renewals.load(Ordering::Relaxed), 1);
        let renewed = json!({"type": "oauth", "access": "renewed", "refresh": "next", "expires": 4_000_000_000_000_u64, "account": "me"});
        assert_eq!(stored(folder.path()), json!({"corp": renewed, "other": other}));
    }

    #[tokio::test]
    async fn failed_renewal_says_how_to_go_on_and_holds_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let auth = json!({"corp": {"type": "oauth", "access": "secret-access", "refresh": "secret-refresh", "expires": 1}});
        let (providers, _additions, _) = providers(folder.path(), &auth, Value::Null);
        let error = providers.key("corp").await.unwrap_err().to_string();
        assert!(
            error.contains("the token is used up") && error.contains("bowline auth login corp"),
            "{error}"
        );
        assert!(!error.contains("secret-"), "{error}");
        assert_eq!(stored(folder.path()), auth);
    }

    #[tokio::test]
    async fn login_is_stored_in_pi_s_format() {
        let folder = tempfile::tempdir().unwrap();
        let credential = json!({"access": "a", "refresh": "r", "expires": 1_700_000_000_000.75, "extra": {"x": 1}, "type": "wrong"});
        let (providers, _additions, _) = providers(folder.path(), &json!({}), credential);
        let model = providers.find("corp", "m").unwrap();
        assert!(providers.check_credentials(&model).unwrap_err().message.contains("bowline auth login corp"));
        assert_eq!(providers.key_status("corp").unwrap().state, KeyState::Missing);
        providers.log_in("corp").await.unwrap();
        let expected = json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 1_700_000_000_000_u64, "extra": {"x": 1}});
        assert_eq!(stored(folder.path())["corp"], expected);
        let status = providers.key_status("corp").unwrap();
        assert_eq!((status.state, status.is_login), (KeyState::Ready, true), "it can be renewed");
        let listed = providers.login_providers().unwrap();
        let corp = listed.iter().find(|provider| provider.id == "corp").unwrap();
        assert_eq!((&*corp.name, corp.is_available), ("Corp", true));
    }

    #[tokio::test]
    async fn unusable_credentials_are_refused_without_showing_them() {
        for (credential, expected) in [
            (json!(null), "that is no object"),
            (json!({"refresh": "r"}), "without an access token"),
            (json!({"access": ""}), "without an access token"),
            (json!({"access": "secret", "refresh": 5}), "whose \"refresh\" is no text"),
            (json!({"access": "secret", "expires": "soon"}), "whose \"expires\" is not a time"),
            (json!({"access": "x".repeat(LONGEST)}), "of more than 65536 bytes"),
            (json!({"type": "api_key"}), "without a key"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (providers, _additions, _) = providers(folder.path(), &json!({}), credential);
            let error = providers.log_in("corp").await.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
            assert_eq!(stored(folder.path()), json!({}));
        }
    }

    #[tokio::test]
    async fn keys_are_stored_as_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (providers, _additions, _) =
            providers(folder.path(), &json!({}), json!({"type": "api_key", "key": "!a$b"}));
        providers.log_in("corp").await.unwrap();
        assert_eq!(providers.key("corp").await.unwrap().unwrap().expose(), "!a$b");
    }

    #[tokio::test]
    async fn login_that_the_user_cancels_or_that_there_is_not_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (providers, additions, service) = providers(folder.path(), &json!({}), json!("Login cancelled"));
        assert_eq!(providers.log_in("corp").await.unwrap_err(), LoginFailure::Cancelled);
        assert!(matches!(providers.log_in("groq").await.unwrap_err(), LoginFailure::NoLogin { .. }));
        drop(additions);
        let of_project = providers.additions(AddedBy::Project);
        add(&of_project, &service);
        assert!(matches!(providers.log_in("corp").await.unwrap_err(), LoginFailure::OfProject { .. }));
        providers.store_credential("corp", Some(json!({"access": "a", "refresh": "r"}))).unwrap();
        assert!(providers.key("corp").await.is_err(), "a project's provider gets no login");
    }
}
