//! The thinking levels of opi 0.5 and the budgets that it reports for them.

use bowline_core::thinking::ThinkingLevel::{self, High, Low, Medium, Off};

/// Each level with its budget in tokens.
const BUDGETS: [(ThinkingLevel, Option<u32>); 4] =
    [(Off, None), (Low, Some(2_048)), (Medium, Some(10_000)), (High, Some(20_000))];

/// The levels that clients may set.
pub(super) const LEVELS: [ThinkingLevel; BUDGETS.len()] = {
    let mut levels = [Off; BUDGETS.len()];
    let mut index = 0;
    while index < levels.len() {
        levels[index] = BUDGETS[index].0;
        index += 1;
    }
    levels
};

/// Returns the budget of a level in tokens; `None` if the model does not think.
pub(super) fn budget(level: ThinkingLevel) -> Option<u32> {
    BUDGETS.iter().find(|(other, _)| *other == level).and_then(|(_, budget)| *budget)
}

/// Returns the names of the levels as opi's error texts list them.
pub(super) fn level_list() -> String {
    let [others @ .., last] = LEVELS.map(ThinkingLevel::as_str);
    format!("{}, or {last}", others.join(", "))
}
