//! How hard a model is asked to think before it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thinking level, in ascending order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    /// Every level, in ascending order.
    pub const ALL: [Self; 7] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the level's name on the wire and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the level with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Returns the level among `supported` that comes closest: itself, else the next higher one, else the highest
    /// lower one. An empty list gives `Off`.
    pub fn clamp_to(self, supported: &[Self]) -> Self {
        let higher = supported.iter().copied().filter(|level| *level >= self).min();
        higher.or_else(|| supported.iter().copied().max()).unwrap_or_default()
    }
}

/// The tokens that a model may think for, by level, where they differ from what a provider is usually sent. Only some
/// providers take a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThinkingBudgets {
    pub minimal: Option<u64>,
    pub low: Option<u64>,
    pub medium: Option<u64>,
    /// Also for the levels above.
    pub high: Option<u64>,
}

impl ThinkingBudgets {
    /// Returns the budget of a level, if there is one of its own.
    pub fn of(self, level: ThinkingLevel) -> Option<u64> {
        match level {
            ThinkingLevel::Off => None,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => self.high,
        }
    }

    /// Returns these budgets, with `others` for what they leave open.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            minimal: self.minimal.or(others.minimal),
            low: self.low.or(others.low),
            medium: self.medium.or(others.medium),
            high: self.high.or(others.high),
        }
    }
}

impl std::fmt::Display for ThinkingLevel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ThinkingLevel::{High, Low, Max, Medium, Off};

    #[test]
    fn clamping_prefers_the_next_higher_level() {
        assert_eq!(Medium.clamp_to(&[Off]), Off);
        assert_eq!(Low.clamp_to(&[Off, Medium, High]), Medium);
        assert_eq!(Max.clamp_to(&[Off, Medium, High]), High);
        assert_eq!(High.clamp_to(&[]), Off);
    }
}
