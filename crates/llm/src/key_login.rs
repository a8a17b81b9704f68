//! Logging in with a key that a client asks the user for: which providers that works for, and where their keys are made.

use bowline_core::login::LoginProvider;

use crate::auth_file::Login;
use crate::error::Error;
use crate::key_status::KeyState;
use crate::providers::Providers;

/// The provider that no single key is enough for: it takes the credentials of AWS.
const WITHOUT_KEY: &str = "amazon-bedrock";

/// The names of providers for people, and the pages where they make keys.
const KEY_PAGES: &[(&str, &str, &str)] = &[
    ("anthropic", "Anthropic", "https://console.anthropic.com/settings/keys"),
    ("openai", "OpenAI", "https://platform.openai.com/api-keys"),
    ("google", "Google", "https://aistudio.google.com/apikey"),
    ("xai", "xAI", "https://console.x.ai/"),
    ("deepseek", "DeepSeek", "https://platform.deepseek.com/api_keys"),
    ("mistral", "Mistral", "https://console.mistral.ai/api-keys"),
    ("openrouter", "OpenRouter", "https://openrouter.ai/keys"),
    ("groq", "Groq", "https://console.groq.com/keys"),
    ("cerebras", "Cerebras", "https://cloud.cerebras.ai/"),
    ("together", "Together", "https://api.together.ai/settings/api-keys"),
    ("fireworks", "Fireworks", "https://fireworks.ai/account/api-keys"),
    ("huggingface", "Hugging Face", "https://huggingface.co/settings/tokens"),
    ("nvidia", "NVIDIA", "https://build.nvidia.com/"),
];

/// How a user logs in to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLogin {
    /// The provider as its name is spelled.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// The page where its keys are made, if it is known.
    pub page: Option<&'static str>,
    /// Whether the key takes the place of a login that another program made.
    pub replaces_login: bool,
}

impl Providers {
    /// Returns every provider, with whether the user can log in to it and has done so. Reads files.
    pub fn login_providers(&self) -> Result<Vec<LoginProvider>, Error> {
        let names = self.known_providers().into_iter();
        names
            .map(|id| {
                let is_authenticated = self.key_status(&id)?.state == KeyState::Ready;
                let login = self.provider_login(&id).ok();
                let is_available = login.is_some() || self.takes_key(&id);
                let own_name = login.and_then(|login| login.name);
                let name = own_name.unwrap_or_else(|| name(&id));
                Ok(LoginProvider { name, is_available, is_authenticated, id })
            })
            .collect()
    }

    /// Returns how a user logs in to a provider; `None` if it takes no key or there is no file for keys. Reads files.
    pub fn key_login(&self, provider: &str) -> Result<Option<KeyLogin>, Error> {
        let provider = self.known_provider(provider)?;
        if !self.takes_key(&provider) {
            return Ok(None);
        }
        let replaces_login = matches!(self.auth()?.login(&provider), Some(Login::Oauth(_)));
        let page = key_page(&provider).map(|(_, _, page)| *page);
        Ok(Some(KeyLogin { name: name(&provider), provider, page, replaces_login }))
    }

    fn takes_key(&self, provider: &str) -> bool {
        self.auth_path().is_some() && provider != WITHOUT_KEY
    }
}

fn key_page(provider: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    KEY_PAGES.iter().find(|(id, _, _)| *id == provider)
}

/// Returns the name of a provider for people.
fn name(provider: &str) -> String {
    key_page(provider).map_or(provider, |(_, name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Sources;
    use crate::secret::Secret;

    #[test]
    fn every_page_is_of_a_known_provider() {
        let known = Providers::new(Sources::default()).unwrap().known_providers();
        for (id, _, page) in KEY_PAGES {
            assert!(known.iter().any(|name| name == id), "{id}");
            assert!(page.starts_with("https://"), "{page}");
        }
    }

    #[test]
    fn providers_tell_whether_the_user_is_and_can_be_logged_in() {
        let folder = tempfile::tempdir().unwrap();
        let auth_file = folder.path().join("auth.json");
        std::fs::write(&auth_file, r#"{"xai": {"type": "oauth", "access": "a"}}"#).unwrap();
        let sources = Sources { auth_file: Some(auth_file), ..Sources::default() };
        let providers = Providers::new(sources).unwrap();
        let seen = |name: &str| {
            let all = providers.login_providers().unwrap();
            let found = all.into_iter().find(|provider| provider.id == name).unwrap();
            (found.name, found.is_available, found.is_authenticated)
        };
        assert_eq!(seen("groq"), ("Groq".to_owned(), true, false));
        providers.store_key("groq", &Secret::new("k")).unwrap();
        assert_eq!(seen("groq"), ("Groq".to_owned(), true, true));
        assert_eq!(seen("amazon-bedrock"), ("amazon-bedrock".to_owned(), false, false));
        let replaces = |name: &str| providers.key_login(name).unwrap().map(|login| login.replaces_login);
        assert_eq!(
            (replaces("XAI"), replaces("groq"), replaces("amazon-bedrock")),
            (Some(true), Some(false), None)
        );
        assert!(providers.key_login("nowhere").is_err());

        let without_file = Providers::new(Sources::default()).unwrap();
        assert_eq!(without_file.key_login("groq").unwrap(), None);
    }
}
