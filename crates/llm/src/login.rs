//! Renews a login whose access token has expired at the token server that the user named for it in `models.json`, and
//! stores the new tokens in `auth.json`.
//!
//! A login that another program obtained belongs to that program's client id. bowline has none of its own, so without
//! the user's it renews nothing.

use std::path::Path;
use std::time::Duration;

use bowline_core::stream::{FailureKind, StreamError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use crate::auth_file::{AuthFile, Lock, Login, now};
use crate::credentials::{Credential, Scheme};
use crate::models_file::TokenServer;
use crate::secret::Secret;
use crate::transport::Transport;

/// The characters that are encoded in a form.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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

/// Renews a provider's login and returns its new access token. If several processes find the login expired, one renews
/// it and the others use its result: a refresh token works only once.
pub(crate) async fn renew(
    provider: &str,
    server: &TokenServer,
    path: &Path,
    transport: &Transport,
) -> Result<Credential, StreamError> {
    let failed = |reason: String| {
        let message = format!(
            "The login of the provider \"{provider}\" in auth.json has expired and could not be renewed: {reason}. Log in again with the program that made it, or store a key: bowline auth set --provider {provider}."
        );
        StreamError::new(FailureKind::Authentication, message)
    };
    let place = path.to_owned();
    // Another process may hold the lock during its request.
    let lock = tokio::task::spawn_blocking(move || Lock::acquire(&place)).await;
    let lock = lock.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    let file = AuthFile::read(path).map_err(|error| failed(error.to_string()))?;
    let Some(Login::Oauth(tokens)) = file.login(provider) else {
        return Err(failed("it is no longer in the file".to_owned()));
    };
    if !tokens.is_over() {
        return Ok(bearer(tokens.access.clone()));
    }
    let Some(refresh) = &tokens.refresh else { return Err(failed("it has no refresh token".to_owned())) };
    let renewed = ask(server, refresh, transport).await?.map_err(failed)?;
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

/// Requests new tokens, as OAuth 2.0 describes it. The outer error may succeed on retry; the inner one is a refusal.
async fn ask(
    server: &TokenServer,
    refresh: &Secret,
    transport: &Transport,
) -> Result<Result<Renewed, String>, StreamError> {
    let mut fields = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose()),
        ("client_id", &server.client_id),
    ];
    fields.extend(server.scope.as_deref().map(|scope| ("scope", scope)));
    let encoded: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, ENCODED)))
        .collect();
    let (status, answer) =
        transport.post_form(&server.token_url, encoded.join("&").into_bytes(), LIMIT).await?;
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
