//! Renews a login whose access token has expired, and stores the new tokens in `auth.json`.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use bowline_core::stream::{FailureKind, StreamError};
use serde::Deserialize;
use serde_json::json;

use crate::auth_file::{AuthFile, Lock, Login, now};
use crate::credentials::{Credential, Scheme};
use crate::secret::Secret;
use crate::setting_value::CommandCache;
use crate::transport::Transport;

/// The token server of a provider.
struct TokenServer {
    provider: &'static str,
    url: &'static str,
    /// A variable that overrides the URL, for tests and proxies.
    variable: &'static str,
    /// The program that made the login. It is public, and a login can only be renewed in its name.
    client_id: &'static str,
}

const SERVERS: &[TokenServer] = &[TokenServer {
    provider: "anthropic",
    url: "https://platform.claude.com/v1/oauth/token",
    variable: "BOWLINE_ANTHROPIC_TOKEN_URL",
    client_id: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
}];

/// How long the renewal may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The response of a token server.
#[derive(Deserialize)]
struct Renewed {
    access_token: String,
    refresh_token: Option<String>,
    /// Seconds.
    expires_in: Option<u64>,
}

/// Returns whether a provider's logins can be renewed.
pub(crate) fn can_renew(provider: &str) -> bool {
    SERVERS.iter().any(|server| server.provider == provider)
}

/// Renews a provider's login and returns its new access token. If several processes find the login expired, one renews
/// it and the others use its result: a refresh token works only once.
pub(crate) async fn renew(
    provider: &str,
    path: &Path,
    environment: &HashMap<String, String>,
    transport: &Transport,
) -> Result<Credential, StreamError> {
    let failed = |reason: String| {
        let message = format!(
            "The login of the provider \"{provider}\" in auth.json has expired and could not be renewed: {reason}. Log in again with the program that made it, or store a key: bowline auth set --provider {provider}."
        );
        StreamError::new(FailureKind::Authentication, message)
    };
    let Some(server) = SERVERS.iter().find(|server| server.provider == provider) else {
        return Err(failed("renewal is not supported for this provider".to_owned()));
    };
    let place = path.to_owned();
    // Another process may hold the lock during its request.
    let lock = tokio::task::spawn_blocking(move || Lock::acquire(&place)).await;
    let lock = lock.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    let file = AuthFile::read(path).map_err(|error| failed(error.to_string()))?;
    let Some(Login::Oauth(tokens)) = file.login(provider) else {
        return Err(failed("it is no longer in the file".to_owned()));
    };
    let cache = CommandCache::default();
    if !tokens.is_over() {
        return tokens.access.evaluate(environment, &cache).await.map(bearer).map_err(failed);
    }
    let Some(refresh) = &tokens.refresh else { return Err(failed("it has no refresh token".to_owned())) };
    let refresh = refresh.evaluate(environment, &cache).await.map_err(failed)?;
    let url = environment.get(server.variable).map_or(server.url, String::as_str);
    let renewed = ask(server, url, &refresh, transport).await?.map_err(failed)?;
    let expires = renewed.expires_in.map(|seconds| now().saturating_add(seconds.saturating_mul(1000)));
    let stored = lock.change(|entries| {
        let entry = &mut entries[provider];
        entry["access"] = json!(renewed.access_token);
        if let Some(token) = &renewed.refresh_token {
            entry["refresh"] = json!(token);
        }
        entry["expires"] = json!(expires);
    });
    stored.map_err(|error| failed(error.to_string()))?;
    Ok(bearer(Secret::new(renewed.access_token)))
}

fn bearer(secret: Secret) -> Credential {
    Credential { secret, scheme: Scheme::Login, origin: "auth.json".to_owned() }
}

/// Requests new tokens. The outer error may succeed on retry; the inner one is a refusal.
async fn ask(
    server: &TokenServer,
    url: &str,
    refresh: &Secret,
    transport: &Transport,
) -> Result<Result<Renewed, String>, StreamError> {
    let body = json!({ "grant_type": "refresh_token", "refresh_token": refresh.expose(),
        "client_id": server.client_id });
    let (status, answer) = transport.post_json(url, body.to_string().into_bytes(), LIMIT).await?;
    if status >= 500 || status == 429 {
        let message = format!("The token server returned status {status}. Try again later.");
        return Err(StreamError {
            status: Some(status),
            ..StreamError::new(FailureKind::Unavailable, message)
        });
    }
    if status != 200 {
        // The response may repeat the token, so it is not passed on.
        return Ok(Err(format!("the server returned status {status}")));
    }
    Ok(serde_json::from_slice(&answer).map_err(|_| "the server's response is invalid".to_owned()))
}
