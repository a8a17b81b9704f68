//! The built-in models: facts about providers, one JSON file each, written by `catalog.py`.
//!
//! A file is parsed when its provider is first looked at, never at the start.

use std::collections::BTreeMap;

use bowline_core::model::{InputKind, Price};
use bowline_core::{Model, ThinkingLevel};
use serde_json::Value;

/// A provider that needs no configuration but a key.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) id: &'static str,
    /// The model that is used when the user has a key and has chosen none.
    pub(crate) default_model: &'static str,
    json: &'static str,
}

/// The providers, in the order in which a default is looked for.
pub(crate) const PROVIDERS: &[Provider] = &[
    Provider {
        id: "anthropic",
        default_model: "claude-sonnet-5",
        json: include_str!("catalog/anthropic.json"),
    },
    Provider {
        id: "openrouter",
        default_model: "anthropic/claude-sonnet-5",
        json: include_str!("catalog/openrouter.json"),
    },
    Provider { id: "deepseek", default_model: "deepseek-flash", json: include_str!("catalog/deepseek.json") },
    Provider { id: "zai", default_model: "glm-5.3", json: include_str!("catalog/zai.json") },
    Provider { id: "moonshotai", default_model: "kimi-k3", json: include_str!("catalog/moonshotai.json") },
    Provider { id: "kimi-coding", default_model: "k3", json: include_str!("catalog/kimi-coding.json") },
    Provider { id: "groq", default_model: "openai/gpt-oss-120b", json: include_str!("catalog/groq.json") },
    Provider { id: "cerebras", default_model: "gpt-oss-120b", json: include_str!("catalog/cerebras.json") },
    Provider {
        id: "together",
        default_model: "moonshotai/Kimi-K2.7-Code",
        json: include_str!("catalog/together.json"),
    },
    Provider {
        id: "fireworks",
        default_model: "accounts/fireworks/models/kimi-k3",
        json: include_str!("catalog/fireworks.json"),
    },
    Provider {
        id: "vercel-ai-gateway",
        default_model: "anthropic/claude-sonnet-5",
        json: include_str!("catalog/vercel-ai-gateway.json"),
    },
    Provider {
        id: "huggingface",
        default_model: "moonshotai/Kimi-K2.7-Code",
        json: include_str!("catalog/huggingface.json"),
    },
    Provider { id: "nvidia", default_model: "z-ai/glm-5.3", json: include_str!("catalog/nvidia.json") },
    Provider {
        id: "baseten",
        default_model: "moonshotai/Kimi-K3",
        json: include_str!("catalog/baseten.json"),
    },
    Provider { id: "minimax", default_model: "MiniMax-M3", json: include_str!("catalog/minimax.json") },
    Provider { id: "minimax-cn", default_model: "MiniMax-M3", json: include_str!("catalog/minimax-cn.json") },
    Provider {
        id: "moonshotai-cn",
        default_model: "kimi-k3",
        json: include_str!("catalog/moonshotai-cn.json"),
    },
    Provider {
        id: "zai-coding-cn",
        default_model: "glm-5.3",
        json: include_str!("catalog/zai-coding-cn.json"),
    },
    Provider {
        id: "qwen-token-plan",
        default_model: "qwen3.8-max",
        json: include_str!("catalog/qwen-token-plan.json"),
    },
    Provider {
        id: "qwen-token-plan-cn",
        default_model: "qwen3.8-max",
        json: include_str!("catalog/qwen-token-plan-cn.json"),
    },
    Provider {
        id: "qwen-token-plan-individual",
        default_model: "qwen3.8-max",
        json: include_str!("catalog/qwen-token-plan-individual.json"),
    },
    Provider { id: "xiaomi", default_model: "mimo-v2.6-pro", json: include_str!("catalog/xiaomi.json") },
    Provider {
        id: "xiaomi-token-plan-ams",
        default_model: "mimo-v2.6-pro",
        json: include_str!("catalog/xiaomi-token-plan-ams.json"),
    },
    Provider {
        id: "xiaomi-token-plan-cn",
        default_model: "mimo-v2.6-pro",
        json: include_str!("catalog/xiaomi-token-plan-cn.json"),
    },
    Provider {
        id: "xiaomi-token-plan-sgp",
        default_model: "mimo-v2.6-pro",
        json: include_str!("catalog/xiaomi-token-plan-sgp.json"),
    },
    Provider {
        id: "cloudflare-workers-ai",
        default_model: "@cf/zai-org/glm-5.3",
        json: include_str!("catalog/cloudflare-workers-ai.json"),
    },
    Provider { id: "ant-ling", default_model: "Ling-2.6-1T", json: include_str!("catalog/ant-ling.json") },
];

/// A provider's file.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    base_url: String,
    models: Vec<Fact>,
}

/// A model in a provider's file.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fact {
    id: String,
    name: String,
    api: String,
    base_url: Option<String>,
    reasoning: bool,
    input: Vec<InputKind>,
    cost: Price,
    context_window: u64,
    max_tokens: u64,
    thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    compat: Option<Value>,
}

/// Returns the built-in provider of this name.
pub(crate) fn provider(id: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}

impl Provider {
    /// Parses the provider's models. The files are part of the program and a test reads them all, so a file that
    /// cannot be read is treated as empty.
    pub(crate) fn models(&self) -> Vec<Model> {
        let Ok(file) = serde_json::from_str::<File>(self.json) else { return Vec::new() };
        let File { base_url, models } = file;
        models.into_iter().map(|fact| self.model(fact, &base_url)).collect()
    }

    fn model(&self, fact: Fact, base_url: &str) -> Model {
        Model {
            id: fact.id,
            name: fact.name,
            api: fact.api,
            provider: self.id.to_owned(),
            base_url: fact.base_url.unwrap_or_else(|| base_url.to_owned()),
            reasoning: fact.reasoning,
            input: fact.input,
            cost: fact.cost,
            context_window: fact.context_window,
            max_tokens: fact.max_tokens,
            thinking_level_map: fact.thinking_level_map,
            compat: fact.compat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read_and_has_its_default() {
        for provider in PROVIDERS {
            let models = provider.models();
            let default = models.iter().find(|model| model.id == provider.default_model);
            assert!(default.is_some(), "{} has no {}", provider.id, provider.default_model);
            for model in &models {
                assert!(crate::api::find(&model.api).is_some(), "{}", model.full_name());
                assert!(!model.thinking_levels().is_empty(), "{}", model.full_name());
            }
        }
    }
}
