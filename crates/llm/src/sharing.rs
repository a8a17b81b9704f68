//! What other parts of the program share with the providers: how values in configuration files are evaluated, and the HTTP
//! clients with their proxies and certificates.

use crate::providers::Providers;
use crate::secret::Secret;
use crate::setting_value::SettingValue;

impl Providers {
    /// Returns what a value of a configuration file stands for, by the rules for keys in `models.json`: a literal, a text
    /// with `$VARIABLE`s, or a `!command` that prints it. The error is a clause for the user.
    pub async fn evaluate(&self, value: &str) -> Result<Secret, String> {
        SettingValue::new(value).evaluate(self.environment(), self.commands()).await
    }

    /// Returns the HTTP client for an address. It follows no redirects. The error is a sentence for the user.
    pub async fn http_client(&self, address: &str) -> Result<reqwest::Client, String> {
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
        let client = self.transport().client(&scheme.to_ascii_lowercase(), address).await;
        client.map_err(|error| error.message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::providers::Sources;

    use super::*;

    #[tokio::test]
    async fn values_are_those_of_keys() {
        let environment = HashMap::from([("TOKEN".to_owned(), "t".to_owned())]);
        let providers = Providers::new(Sources { environment, ..Sources::default() }).unwrap();
        assert_eq!(providers.evaluate("Bearer $TOKEN").await.unwrap().expose(), "Bearer t");
        assert_eq!(providers.evaluate("$NONE").await.unwrap_err(), "the variable NONE is not set");
        assert!(providers.http_client("ftp://example.org").await.is_err());
        assert!(providers.http_client("HTTP://localhost").await.is_ok());
    }
}
