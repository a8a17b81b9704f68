//! Finds the key to send: `--api-key` takes precedence over `auth.json`, then `models.json`, then the environment.
//!
//! `auth.json` is read again for each request, so that a new key takes effect at once. Its commands and variables are
//! not: a tool may have written them, and whoever can write a file must not thereby run a command.

use std::collections::HashMap;

use bowline_core::stream::{FailureKind, StreamError};

use crate::auth_file::{AuthFile, Login};
use crate::models_file::TokenServer;
use crate::secret::Secret;
use crate::setting_value::{CommandCache, SettingValue};

/// A key and how it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub(crate) secret: Secret,
    pub(crate) scheme: Scheme,
    /// The origin of the key, as a clause for an error.
    pub(crate) origin: String,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// By the API's own scheme.
    Key,
    /// As `Authorization: Bearer`.
    Bearer,
    /// As the bearer token of a login.
    Login,
}

/// The variables of the providers that do not follow the rule `<PROVIDER>_API_KEY`, in order of precedence.
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
    ("cloudflare-ai-gateway", &[("CLOUDFLARE_API_KEY", Scheme::Key)]),
    ("amazon-bedrock", &[("AWS_BEARER_TOKEN_BEDROCK", Scheme::Bearer), ("AWS_ACCESS_KEY_ID", Scheme::Key)]),
];

/// Why a key that appeared in `auth.json` while the process runs is not used.
const NEW_REFERENCE: &str = "it names a command or a variable and was not there when bowline started. Commands and variables in auth.json are read at start only: restart bowline to use it";

/// Returns the variables that may hold a provider's key.
pub(crate) fn variables(provider: &str) -> Vec<(String, Scheme)> {
    match VARIABLES.iter().find(|(name, _)| *name == provider) {
        Some((_, known)) => known.iter().map(|(name, scheme)| ((*name).to_owned(), *scheme)).collect(),
        None => vec![(format!("{}_API_KEY", provider.to_uppercase().replace('-', "_")), Scheme::Key)],
    }
}

/// The possible sources of a provider's key.
#[derive(Debug)]
pub(crate) struct KeySources<'a> {
    pub(crate) provider: &'a str,
    /// The key from the command line, if it is for this provider.
    pub(crate) argument: Option<&'a Secret>,
    pub(crate) auth: &'a AuthFile,
    /// `auth.json` as it was when the process started.
    pub(crate) auth_at_start: &'a AuthFile,
    /// Whether whoever added the provider carries out its logins.
    pub(crate) has_login: bool,
    /// Where a login is renewed, if the user has a token server.
    pub(crate) token_server: Option<&'a TokenServer>,
    /// The key from `models.json`.
    pub(crate) setting: Option<&'a SettingValue>,
    pub(crate) environment: &'a HashMap<String, String>,
    /// Whether the key is optional, as for providers that the user defined.
    pub(crate) optional: bool,
}

/// The first source that has a key, before the key is evaluated.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    Value {
        value: &'a SettingValue,
        scheme: Scheme,
        origin: Origin,
    },
    Text {
        secret: Secret,
        scheme: Scheme,
        origin: Origin,
    },
    /// An expired login that can be renewed.
    Renewable,
    /// A login that whoever added the provider makes a key of.
    Login,
    /// An expired login, and no other key.
    Expired,
    Nothing,
}

/// Where a key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Argument,
    AuthFile,
    ModelsFile,
    Variable(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argument => formatter.write_str("--api-key"),
            Self::AuthFile => formatter.write_str("auth.json"),
            Self::ModelsFile => formatter.write_str("models.json"),
            Self::Variable(name) => write!(formatter, "the variable {name}"),
        }
    }
}

/// The key for a request.
#[derive(Debug)]
pub(crate) enum KeyForRequest {
    Here(Option<Credential>),
    /// The login must be renewed or made into a key first, which takes another request.
    OfLogin,
}

