//! Whose key is sent: `--api-key` first, then `auth.json`, then `models.json`, then the environment.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_core::stream::{FailureKind, StreamError};

use crate::error::Error;
use crate::models_file::{Ordered, malformed, read_text};
use crate::secret::Secret;
use crate::setting_value::{CommandCache, SettingValue};

/// A key together with how it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub(crate) secret: Secret,
    pub(crate) scheme: Scheme,
    /// Where the key came from, as a clause for an error.
    pub(crate) origin: String,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// In the API's own way.
    Key,
    /// As `Authorization: Bearer`.
    Bearer,
    /// As a bearer token that a login gave.
    Login,
}

/// The variables of the providers that do not follow the rule `<PROVIDER>_API_KEY`, first choice first.
const VARIABLES: &[(&str, &[(&str, Scheme)])] = &[
    (
        "anthropic",
        &[
            ("ANTHROPIC_AUTH_TOKEN", Scheme::Bearer),
            ("ANTHROPIC_OAUTH_TOKEN", Scheme::Login),
            ("ANTHROPIC_API_KEY", Scheme::Key),
        ],
    ),
    ("google", &[("GEMINI_API_KEY", Scheme::Key)]),
    ("google-vertex", &[("GOOGLE_CLOUD_API_KEY", Scheme::Key)]),
    ("azure-openai-responses", &[("AZURE_OPENAI_API_KEY", Scheme::Key)]),
    ("github-copilot", &[("COPILOT_GITHUB_TOKEN", Scheme::Key)]),
    ("huggingface", &[("HF_TOKEN", Scheme::Key)]),
    ("moonshotai", &[("MOONSHOT_API_KEY", Scheme::Key)]),
    ("moonshotai-cn", &[("MOONSHOT_API_KEY", Scheme::Key)]),
    ("kimi-coding", &[("KIMI_API_KEY", Scheme::Key)]),
    ("opencode-go", &[("OPENCODE_API_KEY", Scheme::Key)]),
    ("vercel-ai-gateway", &[("AI_GATEWAY_API_KEY", Scheme::Key)]),
    ("cloudflare-workers-ai", &[("CLOUDFLARE_API_KEY", Scheme::Key)]),
];

/// Returns the variables that may hold a provider's key.
fn variables(provider: &str) -> Vec<(String, Scheme)> {
    match VARIABLES.iter().find(|(name, _)| *name == provider) {
        Some((_, known)) => known.iter().map(|(name, scheme)| ((*name).to_owned(), *scheme)).collect(),
        None => vec![(format!("{}_API_KEY", provider.to_uppercase().replace('-', "_")), Scheme::Key)],
    }
}

/// The contents of `auth.json`.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthFile(Ordered<Login>);

/// A provider's entry in `auth.json`. Other fields are other programs' business.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Login {
    ApiKey {
        key: SettingValue,
    },
    Oauth {
        access: SettingValue,
        /// Milliseconds since 1970.
        expires: Option<u64>,
    },
    #[serde(other)]
    Unknown,
}

impl AuthFile {
    /// Reads the file; one that does not exist holds nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        match read_text(path)? {
            Some(text) if !text.trim().is_empty() => {
                serde_json::from_str(&text).map(Self).map_err(|error| malformed(path, &error))
            }
            _ => Ok(Self::default()),
        }
    }

    fn login(&self, provider: &str) -> Option<&Login> {
        self.0.0.iter().find(|(name, _)| name == provider).map(|(_, login)| login)
    }
}

/// Everywhere a provider's key may come from.
#[derive(Debug)]
pub(crate) struct KeySources<'a> {
    pub(crate) provider: &'a str,
    /// The key of the command line, if it is for this provider.
    pub(crate) argument: Option<&'a Secret>,
    pub(crate) auth: &'a AuthFile,
    /// The key of `models.json`.
    pub(crate) setting: Option<&'a SettingValue>,
    pub(crate) environment: &'a HashMap<String, String>,
    /// Whether the provider may do without a key, as one of the user's own may.
    pub(crate) optional: bool,
}

/// The first source that has a key, before the key is worked out.
#[derive(Debug)]
enum Found<'a> {
    Value { value: &'a SettingValue, scheme: Scheme, origin: String },
    Text { secret: Secret, scheme: Scheme, origin: String },
    Nothing,
}

