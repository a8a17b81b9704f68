//! How many tokens Anthropic's models may think for, where they take a budget.

use bowline_core::ThinkingLevel;
use bowline_core::thinking::ThinkingBudgets;

/// The smallest budget that the API accepts, and what must remain for the answer itself.
const LEAST: u64 = 1024;

/// Returns the budget of a level within the limit of the answer; `None` if there is no room to think.
pub(super) fn claude_budget(level: ThinkingLevel, budgets: ThinkingBudgets, max_tokens: u64) -> Option<u64> {
    let usual = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 16384,
    };
    let budget = budgets.of(level).map_or(usual, |wanted| wanted.max(LEAST));
    Some(budget.min(max_tokens.saturating_sub(LEAST))).filter(|budget| *budget >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_the_users_and_leaves_room_for_the_answer() {
        let budgets = ThinkingBudgets { low: Some(100), medium: Some(10_000), ..ThinkingBudgets::default() };
        let of = |level, max_tokens| claude_budget(level, budgets, max_tokens);
        assert_eq!(of(ThinkingLevel::Low, 32_000), Some(1024));
        assert_eq!(of(ThinkingLevel::Medium, 32_000), Some(10_000));
        assert_eq!(of(ThinkingLevel::Max, 32_000), Some(16_384));
        assert_eq!(of(ThinkingLevel::Max, 4_096), Some(3_072));
        assert_eq!(of(ThinkingLevel::Max, 2_000), None);
        assert_eq!(of(ThinkingLevel::Off, 32_000), None);
    }
}
