//! What the system prompt says about the user's own agents. Those of the program are in the tool's description.

use std::fmt::Write as _;

use bowline_core::subagent::AgentSource;
use bowline_extension::agents::Agents;

/// Returns the agents of the user and the project, for the model that gives them tasks.
pub(crate) fn listing(agents: &Agents) -> Option<String> {
    let own = agents.definitions.iter().filter(|agent| agent.source != AgentSource::Bundled);
    let mut listing = String::new();
    for agent in own {
        let _ = write!(listing, "\n- {}: {}", agent.name, agent.description);
    }
    (!listing.is_empty()).then(|| format!("Further agents for the tool task:{listing}"))
}
