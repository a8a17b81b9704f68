//! The parameter by which a model asks that a command runs outside of the sandbox. It is offered only where the user can
//! be asked for that.

use bowline_core::sandbox::AskMode;
use bowline_tools::{Toolbox, with_unsandboxed_commands};

use super::Session;
use crate::agent::Agent;

/// Returns the tools with the parameter, if there is a sandbox to leave and a user to ask.
pub(super) fn with_unsandboxed(agent: &Agent, toolbox: Toolbox) -> Toolbox {
    let is_confined =
        toolbox.options().confinement.as_ref().is_some_and(|confinement| confinement.is_active());
    if is_confined && agent.gate().ask_mode() != AskMode::Never {
        return with_unsandboxed_commands(&toolbox);
    }
    toolbox
}

impl Session {
    /// Offers the parameter or not, after what confines the tools or when the user is asked has changed.
    pub(super) fn renew_unsandboxed(&mut self) {
        let toolbox = with_unsandboxed(&self.agent, self.agent.toolbox().clone());
        if toolbox.definitions() != self.instructions.built_in_definitions() {
            self.instructions.set_tools(toolbox);
        }
    }
}
