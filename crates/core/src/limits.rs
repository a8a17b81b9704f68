//! What a run and a session may spend before they are stopped, and what they have spent.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::usage::plain_number;

/// Something that can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Limited {
    /// US dollars, by the prices of the models.
    Cost,
    /// Tokens of all kinds.
    Tokens,
    /// Answers of the model.
    Turns,
    ToolCalls,
    /// The time that runs take, without that in which the user is asked something.
    Seconds,
}

impl Limited {
    pub const ALL: &'static [Self] = &[Self::Cost, Self::Tokens, Self::Turns, Self::ToolCalls, Self::Seconds];

    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::ToolCalls => "toolCalls",
            Self::Seconds => "seconds",
        }
    }

    /// Returns the thing with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|limited| limited.as_str() == name)
    }

    /// Tells whether only whole numbers make sense.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::Cost | Self::Seconds)
    }

    /// Returns an amount with its unit, for people.
    pub fn with_unit(self, amount: f64) -> String {
        let unit = match self {
            Self::Cost => "US dollar",
            Self::Tokens => "token",
            Self::Turns => "turn",
            Self::ToolCalls => "tool call",
            Self::Seconds => "second",
        };
        let plural = if Rounded(amount).to_string() == "1" { "" } else { "s" };
        format!("{} {unit}{plural}", Rounded(amount))
    }
}

/// A number as people read it: no more digits than matter.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.6}", self.0);
        formatter.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitScope {
    /// Everything from a prompt to the end of its run.
    Run,
    /// All runs of a session, also those before it was opened again.
    Session,
}

impl LimitScope {
    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
        }
    }
}

/// Limits; what is absent has none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_number")]
    pub cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How often the model answers; in a run, for one message of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_number")]
    pub seconds: Option<f64>,
}

impl Limits {
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    pub fn get(&self, limited: Limited) -> Option<f64> {
        match limited {
            Limited::Cost => self.cost,
            Limited::Tokens => self.tokens.map(|limit| limit as f64),
            Limited::Turns => self.turns.map(|limit| limit as f64),
            Limited::ToolCalls => self.tool_calls.map(|limit| limit as f64),
            Limited::Seconds => self.seconds,
        }
    }

    /// Sets a limit; 0 and nothing are none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, which is what is wanted"
    )]
    pub fn set(&mut self, limited: Limited, limit: Option<f64>) {
        let limit = limit.filter(|limit| *limit > 0.0);
        let count = limit.map(|limit| limit as u64);
        match limited {
            Limited::Cost => self.cost = limit,
            Limited::Tokens => self.tokens = count,
            Limited::Turns => self.turns = count,
            Limited::ToolCalls => self.tool_calls = count,
            Limited::Seconds => self.seconds = limit,
        }
    }

    /// Tells whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The limits of a session and of each of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct LimitSet {
    pub run: Limits,
    pub session: Limits,
}

impl LimitSet {
    pub fn of(&self, scope: LimitScope) -> &Limits {
        match scope {
            LimitScope::Run => &self.run,
            LimitScope::Session => &self.session,
        }
    }

    pub fn of_mut(&mut self, scope: LimitScope) -> &mut Limits {
        match scope {
            LimitScope::Run => &mut self.run,
            LimitScope::Session => &mut self.session,
        }
    }
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// US dollars.
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cost: f64,
    pub tokens: u64,
    pub turns: u64,
    pub tool_calls: u64,
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub seconds: f64,
}

impl Spent {
    #[expect(clippy::cast_precision_loss, reason = "a limit is compared with it, which is far below 2^53")]
    pub fn get(&self, limited: Limited) -> f64 {
        match limited {
            Limited::Cost => self.cost,
            Limited::Tokens => self.tokens as f64,
            Limited::Turns => self.turns as f64,
            Limited::ToolCalls => self.tool_calls as f64,
            Limited::Seconds => self.seconds,
        }
    }

    /// Returns what was spent since so much was spent.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cost: (self.cost - earlier.cost).max(0.0),
            tokens: self.tokens.saturating_sub(earlier.tokens),
            turns: self.turns.saturating_sub(earlier.turns),
            tool_calls: self.tool_calls.saturating_sub(earlier.tool_calls),
            seconds: (self.seconds - earlier.seconds).max(0.0),
        }
    }

    /// Adds what was spent elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.turns = self.turns.saturating_add(other.turns);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
        self.seconds += other.seconds;
    }
}

/// A limit that a client wants to set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitChange {
    pub scope: LimitScope,
    pub limited: Limited,
    /// 0 removes the limit.
    pub limit: f64,
}

/// The limits and what was spent of them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct LimitsReport {
    /// Of the run in progress, or of the last one.
    pub run: ScopeReport,
    pub session: ScopeReport,
}

/// The limits of a run or a session, and what was spent of them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct ScopeReport {
    /// What is absent is not limited.
    pub limits: Limits,
    pub used: Spent,
}

/// Most of a limit is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitWarning {
    pub scope: LimitScope,
    pub limited: Limited,
    pub used: f64,
    pub max: f64,
}

#[expect(clippy::ref_option, reason = "the signature that serde wants")]
fn optional_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    plain_number(&number.unwrap_or_default(), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialised_ones() {
        for limited in Limited::ALL {
            assert_eq!(serde_json::to_value(limited).unwrap(), limited.as_str());
            assert_eq!(Limited::parse(limited.as_str()), Some(*limited));
            let mut limits = Limits::default();
            limits.set(*limited, Some(3.0));
            assert_eq!(limits.get(*limited), Some(3.0));
            assert_eq!(serde_json::to_string(&limits).unwrap(), format!("{{\"{}\":3}}", limited.as_str()));
            limits.set(*limited, Some(0.0));
            assert!(limits.is_empty());
        }
    }

    #[test]
    fn amounts_have_no_more_digits_than_matter() {
        assert_eq!(Limited::Cost.with_unit(0.1 + 0.2), "0.3 US dollars");
        assert_eq!(Limited::Tokens.with_unit(1000.0), "1000 tokens");
        assert_eq!(Limited::Seconds.with_unit(1.5), "1.5 seconds");
        assert_eq!(Limited::ToolCalls.with_unit(1.0), "1 tool call");
    }
}
