//! What is configured about subagents.

use std::num::NonZeroUsize;
use std::time::Duration;

use bowline_tools::Toolbox;

/// What is configured about subagents.
#[derive(Debug, Clone)]
pub struct SubagentSettings {
    /// How many subagents of one session run at the same time; the others wait.
    pub max_parallel: NonZeroUsize,
    /// How deep subagents may have subagents; 1 is not at all.
    pub max_depth: u32,
    /// How often a subagent may call its model; `None` is without end.
    pub max_turns: Option<u32>,
    /// How long a subagent may take; `None` is without end.
    pub max_runtime: Option<Duration>,
    /// Tools that agents may name although their parent does not have them.
    pub further_tools: Toolbox,
}

impl Default for SubagentSettings {
    fn default() -> Self {
        Self {
            max_parallel: NonZeroUsize::new(4).unwrap_or(NonZeroUsize::MIN),
            max_depth: 2,
            max_turns: Some(100),
            max_runtime: Some(Duration::from_hours(1)),
            further_tools: Toolbox::default(),
        }
    }
}
