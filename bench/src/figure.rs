//! One line of the report: a figure, its floor and its goal.

use serde_json::{Value, json};

use crate::statistics::Samples;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Microseconds,
    /// Millions of bytes.
    Megabytes,
    Instructions,
    Count,
}

/// The goal of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// At most a multiple of the floor.
    TimesFloor(f64),
    /// At most a value in the figure's unit.
    AtMost(f64),
    /// Both.
    TimesFloorAndAtMost { times_floor: f64, at_most: f64 },
    /// No goal.
    None,
}

/// A measured figure.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) bowline: Samples,
    pub(crate) floor: Option<Samples>,
    pub(crate) goal: Goal,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Megabytes => "MB",
            Self::Instructions => "instructions",
            Self::Count => "",
        }
    }

    /// Returns a value without its unit, with about three digits.
    pub(crate) fn number(self, value: f64) -> String {
        match self {
            Self::Count => format!("{value:.0}"),
            Self::Instructions => thousands(value),
            _ if value < 10.0 => format!("{value:.2}"),
            _ if value < 100.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        }
    }

    /// Returns a value with its unit.
    pub(crate) fn quantity(self, value: f64) -> String {
        format!("{} {}", self.number(value), self.name()).trim_end().to_owned()
    }

    /// Returns the median and, where there are several samples, the minimum.
    pub(crate) fn summary(self, samples: &Samples) -> String {
        let median = self.quantity(samples.median());
        if samples.len() == 1 { median } else { format!("{median} ({})", self.number(samples.minimum())) }
    }
}

impl Figure {
    /// Creates a figure with one sample, no floor and no goal.
    pub(crate) fn plain(what: impl Into<String>, unit: Unit, value: f64) -> Self {
        let bowline = [value].into_iter().collect();
        Self { what: what.into(), unit, bowline, floor: None, goal: Goal::None }
    }

    /// Returns the ratio to the floor, by the medians.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.floor.as_ref().map(|floor| self.bowline.median() / floor.median())
    }

    /// Returns the ratio to the floor, by the minima.
    pub(crate) fn ratio_of_minima(&self) -> Option<f64> {
        self.floor.as_ref().map(|floor| self.bowline.minimum() / floor.minimum())
    }

    /// Returns whether the goal is met; `None` if there is none.
    pub(crate) fn is_met(&self) -> Option<bool> {
        match self.goal {
            Goal::TimesFloor(limit) => self.ratio().map(|ratio| ratio <= limit),
            Goal::AtMost(limit) => Some(self.bowline.median() <= limit),
            Goal::TimesFloorAndAtMost { times_floor, at_most } => {
                self.ratio().map(|ratio| ratio <= times_floor && self.bowline.median() <= at_most)
            }
            Goal::None => None,
        }
    }

    /// Returns the figure as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let summary = |samples: &Samples| json!({ "median": samples.median(), "minimum": samples.minimum(), "samples": samples.len() });
        let goal = match self.goal {
            Goal::TimesFloor(limit) => json!({ "timesFloor": limit }),
            Goal::AtMost(limit) => json!({ "atMost": limit }),
            Goal::TimesFloorAndAtMost { times_floor, at_most } => {
                json!({ "timesFloor": times_floor, "atMost": at_most })
            }
            Goal::None => Value::Null,
        };
        json!({
            "what": self.what,
            "unit": self.unit.name(),
            "bowline": summary(&self.bowline),
            "floor": self.floor.as_ref().map(summary),
            "ratio": self.ratio(),
            "ratioOfMinima": self.ratio_of_minima(),
            "goal": goal,
            "met": self.is_met(),
        })
    }
}

/// Formats a whole number in groups of three digits.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        let left = digits.len() - position;
        if position > 0 && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(bowline: f64, floor: f64, goal: Goal) -> Figure {
        Figure {
            floor: Some([floor].into_iter().collect()),
            goal,
            ..Figure::plain("", Unit::Milliseconds, bowline)
        }
    }

    #[test]
    fn goal_is_met_up_to_its_limit() {
        assert_eq!(figure(4.0, 2.0, Goal::TimesFloor(2.0)).is_met(), Some(true));
        assert_eq!(figure(4.1, 2.0, Goal::TimesFloor(2.0)).is_met(), Some(false));
        assert_eq!(figure(4.1, 1.0, Goal::AtMost(4.1)).is_met(), Some(true));
        let both = Goal::TimesFloorAndAtMost { times_floor: 2.0, at_most: 4.0 };
        assert_eq!(figure(4.0, 2.0, both).is_met(), Some(true));
        assert_eq!(figure(4.0, 1.9, both).is_met(), Some(false));
        assert_eq!(figure(4.1, 3.0, both).is_met(), Some(false));
        assert_eq!(figure(4.1, 1.0, Goal::None).is_met(), None);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(Unit::Milliseconds.quantity(1.234), "1.23 ms");
        assert_eq!(Unit::Microseconds.quantity(123.4), "123 µs");
        assert_eq!(Unit::Instructions.quantity(1_234_567.0), "1,234,567 instructions");
        assert_eq!(Unit::Count.quantity(12.0), "12");
    }
}
