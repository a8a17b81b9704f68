//! The built-in models: facts about providers, one JSON file each, written by `catalog.py`.
//!
//! A file is parsed when its provider is first looked at, never at the start.

use std::collections::BTreeMap;

use bowline_core::model::{InputKind, Price};
use bowline_core::{Model, ThinkingLevel};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A provider that needs no configuration but a key.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) id: &'static str,
    /// The model that is used when the user has a key and has chosen none.
    pub(crate) default_model: &'static str,
    json: &'static str,
}

/// Returns a row of [`PROVIDERS`]; the file has the provider's name.
macro_rules! provider {
    ($id:literal, $default_model:literal) => {
        Provider {
            id: $id,
            default_model: $default_model,
            json: include_str!(concat!("catalog/", $id, ".json")),
        }
    };
}

/// The providers, in the order in which a default is looked for: those who make models, then those who serve the
/// models of others, then the regional and subscription twins.
pub(crate) const PROVIDERS: &[Provider] = &[
    provider!("anthropic", "claude-sonnet-5"),
    provider!("openai", "gpt-5.5"),
    provider!("google", "gemini-3.1-pro-preview"),
    provider!("xai", "grok-4.7"),
    provider!("deepseek", "deepseek-flash"),
    provider!("mistral", "devstral-medium-latest"),
    provider!("zai", "glm-5.3"),
    provider!("moonshotai", "kimi-k3"),
    provider!("kimi-coding", "k3"),
    provider!("minimax", "MiniMax-M3"),
    provider!("meta", "muse-spark-1.3"),
    provider!("openrouter", "anthropic/claude-sonnet-5"),
    provider!("groq", "openai/gpt-oss-120b"),
    provider!("cerebras", "gpt-oss-120b"),
    provider!("together", "moonshotai/Kimi-K2.7-Code"),
    provider!("fireworks", "accounts/fireworks/models/kimi-k3"),
    provider!("vercel-ai-gateway", "anthropic/claude-sonnet-5"),
    provider!("huggingface", "moonshotai/Kimi-K2.7-Code"),
    provider!("nvidia", "z-ai/glm-5.3"),
    provider!("baseten", "moonshotai/Kimi-K3"),
    provider!("azure-openai-responses", "gpt-5.5"),
    provider!("amazon-bedrock", "global.anthropic.claude-sonnet-5"),
    provider!("google-vertex", "gemini-3.1-pro-preview"),
    provider!("cloudflare-ai-gateway", "claude-sonnet-5"),
    provider!("cloudflare-workers-ai", "@cf/zai-org/glm-5.3"),
    provider!("minimax-cn", "MiniMax-M3"),
    provider!("moonshotai-cn", "kimi-k3"),
    provider!("zai-coding-cn", "glm-5.3"),
    provider!("qwen-token-plan", "qwen3.8-max"),
    provider!("qwen-token-plan-cn", "qwen3.8-max"),
    provider!("qwen-token-plan-individual", "qwen3.8-max"),
    provider!("xiaomi", "mimo-v2.6-pro"),
    provider!("xiaomi-token-plan-ams", "mimo-v2.6-pro"),
    provider!("xiaomi-token-plan-cn", "mimo-v2.6-pro"),
    provider!("xiaomi-token-plan-sgp", "mimo-v2.6-pro"),
    provider!("ant-ling", "Ling-2.6-1T"),
];

/// A provider's file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    base_url: String,
    /// What a model has that does not say otherwise.
    api: String,
    compat: Option<Value>,
    models: Vec<Fact>,
}

/// A model in a provider's file. What is left out is what [`Provider::model`] assumes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fact {
    id: String,
    name: Option<String>,
    api: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    reasoning: bool,
    input: Option<Vec<InputKind>>,
    /// Input, output, read from the cache, written to it; the rest of a short list is free.
    #[serde(default)]
    cost: Vec<f64>,
    context_window: u64,
    max_tokens: u64,
    thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    /// The outer option is whether the file says something, the inner one whether that is `null`.
    #[serde(default, deserialize_with = "said")]
    compat: Option<Option<Value>>,
}

/// Returns the built-in provider of this name.
pub(crate) fn provider(id: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}

impl Provider {
    /// Parses the provider's models. The files are part of the program and a test reads them all, so a file that
    /// cannot be read is treated as empty.
    pub(crate) fn models(&self) -> Vec<Model> {
        let Ok(mut file) = serde_json::from_str::<File>(self.json) else { return Vec::new() };
        let facts = std::mem::take(&mut file.models);
        facts.into_iter().map(|fact| self.model(fact, &file)).collect()
    }

    fn model(&self, fact: Fact, file: &File) -> Model {
        let price = |place: usize| fact.cost.get(place).copied().unwrap_or_default();
        Model {
            name: fact.name.unwrap_or_else(|| fact.id.clone()),
            id: fact.id,
            api: fact.api.unwrap_or_else(|| file.api.clone()),
            provider: self.id.to_owned(),
            base_url: fact.base_url.unwrap_or_else(|| file.base_url.clone()),
            reasoning: fact.reasoning,
            input: fact.input.unwrap_or_else(|| vec![InputKind::Text]),
            cost: Price { input: price(0), output: price(1), cache_read: price(2), cache_write: price(3) },
            context_window: fact.context_window,
            max_tokens: fact.max_tokens,
            thinking_level_map: fact.thinking_level_map,
            compat: fact.compat.unwrap_or_else(|| file.compat.clone()),
        }
    }
}

fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Value>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
