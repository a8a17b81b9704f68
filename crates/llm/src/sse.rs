//! Parses server-sent events, however they are split. Only the data of an event matters here: no provider puts
//! anything into the other fields that the data does not repeat.

use bowline_core::stream::{FailureKind, StreamError};

use crate::limits::{EVENT_BYTES, exceeded, mebibytes};
use crate::lone_surrogates;

/// An incremental parser: bytes in, the data of complete events out.
#[derive(Debug)]
pub(crate) struct Parser {
    /// An incomplete line.
    line: Vec<u8>,
    /// The data lines of the event so far, joined by line feeds.
    data: Vec<u8>,
    has_data: bool,
    /// Set after a carriage return: a following line feed belongs to it.
    after_return: bool,
    at_start: bool,
    largest: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            at_start: true,
            largest: EVENT_BYTES,
        }
    }
}

impl Parser {
    /// Parses more bytes and calls `event` with the data of each completed event.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut event: impl FnMut(&[u8]) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.check_size(bytes.len())?;
                self.line.extend_from_slice(bytes);
                break;
            };
            self.check_size(end)?;
            self.after_return = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], &mut event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, &mut event)?;
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Ends the input. An event without its closing blank line is still complete: some servers close right after their
    /// last line.
    pub(crate) fn finish(
        &mut self,
        mut event: impl FnMut(&[u8]) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut event)?;
        }
        self.end_line(b"", &mut event)
    }

    fn end_line(
        &mut self,
        mut line: &[u8],
        event: &mut impl FnMut(&[u8]) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            if !std::mem::take(&mut self.has_data) {
                return Ok(());
            }
            let outcome = match event(&self.data) {
                // Data that cannot be read may only have half of a character.
                Err(error) if error.kind == FailureKind::Protocol => {
                    lone_surrogates::replaced(&self.data).map_or(Err(error), |repaired| event(&repaired))
                }
                outcome => outcome,
            };
            self.data.clear();
            return outcome;
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return Ok(()),
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn check_size(&self, more: usize) -> Result<(), StreamError> {
        if self.line.len() + self.data.len() + more <= self.largest { Ok(()) } else { Err(self.too_large()) }
    }

    #[cold]
    fn too_large(&self) -> StreamError {
        exceeded(&format!("an event of more than {}", mebibytes(self.largest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        let mut keep = |data: &[u8]| {
            events.push(String::from_utf8_lossy(data).into_owned());
            Ok(())
        };
        for piece in pieces {
            parser.feed(piece, &mut keep).unwrap();
        }
        parser.finish(&mut keep).unwrap();
        events
    }

    #[test]
    fn all_line_endings_comments_and_fields_are_understood() {
        let text = "\u{feff}: hello\nevent: a\ndata: one\ndata:two\n\ndata: three\r\ndata\r\n\r\nid: 7\r\rdata: fo\u{fc}r\r\rdatum: no\n\n\ndata: end";
        assert_eq!(parse(&[text.as_bytes()]), ["one\ntwo", "three\n", "foür", "end"]);
    }

    #[test]
    fn oversized_event_is_an_error() {
        let mut parser = Parser { largest: 10, ..Parser::default() };
        assert!(parser.feed(b"data: 123\n\n", |_| Ok(())).is_ok());
        assert!(parser.feed(b"data: 12345", |_| Ok(())).is_err());
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_chunks(
            lines in prop::collection::vec("(data: ?[a-zé]{0,5}|:[a-z]{0,3}|)(\r\n|\n|\r)", 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = lines.concat().into_bytes();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&pieces), parse(&[&bytes]));
        }
    }
}
