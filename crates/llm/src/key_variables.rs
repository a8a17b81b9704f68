//! The environment variables that keys are taken from.

use crate::auth_file::Login;
use crate::credentials;
use crate::providers::Providers;
use crate::setting_value::SettingValue;

impl Providers {
    /// Returns the names of the variables that may hold a key: those of the known providers, and those that
    /// `models.json` and `auth.json` name. An unreadable `auth.json` names none.
    pub fn key_variables(&self) -> Vec<String> {
        let auth = self.auth().unwrap_or_default();
        let registry = self.registry();
        let mut names: Vec<String> =
            registry.providers().flat_map(credentials::variables).map(|(name, _)| name).collect();
        for settings in registry.providers().filter_map(|provider| registry.settings(provider)) {
            names.extend(settings.values().flat_map(SettingValue::variables));
        }
        for login in auth.providers().filter_map(|provider| auth.login(provider)) {
            // The tokens of a login are never variables.
            if let Login::ApiKey { key } = login {
                names.extend(key.variables());
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Sources;

    #[test]
    fn variables_of_providers_and_of_the_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (models, auth) = (folder.path().join("models.json"), folder.path().join("auth.json"));
        let model = r#"{"id": "m", "headers": {"x": "$MODEL_HEADER"}}"#;
        std::fs::write(
            &models,
            format!(
                r#"{{"providers": {{"mine": {{"baseUrl": "http://localhost", "api": "openai-completions",
                "apiKey": "${{MINE}}-$$NOT", "headers": {{"y": "$HEADER"}}, "models": [{model}]}}}}}}"#
            ),
        )
        .unwrap();
        std::fs::write(&auth, r#"{"groq": {"type": "api_key", "key": "$STORED"}, "xai": {"type": "api_key", "key": "!pass x"}}"#)
            .unwrap();
        let sources = Sources { models_file: Some(models), auth_file: Some(auth), ..Sources::default() };
        let names = Providers::new(sources).unwrap().key_variables();
        for name in ["MINE", "HEADER", "MODEL_HEADER", "STORED", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY"] {
            assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name == "NOT"));
    }
}
