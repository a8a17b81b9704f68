//! `get_protocol_info`: the dialect's description of itself. The engine has no part in it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::PROGRAMS;
use crate::command_table::{Action, Row};
use crate::protocol::Protocol;
use crate::schema::schema_of;

pub(crate) const ROW: Row = Row {
    name: "get_protocol_info",
    about: "Returns what this protocol supports, for clients that work with several versions or dialects.",
    fields: &[],
    result: Some(schema_of::<ProtocolInfo>()),
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
    /// The agent that is emulated; absent if its clients ask for no version.
    #[serde(skip_serializing_if = "Option::is_none")]
    emulates: Option<Emulated>,
    /// The types of the supported commands.
    commands: Vec<&'static str>,
    /// The types of the commands that the emulated agent has and bowline refuses.
    unsupported: Vec<&'static str>,
    /// The types of the records that are not responses.
    events: Vec<String>,
    /// What bowline adds to the protocol that the dialect is named after.
    capabilities: &'static [&'static str],
}

/// An agent that is emulated.
#[derive(Serialize, JsonSchema)]
struct Emulated {
    name: &'static str,
    /// The version that `--version` reports if bowline is started under the agent's name.
    version: &'static str,
}

impl From<&Protocol> for ProtocolInfo {
    fn from(protocol: &Protocol) -> Self {
        Self {
            name: "bowline",
            version: env!("CARGO_PKG_VERSION"),
            dialect: protocol.dialect,
            emulates: emulated(protocol.dialect),
            commands: protocol.commands.iter().map(|row| row.name).collect(),
            unsupported: protocol.unsupported.iter().map(|(name, _)| *name).collect(),
            events: protocol.record_names(),
            capabilities: protocol.capabilities,
        }
    }
}

fn emulated(dialect: &str) -> Option<Emulated> {
    let program = PROGRAMS.iter().find(|program| program.dialect == dialect)?;
    Some(Emulated { name: program.name, version: program.version })
}
