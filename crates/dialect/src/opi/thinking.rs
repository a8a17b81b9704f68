//! The thinking levels of opi 0.5 and their budgets.

use bowline_core::thinking::ThinkingBudgets;
use bowline_core::thinking::ThinkingLevel::{self, High, Low, Medium, Off};

/// The levels that clients may set.
pub(super) const LEVELS: [ThinkingLevel; 4] = [Off, Low, Medium, High];

/// The budgets in tokens of the levels.
pub(super) const BUDGETS: ThinkingBudgets =
    ThinkingBudgets { minimal: None, low: Some(2_048), medium: Some(10_000), high: Some(20_000) };

/// Returns the names of the levels as opi's error texts list them.
pub(super) fn level_list() -> String {
    let [others @ .., last] = LEVELS.map(ThinkingLevel::as_str);
    format!("{}, or {last}", others.join(", "))
}
