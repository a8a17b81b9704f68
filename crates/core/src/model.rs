//! A model as the agent sees it: where it is, what it takes, what it costs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::thinking::ThinkingLevel;
use crate::usage::{Cost, Usage, plain_number};

/// A model of a provider. Its JSON form is the one that clients see, so it holds no secret: keys and headers
/// stay with the provider's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "A model of a provider.")]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    /// The display name.
    pub name: String,
    /// The provider API, such as `anthropic-messages`.
    pub api: String,
    pub provider: String,
    pub base_url: String,
    /// Whether the model can think.
    pub reasoning: bool,
    pub input: Vec<InputKind>,
    pub cost: Price,
    /// The maximum number of tokens of a conversation, including the response.
    pub context_window: u64,
    /// The maximum number of tokens of a response.
    pub max_tokens: u64,
    /// The thinking levels that the model has in addition to the usual ones (a string), or does not have (`null`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Option<String>>>")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    /// Compatibility flags of the server, as in `models.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Value>,
}

/// A kind of input that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    Text,
    Image,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub input: f64,
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub output: f64,
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cache_read: f64,
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cache_write: f64,
}

impl Model {
    /// Returns `provider/id`, the name that a user types.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Tells whether the model can look at images.
    pub fn takes_images(&self) -> bool {
        self.input.contains(&InputKind::Image)
    }

    /// Returns the thinking levels that the model has, in rising order.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        ThinkingLevel::ALL.into_iter().filter(|level| self.has_level(*level)).collect()
    }

    fn has_level(&self, level: ThinkingLevel) -> bool {
        match self.thinking_level_map.as_ref().and_then(|map| map.get(&level)) {
            Some(mapped) => mapped.is_some(),
            None => level < ThinkingLevel::Xhigh,
        }
    }

    /// Fills in `usage.cost` and the total from this model's prices.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn price(&self, usage: &mut Usage) {
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1_000_000.0;
        let input = dollars(usage.input, self.cost.input);
        let output = dollars(usage.output, self.cost.output);
        let cache_read = dollars(usage.cache_read, self.cost.cache_read);
        let cache_write = dollars(usage.cache_write, self.cost.cache_write);
        usage.cost =
            Cost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(json: &str) -> Model {
        let mut value: Value = serde_json::from_str(
            r#"{"id":"m","name":"m","api":"a","provider":"p","baseUrl":"u","reasoning":true,"input":["text"],
                "cost":{"input":1,"output":2},"contextWindow":1000,"maxTokens":100}"#,
        )
        .unwrap();
        let extra: Value = serde_json::from_str(json).unwrap();
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_level_map_adds_and_removes_levels() {
        use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off};
        assert_eq!(model("{}").thinking_levels(), [Off, Minimal, Low, Medium, High]);
        let mapped = model(r#"{"thinkingLevelMap":{"off":null,"minimal":null,"max":"max"}}"#);
        assert_eq!(mapped.thinking_levels(), [Low, Medium, High, Max]);
        assert_eq!(model(r#"{"reasoning":false}"#).thinking_levels(), [Off]);
    }

    #[test]
    fn prices_are_per_million_tokens() {
        let mut usage = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        model("{}").price(&mut usage);
        assert_eq!((usage.cost.input, usage.cost.output, usage.cost.total), (1.0, 1.0, 2.0));
    }
}
