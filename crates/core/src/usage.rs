//! What an answer cost, in tokens and in dollars.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// The tokens of one or more model responses, with their cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens that were not read from the cache.
    pub input: u64,
    /// Output tokens, including thinking.
    pub output: u64,
    /// Input tokens that were read from the cache.
    pub cache_read: u64,
    /// Input tokens that were written to the cache.
    pub cache_write: u64,
    /// The sum of all kinds of tokens.
    pub total_tokens: u64,
    pub cost: Cost,
    /// The part of `output` that was spent on thinking, if the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// The cost in US dollars by kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
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
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub total: f64,
}

impl Usage {
    /// Adds another answer's usage to this one.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
        if let Some(reasoning) = other.reasoning {
            self.reasoning = Some(self.reasoning.unwrap_or(0).saturating_add(reasoning));
        }
    }
}

/// Writes a whole number without its fraction (`0`, not `0.0`), as every peer does. JSON has no infinity: the largest
/// number stands for it, because nobody could read a `null` here.
pub fn plain_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = if number.is_nan() { &0.0 } else { &number.clamp(f64::MIN, f64::MAX) };
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53 fits")]
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_costs_have_no_fraction() {
        let usage = Usage { cost: Cost { output: 0.25, ..Cost::default() }, ..Usage::default() };
        let json = serde_json::to_string(&usage).unwrap();
        assert_eq!(
            json,
            r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0}}"#
        );
    }

    #[test]
    fn infinite_costs_can_be_read_again() {
        let cost = Cost { input: f64::INFINITY, output: f64::NAN, ..Cost::default() };
        let json = serde_json::to_string(&cost).unwrap();
        let read: Cost = serde_json::from_str(&json).unwrap();
        assert_eq!((read.input, read.output), (f64::MAX, 0.0));
    }

    #[test]
    fn costs_are_read_as_they_were_written() {
        for total in [0.000_140_000_000_000_000_01, 0.000_122_000_000_000_000_01, 0.1 + 0.2, 1e-7] {
            let cost = Cost { total, ..Cost::default() };
            let json = serde_json::to_string(&cost).unwrap();
            assert_eq!(serde_json::from_str::<Cost>(&json).unwrap(), cost, "{json}");
        }
    }
}
