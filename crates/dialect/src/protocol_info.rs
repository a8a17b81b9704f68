//! `get_protocol_info`: what a client can rely on, told by the dialect itself. The engine has no part in it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::command_table::{Meaning, Row};
use crate::schema::{Protocol, shape};

pub(crate) const ROW: Row = Row {
    name: "get_protocol_info",
    about: "Tells what this protocol has: for clients that work with more than one version or dialect.",
    fields: &[],
    answer: Some(shape::<ProtocolInfo>),
    meaning: Meaning::ProtocolInfo,
};

/// What a dialect says of itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProtocolInfo {
    /// The program that speaks: `bowline`.
    name: &'static str,
    /// The program's version.
    version: &'static str,
    dialect: &'static str,
    /// The types of the commands that are known.
    commands: Vec<&'static str>,
    /// The types of the records that are not answers.
    events: Vec<String>,
    /// What is there beyond the protocol that the dialect is named after.
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
