//! `get_protocol_info`: the dialect's description of itself. The engine has no part in it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::command_table::{Action, Row};
use crate::protocol::Protocol;
use crate::schema::schema_of;

pub(crate) const ROW: Row = Row {
    name: "get_protocol_info",
    about: "Returns what this protocol supports, for clients that work with several versions or dialects.",
    fields: &[],
    result: Some(schema_of::<ProtocolInfo>),
    action: Action::ProtocolInfo,
};

/// What a dialect supports.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProtocolInfo {
    /// The name of the program: `bowline`.
    name: &'static str,
    /// The version of the program.
    version: &'static str,
    dialect: &'static str,
    /// The types of the supported commands.
    commands: Vec<&'static str>,
    /// The types of the records that are not responses.
    events: Vec<String>,
    /// What bowline adds to the protocol that the dialect is named after.
    capabilities: &'static [&'static str],
}

impl From<&Protocol> for ProtocolInfo {
    fn from(protocol: &Protocol) -> Self {
        Self {
            name: "bowline",
            version: env!("CARGO_PKG_VERSION"),
            dialect: protocol.dialect,
            commands: protocol.commands.iter().map(|row| row.name).collect(),
            events: protocol.record_names(),
            capabilities: protocol.capabilities,
        }
    }
}
