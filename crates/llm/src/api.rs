//! The provider APIs. Each is a file that builds the bytes of a request and decodes the bytes of its answer, without
//! I/O; a new API is a new file and a line in [`APIS`].

mod anthropic_messages;
mod azure_openai_responses;
#[cfg(feature = "bedrock")]
mod bedrock_converse_stream;
mod claude_budget;
mod frame;
mod google_generative_ai;
mod mistral_conversations;
mod openai_completions;
mod openai_responses;
mod output_format;
pub mod probe;
mod strict_arguments;
mod tool_schema;

#[cfg(test)]
mod decoding_tests;
#[cfg(test)]
mod switching_tests;

use std::collections::HashMap;

use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Model, StreamEvent, ThinkingLevel};
use serde_json::Value;

use crate::credentials::Credential;
use crate::request::ModelRequest;
use crate::secret::Secret;

/// A provider API.
#[derive(Debug)]
pub(crate) struct Api {
    /// The name that models refer to.
    pub(crate) name: &'static str,
    pub(crate) request: fn(&ModelRequest, &Endpoint) -> Result<HttpRequest, StreamError>,
    /// Returns the tokens that a request allows for thinking at a level, if it states them.
    pub(crate) budget: fn(&Model, ThinkingLevel, ThinkingBudgets) -> Option<u64>,
    pub(crate) decoder: fn() -> Box<dyn Decoder>,
}

/// All APIs.
pub(crate) const APIS: &[Api] = &[
    anthropic_messages::API,
    openai_completions::API,
    openai_responses::API,
    google_generative_ai::API,
    azure_openai_responses::API,
    mistral_conversations::API,
    #[cfg(feature = "bedrock")]
    bedrock_converse_stream::API,
];

/// APIs that models of pi may be on and bowline does not support. They are no mistakes in `models.json`.
pub(crate) const UNSUPPORTED: &[&str] =
    &["google-vertex", "openai-codex-responses", "pi-messages", "bedrock-converse-stream"];

/// Returns the API with this name.
pub(crate) fn find(name: &str) -> Option<&'static Api> {
    APIS.iter().find(|api| api.name == name)
}

/// Where a model is reached, and with which credential.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    /// Headers from the user's configuration; they take precedence over the API's own.
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) credential: Option<Credential>,
    /// Whether the key is sent as a bearer token instead of the API's own scheme.
    pub(crate) auth_header: bool,
    pub(crate) variables: Variables,
}

/// The environment variables that locate a cloud's models and hold its credentials.
#[derive(Clone, Default)]
pub(crate) struct Variables(HashMap<String, String>);

/// A request to POST.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) body: Vec<u8>,
}

/// Decodes the bytes of an answer into events, however they are split.
pub(crate) trait Decoder: Send {
    /// Decodes more bytes.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError>;

    /// Ends the input. An incomplete answer is a failure of kind `Cut`.
    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError>;

    /// Returns the failure of an answer that has become too large.
    fn check(&self) -> Result<(), StreamError>;
}

impl Variables {
    /// Selects them from the environment.
    pub(crate) fn of(environment: &HashMap<String, String>) -> Self {
        let named = |name: &str| name.starts_with("AZURE_OPENAI_") || name.starts_with("AWS_");
        let picked = environment.iter().filter(|(name, value)| named(name) && !value.trim().is_empty());
        Self(picked.map(|(name, value)| (name.clone(), value.trim().to_owned())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the secret ones. The error for a rejected signature repeats everything that was signed.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let hidden = |name: &str| ["KEY", "TOKEN", "SECRET"].iter().any(|word| name.contains(word));
        self.0.iter().filter(move |(name, _)| hidden(name)).map(|(_, value)| Secret::new(value))
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{} variables]", self.0.len())
    }
}

impl Endpoint {
    /// Returns the URL of a path under the base URL.
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.trim_end_matches('/'))
    }

    /// Returns a request with the API's `own` headers, overridden by those of the configuration.
    fn post(&self, path: &str, own: Vec<(&str, Secret)>, body: Vec<u8>) -> HttpRequest {
        let mut headers: Vec<(String, Secret)> = vec![
            ("content-type".to_owned(), Secret::new("application/json")),
            ("accept".to_owned(), Secret::new("text/event-stream")),
        ];
        headers.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        headers.retain(|(name, _)| !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)));
        headers.extend(self.headers.iter().cloned());
        HttpRequest { url: self.url(path), headers, body }
    }
}

/// Returns a bearer token's header value.
fn bearer(secret: &Secret) -> Secret {
    Secret::new(format!("Bearer {}", secret.expose()))
}

/// Returns a compatibility flag of a model.
fn flag(model: &Model, name: &str) -> Option<bool> {
    compat(model, name).and_then(Value::as_bool)
}

/// Returns a text-valued compatibility setting of a model.
fn setting<'a>(model: &'a Model, name: &str) -> Option<&'a str> {
    compat(model, name).and_then(Value::as_str)
}

/// Returns a compatibility setting of a model.
fn compat<'a>(model: &'a Model, name: &str) -> Option<&'a Value> {
    model.compat.as_ref()?.get(name)
}

/// Returns the thinking level to request, with the model's own name for it, if any; `None` for a model without
/// reasoning.
fn wanted_level(model: &Model, level: ThinkingLevel) -> Option<(ThinkingLevel, Option<&str>)> {
    if !model.reasoning {
        return None;
    }
    let level = level.clamp_to(&model.thinking_levels());
    let word = model.thinking_level_map.as_ref().and_then(|map| map.get(&level)?.as_deref());
    Some((level, word))
}

/// The budget of an API whose requests state none.
fn no_budget(_: &Model, _: ThinkingLevel, _: ThinkingBudgets) -> Option<u64> {
    None
}

/// Serialises the body of a request.
fn to_body(body: &impl serde::Serialize) -> Result<Vec<u8>, StreamError> {
    serde_json::to_vec(body).map_err(|error| {
        StreamError::new(FailureKind::Rejected, format!("The request could not be serialised: {error}."))
    })
}

#[cfg(test)]
mod tests {
    use super::APIS;
    use crate::catalog;

    #[test]
    fn every_api_and_built_in_provider_is_documented() {
        let page = include_str!("../../../docs/models.md");
        for api in APIS {
            assert!(page.contains(&format!("| `{}`", api.name)), "{}", api.name);
        }
        for provider in catalog::PROVIDERS {
            let (id, model) = (format!("| `{}`", provider.id), format!("| `{}` |", provider.default_model));
            let is_listed = page.lines().any(|line| line.starts_with(&id) && line.ends_with(&model));
            assert!(is_listed, "{id} … {model}");
        }
    }

    #[test]
    fn every_flag_of_the_catalog_is_documented() {
        let page = include_str!("../../../docs/models.md");
        for provider in catalog::PROVIDERS {
            for model in provider.models() {
                let flags = model.compat.as_ref().and_then(|flags| flags.as_object());
                for flag in flags.into_iter().flat_map(|flags| flags.keys()) {
                    assert!(page.contains(&format!("`{flag}")), "{}: {flag}", model.full_name());
                }
            }
        }
    }
}
