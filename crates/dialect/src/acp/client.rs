//! What the client can do.

use bowline_core::host::ClientFiles;
use serde_json::Value;

/// What the client has said that it can do. What it does not say as the protocol wants it counts as absent.
#[derive(Debug, Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct Client {
    /// Whether it shows a running command as a terminal.
    pub shows_terminals: bool,
    pub shows_notices: bool,
    pub shows_compactions: bool,
    pub fills_forms: bool,
    /// Whether it runs an agent in a terminal, so that the user can log in.
    pub opens_terminals: bool,
    /// What it does with files.
    pub files: ClientFiles,
}

impl Client {
    pub fn read(capabilities: &Value) -> Self {
        let is_object = |value: &Value| value.is_object();
        let files = &capabilities["fs"];
        Self {
            shows_terminals: capabilities["_meta"]["terminal_output"] == true,
            shows_notices: is_object(&capabilities["session"]["notices"]),
            shows_compactions: is_object(&capabilities["session"]["compaction"]),
            fills_forms: is_object(&capabilities["elicitation"]["form"]),
            opens_terminals: capabilities["auth"]["terminal"] == true
                || capabilities["_meta"]["terminal-auth"] == true,
            files: ClientFiles {
                reads: files["readTextFile"] == true,
                writes: files["writeTextFile"] == true,
            },
        }
    }
}