impl KeySources<'_> {
    /// Returns whether there is a key, without running a command. The error says what to do.
    pub(crate) fn check(&self) -> Result<(), StreamError> {
        match self.first() {
            Found::Text { .. } | Found::Renewable | Found::Login => Ok(()),
            Found::Value { value, origin, .. } if self.is_new(value, &origin) => {
                Err(self.unusable(&origin, NEW_REFERENCE))
            }
            Found::Value { value, origin, .. } => match value.missing_variable(self.environment) {
                Some(name) => Err(self.unusable(&origin, &format!("the variable {name} is not set"))),
                None => Ok(()),
            },
            Found::Expired => Err(self.expired()),
            Found::Nothing if self.optional => Ok(()),
            Found::Nothing => Err(self.missing()),
        }
    }

    /// Returns the key; `None` if the provider needs none.
    pub(crate) async fn credential(&self, cache: &CommandCache) -> Result<KeyForRequest, StreamError> {
        let found = |secret, scheme, origin: Origin| {
            KeyForRequest::Here(Some(Credential { secret, scheme, origin: origin.to_string() }))
        };
        match self.first() {
            Found::Text { secret, scheme, origin } => Ok(found(secret, scheme, origin)),
            Found::Value { value, origin, .. } if self.is_new(value, &origin) => {
                Err(self.unusable(&origin, NEW_REFERENCE))
            }
            Found::Value { value, scheme, origin } => match value.evaluate(self.environment, cache).await {
                Ok(secret) => Ok(found(secret, scheme, origin)),
                Err(reason) => Err(self.unusable(&origin, &reason)),
            },
            Found::Renewable | Found::Login => Ok(KeyForRequest::OfLogin),
            Found::Expired => Err(self.expired()),
            Found::Nothing if self.optional => Ok(KeyForRequest::Here(None)),
            Found::Nothing => Err(self.missing()),
        }
    }

    /// Returns the first source that has a key.
    pub(crate) fn first(&self) -> Found<'_> {
        if let Some(secret) = self.argument {
            let (secret, scheme) = (secret.clone(), Scheme::Key);
            return Found::Text { secret, scheme, origin: Origin::Argument };
        }
        match self.auth.login(self.provider) {
            Some(Login::ApiKey { key }) => {
                return Found::Value { value: key, scheme: Scheme::Key, origin: Origin::AuthFile };
            }
            Some(Login::Oauth(tokens)) if self.has_login => {
                return if tokens.is_over() { Found::Renewable } else { Found::Login };
            }
            Some(Login::Oauth(tokens)) if !tokens.is_over() => {
                let (secret, scheme) = (tokens.access.clone(), Scheme::Login);
                return Found::Text { secret, scheme, origin: Origin::AuthFile };
            }
            Some(Login::Oauth(tokens)) if tokens.refresh.is_some() && self.token_server.is_some() => {
                return Found::Renewable;
            }
            _ => {}
        }
        if let Some(value) = self.setting {
            return Found::Value { value, scheme: Scheme::Key, origin: Origin::ModelsFile };
        }
        for (name, scheme) in variables(self.provider) {
            if let Some(key) = self.environment.get(&name).filter(|key| !key.is_empty()) {
                return Found::Text { secret: Secret::new(key), scheme, origin: Origin::Variable(name) };
            }
        }
        match self.auth.login(self.provider) {
            Some(Login::Oauth(_)) => Found::Expired,
            _ => Found::Nothing,
        }
    }

    /// Returns whether a value of `auth.json` names a command or a variable and was not there at the start.
    fn is_new(&self, value: &SettingValue, origin: &Origin) -> bool {
        let was_there = || match self.auth_at_start.login(self.provider) {
            Some(Login::ApiKey { key }) => key == value,
            _ => false,
        };
        *origin == Origin::AuthFile && !value.is_literal() && !was_there()
    }

    fn missing(&self) -> StreamError {
        let provider = self.provider;
        if self.has_login {
            let message = format!(
                "There is no login and no API key for the provider \"{provider}\". Log in: bowline auth login {provider}. Or set the variable {}.",
                self.usual_variable()
            );
            return StreamError::new(FailureKind::Authentication, message);
        }
        let message = format!(
            "There is no API key for the provider \"{provider}\". Set the variable {}, or store a key in auth.json: bowline auth set --provider {provider}.",
            self.usual_variable()
        );
        StreamError::new(FailureKind::Authentication, message)
    }

    /// A login is not renewed in the name of the program that made it.
    fn expired(&self) -> StreamError {
        let provider = self.provider;
        let message = format!(
            "The login in auth.json for the provider \"{provider}\" has expired. Renew it with the program that made it, or use an API key: set the variable {}, or run bowline auth set --provider {provider}.",
            self.usual_variable()
        );
        StreamError::new(FailureKind::Authentication, message)
    }

    /// Returns the variable of the plain key, which is the last one and which most users have.
    fn usual_variable(&self) -> String {
        variables(self.provider).pop().map(|(name, _)| name).unwrap_or_default()
    }

    fn unusable(&self, origin: &Origin, reason: &str) -> StreamError {
        let provider = self.provider;
        let advice = if self.has_login {
            format!(" Or log in: bowline auth login {provider}.")
        } else {
            String::new()
        };
        let message =
            format!("The key of the provider \"{provider}\" in {origin} cannot be used: {reason}.{advice}");
        StreamError::new(FailureKind::Authentication, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(json: &str) -> AuthFile {
        AuthFile::parse(json).unwrap()
    }

    async fn key_of(sources: &KeySources<'_>) -> Credential {
        match sources.credential(&CommandCache::default()).await.unwrap() {
            KeyForRequest::Here(Some(credential)) => credential,
            other => panic!("{other:?}"),
        }
    }

    fn environment(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test]
    async fn first_source_takes_precedence() {
        let argument = Secret::new("from argument");
        let file = auth(r#"{"groq": {"type": "api_key", "key": "from auth", "env": {}}}"#);
        let nothing = AuthFile::default();
        let setting = SettingValue::new("from models");
        let variables = environment(&[("GROQ_API_KEY", "from environment")]);
        let mut sources = KeySources {
            provider: "groq",
            argument: Some(&argument),
            auth: &file,
            auth_at_start: &file,
            has_login: false,
            token_server: None,
            setting: Some(&setting),
            environment: &variables,
            optional: false,
        };
        let mut seen = Vec::new();
        for step in 0..4 {
            match step {
                1 => sources.argument = None,
                2 => sources.auth = &nothing,
                3 => sources.setting = None,
                _ => {}
            }
            seen.push(key_of(&sources).await.secret.expose().to_owned());
        }
        assert_eq!(seen, ["from argument", "from auth", "from models", "from environment"]);
        let empty = HashMap::new();
        let without = KeySources { environment: &empty, ..sources };
        let error = without.check().unwrap_err();
        assert_eq!(error.kind, FailureKind::Authentication);
        assert!(error.message.contains("GROQ_API_KEY"), "{error}");
    }

    #[tokio::test]
    async fn login_is_a_bearer_token_until_it_expires() {
        let variables = environment(&[("ANTHROPIC_API_KEY", "key")]);
        for (expires, scheme) in [(u64::MAX, Scheme::Login), (1, Scheme::Key)] {
            let file = auth(&format!(
                r#"{{"anthropic": {{"type": "oauth", "access": "a", "expires": {expires}}}}}"#
            ));
            assert_eq!(key_of(&sources("anthropic", &file, &variables)).await.scheme, scheme);
        }
    }

    #[test]
    fn expired_login_is_renewed_only_by_a_token_server_of_the_user() {
        let variables = HashMap::new();
        let file = auth(r#"{"anthropic": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}}"#);
        let mut sources = KeySources { optional: true, ..sources("anthropic", &file, &variables) };
        let error = sources.check().unwrap_err();
        assert!(
            error.message.contains("Renew it with the program that made it, or use an API key"),
            "{error}"
        );
        let server = TokenServer { token_url: String::new(), client_id: String::new(), scope: None };
        sources.token_server = Some(&server);
        assert!(sources.check().is_ok());
        assert!(matches!(sources.first(), Found::Renewable));
    }

    #[tokio::test]
    async fn command_or_variable_that_appears_later_is_not_used() {
        let variables = environment(&[("OTHER_KEY", "another provider's"), ("PATH", "/usr/bin:/bin")]);
        let entry = |key: &str| auth(&format!(r#"{{"groq": {{"type": "api_key", "key": "{key}"}}}}"#));
        let (plain, later, other, none) =
            (entry("plain"), entry("later"), entry("!echo other"), AuthFile::default());
        for key in ["!echo secret", "$OTHER_KEY", "${OTHER_KEY}x"] {
            let now = entry(key);
            let at_start = |auth_at_start| KeySources { auth_at_start, ..sources("groq", &now, &variables) };
            for before in [&plain, &none, &other] {
                let error = at_start(before).check().unwrap_err();
                assert!(error.message.contains("restart bowline"), "{error}");
                assert!(at_start(before).credential(&CommandCache::default()).await.is_err());
            }
            assert!(at_start(&now).check().is_ok());
            key_of(&at_start(&now)).await;
        }
        let renewed = KeySources { auth_at_start: &plain, ..sources("groq", &later, &variables) };
        assert_eq!(key_of(&renewed).await.secret.expose(), "later");
    }

    #[test]
    fn every_documented_variable_is_read() {
        for (provider, name) in [
            ("anthropic", "ANTHROPIC_AUTH_TOKEN"),
            ("anthropic", "ANTHROPIC_OAUTH_TOKEN"),
            ("anthropic", "ANTHROPIC_API_KEY"),
            ("openai", "OPENAI_API_KEY"),
            ("azure-openai-responses", "AZURE_OPENAI_API_KEY"),
            ("google", "GEMINI_API_KEY"),
            ("google-vertex", "GOOGLE_CLOUD_API_KEY"),
            ("amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
            ("github-copilot", "COPILOT_GITHUB_TOKEN"),
            ("openrouter", "OPENROUTER_API_KEY"),
            ("groq", "GROQ_API_KEY"),
            ("cerebras", "CEREBRAS_API_KEY"),
            ("xai", "XAI_API_KEY"),
            ("mistral", "MISTRAL_API_KEY"),
            ("deepseek", "DEEPSEEK_API_KEY"),
            ("nvidia", "NVIDIA_API_KEY"),
            ("together", "TOGETHER_API_KEY"),
            ("fireworks", "FIREWORKS_API_KEY"),
            ("baseten", "BASETEN_API_KEY"),
            ("huggingface", "HF_TOKEN"),
            ("moonshotai", "MOONSHOT_API_KEY"),
            ("moonshotai-cn", "MOONSHOT_API_KEY"),
            ("minimax", "MINIMAX_API_KEY"),
            ("minimax-cn", "MINIMAX_CN_API_KEY"),
            ("zai", "ZAI_API_KEY"),
            ("zai-coding-cn", "ZAI_CODING_CN_API_KEY"),
            ("kimi-coding", "KIMI_API_KEY"),
            ("meta", "META_API_KEY"),
            ("opencode", "OPENCODE_API_KEY"),
            ("opencode-go", "OPENCODE_API_KEY"),
            ("vercel-ai-gateway", "AI_GATEWAY_API_KEY"),
            ("cloudflare-ai-gateway", "CLOUDFLARE_API_KEY"),
            ("cloudflare-workers-ai", "CLOUDFLARE_API_KEY"),
            ("xiaomi", "XIAOMI_API_KEY"),
            ("ant-ling", "ANT_LING_API_KEY"),
        ] {
            let (file, variables) = (AuthFile::default(), environment(&[(name, "key")]));
            let found = sources(provider, &file, &variables).check();
            assert!(found.is_ok(), "{provider} {name}: {found:?}");
        }
    }

    fn sources<'a>(
        provider: &'a str,
        auth: &'a AuthFile,
        environment: &'a HashMap<String, String>,
    ) -> KeySources<'a> {
        KeySources {
            provider,
            argument: None,
            auth,
            auth_at_start: auth,
            has_login: false,
            token_server: None,
            setting: None,
            environment,
            optional: false,
        }
    }
}