impl KeySources<'_> {
    /// Tells whether there is a key, without running anything. The error says what to do.
    pub(crate) fn check(&self) -> Result<(), StreamError> {
        match self.first() {
            Found::Text { .. } => Ok(()),
            Found::Value { value, origin, .. } => match value.missing_variable(self.environment) {
                Some(name) => Err(self.unusable(&origin, &format!("the variable {name} is not set"))),
                None => Ok(()),
            },
            Found::Nothing if self.optional => Ok(()),
            Found::Nothing => Err(self.missing()),
        }
    }

    /// Returns the key; none if the provider does without.
    pub(crate) async fn credential(&self, cache: &CommandCache) -> Result<Option<Credential>, StreamError> {
        match self.first() {
            Found::Text { secret, scheme, origin } => Ok(Some(Credential { secret, scheme, origin })),
            Found::Value { value, scheme, origin } => match value.evaluate(self.environment, cache).await {
                Ok(secret) => Ok(Some(Credential { secret, scheme, origin })),
                Err(reason) => Err(self.unusable(&origin, &reason)),
            },
            Found::Nothing if self.optional => Ok(None),
            Found::Nothing => Err(self.missing()),
        }
    }

    fn first(&self) -> Found<'_> {
        if let Some(secret) = self.argument {
            return Found::Text {
                secret: secret.clone(),
                scheme: Scheme::Key,
                origin: "--api-key".to_owned(),
            };
        }
        match self.auth.login(self.provider) {
            Some(Login::ApiKey { key }) => {
                return Found::Value { value: key, scheme: Scheme::Key, origin: "auth.json".to_owned() };
            }
            Some(Login::Oauth { access, expires }) if !is_past(*expires) => {
                return Found::Value { value: access, scheme: Scheme::Login, origin: "auth.json".to_owned() };
            }
            _ => {}
        }
        if let Some(value) = self.setting {
            return Found::Value { value, scheme: Scheme::Key, origin: "models.json".to_owned() };
        }
        for (name, scheme) in variables(self.provider) {
            if let Some(key) = self.environment.get(&name).filter(|key| !key.is_empty()) {
                let origin = format!("the variable {name}");
                return Found::Text { secret: Secret::new(key), scheme, origin };
            }
        }
        Found::Nothing
    }

    fn missing(&self) -> StreamError {
        let provider = self.provider;
        let names: Vec<String> = variables(provider).into_iter().map(|(name, _)| name).collect();
        // The last one is the plain key, which is what most people have.
        let name = names.last().map_or("", String::as_str);
        let why = match self.auth.login(provider) {
            Some(Login::Oauth { .. }) => "The login in auth.json has expired",
            _ => "There is no API key",
        };
        let message = format!(
            "{why} for the provider \"{provider}\". Set the variable {name}, or add {{\"{provider}\": {{\"type\": \"api_key\", \"key\": \"…\"}}}} to auth.json."
        );
        StreamError::new(FailureKind::Authentication, message)
    }

    fn unusable(&self, origin: &str, reason: &str) -> StreamError {
        let message =
            format!("The key of the provider \"{}\" in {origin} cannot be used: {reason}.", self.provider);
        StreamError::new(FailureKind::Authentication, message)
    }
}

/// Tells whether a time, in milliseconds since 1970, is over.
fn is_past(milliseconds: Option<u64>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    milliseconds.is_some_and(|time| u128::from(time) <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(json: &str) -> AuthFile {
        AuthFile(serde_json::from_str(json).unwrap())
    }

    fn environment(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test]
    async fn the_first_source_wins() {
        let argument = Secret::new("from argument");
        let file = auth(r#"{"groq": {"type": "api_key", "key": "from auth", "env": {}}}"#);
        let nothing = AuthFile::default();
        let setting = SettingValue::new("from models");
        let variables = environment(&[("GROQ_API_KEY", "from environment")]);
        let mut sources = KeySources {
            provider: "groq",
            argument: Some(&argument),
            auth: &file,
            setting: Some(&setting),
            environment: &variables,
            optional: false,
        };
        let cache = CommandCache::default();
        let mut seen = Vec::new();
        for step in 0..4 {
            match step {
                1 => sources.argument = None,
                2 => sources.auth = &nothing,
                3 => sources.setting = None,
                _ => {}
            }
            seen.push(sources.credential(&cache).await.unwrap().unwrap().secret.expose().to_owned());
        }
        assert_eq!(seen, ["from argument", "from auth", "from models", "from environment"]);
        let empty = HashMap::new();
        let without = KeySources { environment: &empty, ..sources };
        let error = without.check().unwrap_err();
        assert_eq!(error.kind, FailureKind::Authentication);
        assert!(error.message.contains("GROQ_API_KEY"), "{error}");
    }

    #[tokio::test]
    async fn a_login_is_a_bearer_until_it_expires() {
        let variables = environment(&[("ANTHROPIC_API_KEY", "key")]);
        let cache = CommandCache::default();
        for (expires, scheme) in [(u64::MAX, Scheme::Login), (1, Scheme::Key)] {
            let file = auth(&format!(
                r#"{{"anthropic": {{"type": "oauth", "access": "a", "refresh": "r", "expires": {expires}}}}}"#
            ));
            let sources = KeySources {
                provider: "anthropic",
                argument: None,
                auth: &file,
                setting: None,
                environment: &variables,
                optional: false,
            };
            assert_eq!(sources.credential(&cache).await.unwrap().unwrap().scheme, scheme);
        }
    }

    #[test]
    fn a_broken_file_names_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        std::fs::write(&path, "{\"groq\": 1}").unwrap();
        assert!(matches!(AuthFile::read(&path), Err(Error::Malformed { line: 1, .. })));
    }
}
