//! `models.json`: the providers and models that a user adds or changes, in pi's format.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use bowline_core::ThinkingLevel;
use bowline_core::model::{InputKind, Price};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::api;
use crate::choose::LEVELS;
use crate::error::Error;
use crate::json_comments;
use crate::json_shape::{self, Member, Problem, Shape};
use crate::setting_value::SettingValue;

/// The largest file that is read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The members of a JSON object, in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

/// The whole file.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct ModelsFile {
    pub(crate) providers: Ordered<ProviderSettings>,
}

/// The settings of one provider.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ProviderSettings {
    pub(crate) base_url: Option<String>,
    pub(crate) api: Option<String>,
    pub(crate) api_key: Option<SettingValue>,
    pub(crate) headers: Ordered<SettingValue>,
    /// Whether the key is sent as `Authorization: Bearer` instead of the API's own scheme.
    pub(crate) auth_header: bool,
    /// Where a login of this provider is renewed.
    pub(crate) oauth: Option<TokenServer>,
    pub(crate) compat: Option<Value>,
    pub(crate) models: Vec<ModelSettings>,
    pub(crate) model_overrides: Ordered<ModelSettings>,
}

/// A token server of the user's own, which renews a provider's login.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenServer {
    pub(crate) token_url: String,
    /// The client that the login was made for.
    pub(crate) client_id: String,
    pub(crate) scope: Option<String>,
}

/// The settings of one model: a new one, or changes to a known one.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ModelSettings {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) api: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) reasoning: Option<bool>,
    pub(crate) thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub(crate) input: Option<Vec<InputKind>>,
    pub(crate) cost: PriceSettings,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) headers: Ordered<SettingValue>,
    pub(crate) compat: Option<Value>,
}

/// Prices; missing ones are unchanged.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PriceSettings {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// What the file must contain.
const FILE: Shape = Shape::Object(&[Member::new("providers", Shape::Named(&PROVIDER), PROVIDERS_EXAMPLE)]);

const FILE_EXAMPLE: &str = r#"{"providers": {"home": {"baseUrl": "http://localhost:8080/v1", "api": "openai-completions", "models": [{"id": "my-model"}]}}}"#;
const PROVIDER_EXAMPLE: &str =
    r#"{"baseUrl": "http://localhost:8080/v1", "api": "openai-completions", "models": [{"id": "my-model"}]}"#;
const PROVIDERS_EXAMPLE: &str = r#"{"home": {"baseUrl": "http://localhost:8080/v1", "api": "openai-completions", "models": [{"id": "my-model"}]}}"#;

