//! The definition of a protocol: what decoding and the schema are made from.

use schemars::Schema;

use crate::answer_table::AnswerRow;
use crate::command_table::Row;
use crate::envelope::Envelope;
use crate::schema::Describe;

/// The definition of a dialect's protocol.
#[derive(Debug)]
pub(crate) struct Protocol {
    pub dialect: &'static str,
    pub envelope: &'static dyn Envelope,
    pub commands: &'static [Row],
    /// The lines by which a client answers what the agent asks.
    pub answers: &'static [AnswerRow],
    /// What the `id` of a command may be.
    pub id: Id,
    pub answered: Answered,
    /// Describes each record that is not a response.
    pub records: Describe<Vec<Schema>>,
    /// The commands of the emulated agent that bowline refuses, with what their clients can do instead.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// What bowline adds to the protocol that the dialect is named after.
    pub capabilities: &'static [&'static str],
}

/// Which commands get a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    All,
    /// Only `get_protocol_info`.
    ProtocolInfoOnly,
}

/// What a client may use as the id of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id {
    Anything,
    Text,
}
