//! What happens to a decoded line in a dialect that has one session, as every dialect but acp does.

use bowline_core::SessionTag;
use bowline_core::command::Origin;
use bowline_wire::Record;

use crate::Incoming;
use crate::decode::{ClientAnswer, Decoded};
use crate::local_data::{LocalData, Negotiated};
use crate::protocol::Protocol;

/// Forwards a line to the engine, or answers it here: an invalid line, or a command that the engine has no part in.
/// `respond` encodes a success response; `answer` decodes the answer to a question.
pub(crate) fn forward(
    decoded: Result<Decoded, Record>,
    protocol: &Protocol,
    respond: impl FnOnce(&Origin, Option<LocalData>) -> Record,
    answer: impl FnOnce(&ClientAnswer) -> Option<Incoming>,
    records: &mut Vec<Record>,
) -> Option<Incoming> {
    match decoded {
        Ok(Decoded::Request(request)) => Some(Incoming::Request { session: SessionTag::FIRST, request }),
        Ok(Decoded::Answer(given)) => answer(&given),
        // No dialect with one session has such commands.
        Ok(Decoded::Own { .. }) => None,
        Ok(Decoded::Quit(origin)) => {
            records.push(respond(&origin, None));
            Some(Incoming::Quit)
        }
        Ok(Decoded::ProtocolInfo(origin)) => {
            let info = LocalData::ProtocolInfo(Box::new(protocol.into()));
            records.push(respond(&origin, Some(info)));
            None
        }
        Ok(Decoded::Negotiated { origin, protocol_version }) => {
            let negotiated = LocalData::Negotiated(Negotiated { protocol_version });
            records.push(respond(&origin, Some(negotiated)));
            None
        }
        Err(refusal) => {
            records.push(refusal);
            None
        }
    }
}

/// Decodes the answer to a question in a dialect that asks none: it refers to nothing and is ignored.
pub(crate) fn unasked(_: &ClientAnswer) -> Option<Incoming> {
    None
}
