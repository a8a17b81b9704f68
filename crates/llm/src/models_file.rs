//! `models.json`: the providers and models that a user adds or changes, in pi's format.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use bowline_core::ThinkingLevel;
use bowline_core::model::{InputKind, Price};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::error::Error;
use crate::json_comments;
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
    pub(crate) compat: Option<Value>,
    pub(crate) models: Vec<ModelSettings>,
    pub(crate) model_overrides: Ordered<ModelSettings>,
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

impl ModelsFile {
    /// Reads the file; a missing file is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let Some(text) = read_text(path)? else { return Ok(Self::default()) };
        let plain = json_comments::blank(&text);
        serde_json::from_str(&plain).map_err(|error| malformed(path, &error))
    }

    /// Returns the settings of a provider.
    pub(crate) fn provider(&self, id: &str) -> Option<&ProviderSettings> {
        self.providers.0.iter().find(|(name, _)| name == id).map(|(_, settings)| settings)
    }
}

impl ProviderSettings {
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

/// Returns the error for a file with invalid JSON.
pub(crate) fn malformed(path: &Path, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = reason.strip_suffix(&place).unwrap_or(&reason);
    // The unexpected value may be a key, so it is not repeated.
    let reason = reason.rfind(", expected ").map_or(reason, |at| &reason[at + 2..]).to_owned();
    Error::Malformed { path: path.to_owned(), line, column, reason }
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
        let error = read("{\n  \"providers\": {\"a\": {\"models\": 7}}}").unwrap_err();
        let Error::Malformed { line: 2, reason, path, .. } = &error else { panic!("{error:?}") };
        assert!(path.ends_with("models.json"));
        assert!(reason.starts_with("expected ") && !reason.contains('7'), "{reason}");
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
