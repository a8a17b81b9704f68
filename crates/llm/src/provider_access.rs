//! What a provider is reached with, for whoever calls it without bowline: the key and the headers that requests would have.

use bowline_core::stream::StreamError;

use crate::providers::Providers;
use crate::secret::Secret;

/// The key and the headers of a provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderAccess {
    /// `None` if the provider needs none.
    pub key: Option<Secret>,
    pub headers: Vec<(String, Secret)>,
}

impl Providers {
    /// Returns the key of a provider and its headers, with those of a model if one is named. A login that has expired is
    /// renewed. Whoever gets this can use the provider.
    pub async fn access(&self, provider: &str, model: Option<&str>) -> Result<ProviderAccess, StreamError> {
        let registry = self.registry();
        let inner = self.inner();
        let key = inner.credential(&registry, provider).await?.map(|credential| credential.secret);
        let mut headers = inner.headers(&registry, provider, model).await?;
        let is_header = registry.settings(provider).is_some_and(|settings| settings.auth_header);
        if let Some(key) = key.as_ref().filter(|_| is_header) {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            let value = Secret::new(format!("Bearer {}", key.expose()));
            headers.push(("Authorization".to_owned(), value));
        }
        Ok(ProviderAccess { key, headers })
    }
}
