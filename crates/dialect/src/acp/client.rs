//! What the client can do.

use serde_json::Value;

/// What the client has said that it can do. What it does not say as the protocol wants it counts as absent.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Client {
    /// Whether it shows a running command as a terminal.
    pub shows_terminals: bool,
    pub shows_notices: bool,
    pub fills_forms: bool,
}

impl Client {
    pub fn read(capabilities: &Value) -> Self {
        let is_object = |value: &Value| value.is_object();
        Self {
            shows_terminals: capabilities["_meta"]["terminal_output"] == true,
            shows_notices: is_object(&capabilities["session"]["notices"]),
            fills_forms: is_object(&capabilities["elicitation"]["form"]),
        }
    }
}
