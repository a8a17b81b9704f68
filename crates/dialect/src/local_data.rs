//! What the response to a command carries that a dialect carries out itself.

use schemars::JsonSchema;
use serde::Serialize;

use crate::protocol_info::ProtocolInfo;

/// The `data` of such a response.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum LocalData {
    ProtocolInfo(Box<ProtocolInfo>),
    Negotiated(Negotiated),
}

/// The version of the protocol that the client chose.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Negotiated {
    pub protocol_version: u64,
}
