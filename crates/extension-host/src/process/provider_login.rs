//! Logins to a provider that an extension carries out.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_dialect::write_json;
use bowline_llm::{LoginService, Secret};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::process::connection::exited;
use crate::process::extension::ProcessExtension;
use crate::protocol::ToExtension;

/// How long an extension may take to renew a login: its server may be slow.
const RENEWAL_LIMIT: Duration = Duration::from_secs(30);

/// How long an extension may take to make a key of a credential.
const KEY_LIMIT: Duration = Duration::from_secs(10);

/// Carries out the logins of a provider.
pub(crate) struct ProcessLogin {
    extension: Weak<ProcessExtension>,
    name: Arc<str>,
    provider: String,
}

impl ProcessLogin {
    pub fn new(extension: &Arc<ProcessExtension>, provider: &str) -> Self {
        let name = Arc::clone(extension.id());
        Self { extension: Arc::downgrade(extension), name, provider: provider.to_owned() }
    }

    /// Asks the extension and returns its answer.
    fn ask(
        &self,
        op: &'static str,
        credential: Option<&Value>,
        limit: Option<Duration>,
    ) -> BoxFuture<'static, Result<Value, String>> {
        let started = match self.extension.upgrade() {
            None => Err(exited(&self.name)),
            Some(extension) => extension.start_call(|line, id| {
                let provider = &self.provider;
                write_json(line, &ToExtension::Provider { id, provider, op, credential, request: None });
            }),
        };
        Box::pin(async move {
            let (guard, end) = started?;
            guard.answer(end, limit, CancellationToken::new()).await
        })
    }
}

impl LoginService for ProcessLogin {
    fn login(&self) -> BoxFuture<'static, Result<Value, String>> {
        // The user may take any time.
        self.ask("login", None, None)
    }

    fn renew(&self, credential: Value) -> BoxFuture<'static, Result<Value, String>> {
        self.ask("refreshToken", Some(&credential), Some(RENEWAL_LIMIT))
    }

    fn key(&self, credential: Value) -> BoxFuture<'static, Result<Secret, String>> {
        let answer = self.ask("apiKey", Some(&credential), Some(KEY_LIMIT));
        Box::pin(async move {
            match answer.await? {
                Value::String(key) if !key.is_empty() => Ok(Secret::new(key)),
                _ => Err("its extension returned no text".to_owned()),
            }
        })
    }

    fn changed(&self) {
        if let Some(extension) = self.extension.upgrade() {
            extension.list_after_login(&self.provider);
        }
    }
}

impl fmt::Debug for ProcessLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProcessLogin").field(&self.provider).finish()
    }
}
