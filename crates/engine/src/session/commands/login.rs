//! Logging in to a provider. Either an extension carries it out and asks the user what it needs, or the user is asked for the
//! key, which is stored as `bowline auth set` does.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display, OpenUrl};
use bowline_llm::{Error, KeyLogin, LoginFailure, Providers, Secret};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::pending::JobOrder;
use crate::session::Session;

impl Session {
    /// Replies with the providers that a user may log in to.
    pub(super) fn login_providers(&mut self, origin: Origin) {
        let providers = self.agent.providers().clone();
        self.reply_later(origin, JobOrder::Beside, async move {
            let found = in_background(move || providers.login_providers()).await?;
            Ok(Answer::LoginProviders(found))
        });
    }

    /// Logs the user in to a provider and replies once that is over.
    pub(super) fn login(&mut self, origin: Origin, provider: &str) {
        match self.agent.providers().provider_login(provider) {
            Ok(_) => self.login_by_extension(origin, provider.to_owned()),
            Err(LoginFailure::NoLogin { .. }) => self.login_with_key(origin, provider),
            Err(failure) => self.reply(origin, Err(refusal(&failure))),
        }
    }

    /// Has an extension log the user in. It may take any time, with or without a dialog, so an abort stops it.
    fn login_by_extension(&mut self, origin: Origin, provider: String) {
        let (providers, stop) = (self.agent.providers().clone(), self.logins.clone());
        self.reply_later(origin, JobOrder::Beside, async move {
            tokio::select! {
                result = providers.log_in(&provider) => result.map_err(|failure| refusal(&failure))?,
                () = stop.cancelled() => return Err(refusal(&LoginFailure::Cancelled)),
            }
            Ok(Answer::LoggedIn { provider })
        });
    }

    /// Asks the user for the key of a provider and replies once it is stored, or the user gave none.
    fn login_with_key(&mut self, origin: Origin, provider: &str) {
        let login = match find(self.agent.providers(), provider) {
            Ok(login) => login,
            Err(refusal) => return self.reply(origin, Err(refusal)),
        };
        let KeyLogin { provider, name, page, replaces_login } = login;
        if let Some(page) = page {
            let instructions = Some(format!("Create an API key of {name}, then enter it."));
            self.show(Display::OpenUrl(OpenUrl { url: page.to_owned(), launch_url: None, instructions }));
        }
        let note = if replaces_login { " (it replaces the login in auth.json)" } else { "" };
        let dialog = Dialog {
            kind: DialogKind::Input { placeholder: None },
            title: format!("API key of {name}{note}"),
            timeout: None,
        };
        let (reply, entered) = oneshot::channel();
        self.open_dialog(dialog, Default::default(), reply);
        let providers = self.agent.providers().clone();
        self.reply_later(origin, JobOrder::Beside, async move {
            let cancelled = || Refusal::new(RefusalCode::Cancelled, "Login cancelled: no key was entered");
            let Ok(DialogAnswer::Value(key)) = entered.await else { return Err(cancelled()) };
            let key = key.trim();
            if key.is_empty() {
                return Err(cancelled());
            }
            if key.contains(char::is_control) {
                let text = "This is not a key: it has line breaks or control characters";
                return Err(Refusal::new(RefusalCode::InvalidArgument, text));
            }
            let key = Secret::new(key);
            let provider = in_background(move || providers.store_key(&provider, &key)).await?;
            Ok(Answer::LoggedIn { provider })
        });
    }
}

/// Returns why a user is not logged in.
fn refusal(failure: &LoginFailure) -> Refusal {
    let code = match failure {
        LoginFailure::Cancelled => RefusalCode::Cancelled,
        LoginFailure::Failed { .. } => RefusalCode::NoCredentials,
        LoginFailure::NoLogin { .. } | LoginFailure::OfProject { .. } => RefusalCode::InvalidArgument,
        LoginFailure::Storage(_) => RefusalCode::StorageFailed,
    };
    Refusal::new(code, failure.to_string())
}

/// Returns how a user logs in to a provider, or why they cannot.
fn find(providers: &Providers, provider: &str) -> Result<KeyLogin, Refusal> {
    match providers.key_login(provider) {
        Ok(Some(login)) => Ok(login),
        Ok(None) => {
            let text = format!(
                "{provider} cannot be logged in to here: see docs/credentials.md for how it gets its credentials"
            );
            Err(Refusal::new(RefusalCode::InvalidArgument, text))
        }
        Err(Error::UnknownProvider { .. }) => {
            Err(Refusal::new(RefusalCode::InvalidArgument, format!("Unknown OAuth provider: {provider}")))
        }
        Err(error) => Err(Refusal::new(RefusalCode::StorageFailed, error.to_string())),
    }
}

/// Does what may wait for another process that has locked the file of keys.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |text: String| Refusal::new(RefusalCode::StorageFailed, text);
    let done = spawn_blocking(work).await.map_err(|error| failed(error.to_string()))?;
    done.map_err(|error| failed(error.to_string()))
}