const PROVIDER: Shape = Shape::Object(&[
    Member::new("baseUrl", Shape::Text, r#""http://localhost:8080/v1""#),
    Member::new("api", Shape::Rule(api_name), r#""openai-completions""#),
    Member::new("apiKey", Shape::Text, r#""$MY_API_KEY""#),
    Member::new("headers", Shape::Named(&Shape::Text), r#"{"x-team": "blue"}"#),
    Member::new("authHeader", Shape::Switch, "true"),
    Member::new("oauth", Shape::Object(OAUTH), OAUTH_EXAMPLE),
    Member::new("compat", Shape::Rule(object), r#"{"supportsDeveloperRole": false}"#),
    Member::new("models", Shape::List(&Shape::Object(MODEL)), r#"[{"id": "my-model"}]"#),
    Member::new(
        "modelOverrides",
        Shape::Named(&Shape::Object(MODEL)),
        r#"{"my-model": {"maxTokens": 8192}}"#,
    ),
]);

const OAUTH_EXAMPLE: &str = r#"{"tokenUrl": "https://login.example/token", "clientId": "my-client"}"#;
const OAUTH: &[Member] = &[
    Member::new("tokenUrl", Shape::Rule(token_url), r#""https://login.example/token""#),
    Member::new("clientId", Shape::Text, r#""my-client""#),
    Member::new("scope", Shape::Text, r#""models""#),
];

const MODEL: &[Member] = &[
    Member::new("id", Shape::Text, r#""my-model""#),
    Member::new("name", Shape::Text, r#""My model""#),
    Member::new("api", Shape::Rule(api_name), r#""openai-completions""#),
    Member::new("baseUrl", Shape::Text, r#""http://localhost:8080/v1""#),
    Member::new("reasoning", Shape::Switch, "true"),
    Member::new("thinkingLevelMap", Shape::Rule(level_map), r#"{"xhigh": "xhigh", "off": null}"#),
    Member::new("input", Shape::Rule(input_kinds), r#"["text", "image"]"#),
    Member::new("cost", Shape::Object(COST), r#"{"input": 3, "output": 15}"#),
    Member::new("contextWindow", Shape::Count, "128000"),
    Member::new("maxTokens", Shape::Count, "8192"),
    Member::new("headers", Shape::Named(&Shape::Text), r#"{"x-team": "blue"}"#),
    Member::new("compat", Shape::Rule(object), r#"{"supportsDeveloperRole": false}"#),
];

const COST: &[Member] = &[
    Member::new("input", Shape::Number, "3"),
    Member::new("output", Shape::Number, "15"),
    Member::new("cacheRead", Shape::Number, "0.3"),
    Member::new("cacheWrite", Shape::Number, "3.75"),
];

fn api_name(value: &Value) -> Result<(), String> {
    let is_known = |name: &str| api::find(name).is_some() || api::UNSUPPORTED.contains(&name);
    if value.as_str().is_some_and(is_known) {
        return Ok(());
    }
    let names: Vec<&str> = api::APIS.iter().map(|api| api.name).collect();
    Err(format!("the name of an API ({})", names.join(", ")))
}

fn object(value: &Value) -> Result<(), String> {
    value.is_object().then_some(()).ok_or_else(|| "an object".to_owned())
}

fn level_map(value: &Value) -> Result<(), String> {
    let is_level = |(name, value): (&String, &Value)| {
        ThinkingLevel::parse(name).is_some() && (value.is_string() || value.is_null())
    };
    let is_right = value.as_object().is_some_and(|members| members.iter().all(is_level));
    is_right
        .then_some(())
        .ok_or_else(|| format!("an object with a text or null for some of the levels {LEVELS}"))
}

fn input_kinds(value: &Value) -> Result<(), String> {
    let is_kind = |value: &Value| matches!(value.as_str(), Some("text" | "image"));
    let is_right = value.as_array().is_some_and(|values| values.iter().all(is_kind));
    is_right.then_some(()).ok_or_else(|| "a list of \"text\" and \"image\"".to_owned())
}

/// A refresh token is sent there, so the way must be private.
fn token_url(value: &Value) -> Result<(), String> {
    let url = value.as_str().and_then(|text| reqwest::Url::parse(text).ok());
    let is_local = |url: &reqwest::Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_private =
        |url: &reqwest::Url| url.scheme() == "https" || (url.scheme() == "http" && is_local(url));
    url.filter(is_private)
        .map(drop)
        .ok_or_else(|| "an https address (http is for a server on this machine only)".to_owned())
}

impl ModelsFile {
    /// Reads the file; a missing file is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let Some(text) = read_text(path)? else { return Ok(Self::default()) };
        Self::parse(&json_comments::blank(&text)).map_err(|problem| misconfigured(path, problem))
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        let value = json_shape::parse(text, &FILE, FILE_EXAMPLE)?;
        let is_foreign = |members: &serde_json::Map<String, Value>| {
            !members.contains_key("providers") && members.keys().any(|name| !name.starts_with('$'))
        };
        if value.as_object().is_some_and(is_foreign) {
            return Err(Problem::new("", format!("the key \"providers\" is missing: {FILE_EXAMPLE}")));
        }
        let whole =
            |name: &str| format!("this needs a \"tokenUrl\" and a \"clientId\": \"{name}\": {OAUTH_EXAMPLE}");
        for (name, provider) in value["providers"].as_object().into_iter().flatten() {
            let oauth = provider.get("oauth");
            if oauth.is_some_and(|oauth| oauth.get("tokenUrl").is_none() || oauth.get("clientId").is_none()) {
                return Err(Problem::new(format!("providers.{name}.oauth"), whole("oauth")));
            }
        }
        // The shape covers everything that could fail here.
        serde_json::from_value(value)
            .map_err(|_| Problem::new("", format!("this is not as docs/models.md describes: {FILE_EXAMPLE}")))
    }

    /// Returns the settings of a provider.
    pub(crate) fn provider(&self, id: &str) -> Option<&ProviderSettings> {
        self.providers.0.iter().find(|(name, _)| name == id).map(|(_, settings)| settings)
    }
}

impl ProviderSettings {
    /// Reads the settings of a provider that is not in the file.
    pub(crate) fn parse(mut value: Value) -> Result<Self, Problem> {
        json_shape::check(&mut value, &PROVIDER, "", PROVIDER_EXAMPLE)?;
        serde_json::from_value(value).map_err(|_| {
            Problem::new("", format!("this is not as docs/models.md describes: {PROVIDER_EXAMPLE}"))
        })
    }

    /// Returns these settings with those of the file for the same provider. The models of the file take precedence, and so
    /// do its changes of models.
    pub(crate) fn over(mut self, file: Option<&Self>) -> Self {
        let Some(file) = file.cloned() else { return self };
        self.models.extend(file.models);
        let is_new = |(name, _): &(String, SettingValue)| !self.headers.0.iter().any(|(own, _)| own == name);
        let headers: Vec<_> = file.headers.0.into_iter().filter(is_new).collect();
        self.headers.0.extend(headers);
        Self {
            base_url: self.base_url.or(file.base_url),
            api: self.api.or(file.api),
            api_key: self.api_key.or(file.api_key),
            headers: self.headers,
            auth_header: self.auth_header || file.auth_header,
            oauth: file.oauth,
            compat: self.compat.or(file.compat),
            models: self.models,
            model_overrides: file.model_overrides,
        }
    }

    /// Returns the values that may be secret.
    pub(crate) fn values(&self) -> impl Iterator<Item = &SettingValue> {
        let models = self.models.iter().chain(self.model_overrides.0.iter().map(|(_, model)| model));
        let headers = self.headers.0.iter().chain(models.flat_map(|model| &model.headers.0));
        self.api_key.iter().chain(headers.map(|(_, value)| value))
    }

    /// Returns the changes to a model, if any.
    pub(crate) fn changes(&self, id: &str) -> Option<&ModelSettings> {
        self.model_overrides.0.iter().find(|(name, _)| name == id).map(|(_, changes)| changes)
    }
}

impl PriceSettings {
    /// Returns `price` with these changes applied.
    pub(crate) fn over(self, price: Price) -> Price {
        Price {
            input: self.input.unwrap_or(price.input),
            output: self.output.unwrap_or(price.output),
            cache_read: self.cache_read.unwrap_or(price.cache_read),
            cache_write: self.cache_write.unwrap_or(price.cache_write),
        }
    }
}

/// Returns the text of a file; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    match bowline_files::read_text(path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(Error::Unreadable { reason: error.to_string() }),
    }
}

/// Returns the error for a file with a problem.
pub(crate) fn misconfigured(path: &Path, problem: Problem) -> Error {
    let Problem { place, reason } = problem;
    Error::Misconfigured { path: path.to_owned(), place, reason }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Ordered<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    members.retain(|(known, _)| *known != name);
                    members.push((name, value));
                }
                Ok(Ordered(members))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(SettingValue::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ModelsFile, Error> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models.json");
        std::fs::write(&path, text).unwrap();
        ModelsFile::read(&path)
    }

    #[test]
    fn providers_keep_the_order_of_the_file() {
        let file = read(r#"{"providers": {"z": {}, "a": {"authHeader": true}, /* x */ "m": {},}}"#).unwrap();
        let names: Vec<&str> = file.providers.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a", "m"]);
        assert!(file.provider("a").unwrap().auth_header);
    }

    #[test]
    fn invalid_file_error_names_the_place() {
        for (text, expected) in [
            (
                r#"{"providers": {"a": {"models": 7}}}"#,
                r#"providers.a.models: this must be a list, for example "models": [{"id": "my-model"}]"#,
            ),
            (
                r#"{"providers": {"a": {"models": [{"id": "m", "contextWindow": "big"}]}}}"#,
                r#"providers.a.models[0].contextWindow: this must be a whole number, for example "contextWindow": 128000"#,
            ),
            (r#"{"provider": {}}"#, r#"the key "provider" must be written "providers""#),
            (r#"{"a": {}}"#, r#"the key "providers" is missing: {"providers": {"home": "#),
            (
                r#"{"providers": {"a": {"oauth": {"clientId": "c"}}}}"#,
                r#"providers.a.oauth: this needs a "tokenUrl""#,
            ),
            (
                r#"{"providers": {"a": {"oauth": {"tokenUrl": "http://far/t", "clientId": "c"}}}}"#,
                "providers.a.oauth.tokenUrl: this must be an https address",
            ),
            (
                r#"{"providers": {"a": {"api": "openai"}}}"#,
                "providers.a.api: this must be the name of an API (anthropic-messages, openai-completions, ",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("models.json is not valid: ") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn missing_file_is_empty() {
        assert!(ModelsFile::read(Path::new("/nonexistent/models.json")).unwrap().providers.0.is_empty());
    }

    #[test]
    fn keys_are_not_shown() {
        let file = read(r#"{"providers": {"a": {"apiKey": "sk-abc", "headers": {"x": "sk-abc"}}}}"#).unwrap();
        assert!(!format!("{file:?}").contains("sk-abc"));
    }
}
