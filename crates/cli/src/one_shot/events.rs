//! The events of a session as JSON lines, as pi writes them with `--mode json`.

use super::summary::Summary;

/// The types of records that belong to a conversation with a client, and so are no events of the session.
const FOR_CLIENTS: &[&str] = &[
    "response",
    "extension_ui_request",
    "extension_error",
    "approval_request",
    "approval_resolved",
    "bash_execution_update",
];

/// Tells whether a record is an event of the session.
pub(super) fn is_event(kind: &str) -> bool {
    !FOR_CLIENTS.contains(&kind)
}

/// Nothing follows the events.
pub(super) fn ending(_: &Summary) -> String {
    String::new()
}
