//! Access to the decoders for fuzzing and benchmarks: bytes in, events out.

use bowline_core::StreamEvent;
use bowline_core::stream::StreamError;

use crate::api::{self, Decoder};
use crate::sse;

/// A decoder of one API.
pub struct Probe(Box<dyn Decoder>);

impl Probe {
    /// Returns a new decoder of the API with this name.
    pub fn new(api: &str) -> Option<Self> {
        api::find(api).map(|api| Self((api.decoder)()))
    }

    /// Decodes more bytes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.0.feed(bytes, out)
    }

    /// Ends the input.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.0.finish(out)
    }
}

/// Returns the names of all APIs.
pub fn apis() -> Vec<&'static str> {
    api::APIS.iter().map(|api| api.name).collect()
}

/// Decodes an answer that arrives in pieces.
pub fn decode(api: &str, pieces: &[&[u8]]) -> Option<Result<Vec<StreamEvent>, StreamError>> {
    let mut probe = Probe::new(api)?;
    let mut events = Vec::new();
    let fed = pieces.iter().try_for_each(|piece| probe.feed(piece, &mut events));
    Some(fed.and_then(|()| probe.finish(&mut events)).map(|()| events))
}

/// Returns the data of the server-sent events in pieces of bytes.
pub fn server_sent_events(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, StreamError> {
    let mut parser = sse::Parser::default();
    let mut events = Vec::new();
    let mut keep = |data: &[u8]| {
        events.push(data.to_vec());
        Ok(())
    };
    pieces.iter().try_for_each(|piece| parser.feed(piece, &mut keep))?;
    parser.finish(&mut keep)?;
    Ok(events)
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Probe")
    }
}
