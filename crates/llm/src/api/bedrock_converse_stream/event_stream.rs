//! Parses Amazon's event stream framing, however it is split.
//!
//! A message consists of its length and the length of its headers (32 bits each, big endian), the CRC of those eight
//! bytes, the headers, the payload, and the CRC of everything before it.

use bowline_core::stream::{FailureKind, StreamError};

/// The largest message in bytes. Amazon's own limit is 16 MiB.
const LARGEST_MESSAGE: usize = 24 * 1024 * 1024;

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// A message with only the headers that matter.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Message<'a> {
    /// `event`, `exception` or `error`.
    pub(super) kind: &'a str,
    /// The name of the event or exception.
    pub(super) name: &'a str,
    /// The text of an error.
    pub(super) text: &'a str,
    pub(super) payload: &'a [u8],
}

/// An incremental parser: bytes in, complete messages out.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// An incomplete message.
    waiting: Vec<u8>,
}

impl Parser {
    /// Parses more bytes and calls `take` with each completed message.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Message<'_>) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        self.waiting.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = whole_length(&self.waiting[start..])? {
            let message = parse(&self.waiting[start..start + length])?;
            take(message)?;
            start += length;
        }
        self.waiting.drain(..start);
        Ok(())
    }
}

/// Returns the length of the first message, if it is complete.
fn whole_length(bytes: &[u8]) -> Result<Option<usize>, StreamError> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    let (length, headers) = (number(prelude), number(&prelude[4..]));
    if checksum(&prelude[..8]) != number(&prelude[8..]) {
        return Err(corrupted("the checksum of a message prelude is wrong"));
    }
    let (length, headers) = (length as usize, headers as usize);
    let possible = (PRELUDE + CHECKSUM..=LARGEST_MESSAGE).contains(&length);
    if !possible || headers > length - PRELUDE - CHECKSUM {
        return Err(corrupted("a message has an impossible length"));
    }
    Ok((bytes.len() >= length).then_some(length))
}

fn parse(bytes: &[u8]) -> Result<Message<'_>, StreamError> {
    let (content, sum) = bytes.split_at(bytes.len() - CHECKSUM);
    if checksum(content) != number(sum) {
        return Err(corrupted("the checksum of a message is wrong"));
    }
    let (headers, payload) = content[PRELUDE..].split_at(number(&bytes[4..]) as usize);
    let mut message = Message { payload, ..Message::default() };
    let mut rest = headers;
    while !rest.is_empty() {
        let (name, value, after) = header(rest).ok_or_else(|| corrupted("a header is incomplete"))?;
        match name {
            b":message-type" => message.kind = value,
            b":event-type" | b":exception-type" | b":error-code" => message.name = value,
            b":error-message" => message.text = value,
            _ => {}
        }
        rest = after;
    }
    Ok(message)
}

/// Splits off the first header: its name, its value if it is a text, and the rest.
fn header(bytes: &[u8]) -> Option<(&[u8], &str, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let (kind, rest) = rest.split_first()?;
    // Booleans are encoded in their type; numbers, times and ids have a fixed size; bytes and texts state theirs.
    let fixed = match kind {
        0 | 1 => 0,
        2 => 1,
        3 => 2,
        4 => 4,
        5 | 8 => 8,
        9 => 16,
        6 | 7 => {
            let (size, rest) = rest.split_at_checked(2)?;
            let size = usize::from(u16::from_be_bytes([size[0], size[1]]));
            let (value, rest) = rest.split_at_checked(size)?;
            let text = if *kind == 7 { std::str::from_utf8(value).ok()? } else { "" };
            return Some((name, text, rest));
        }
        _ => return None,
    };
    Some((name, "", rest.get(fixed..)?))
}

/// Parses the first four bytes, which the caller guarantees.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn corrupted(reason: &str) -> StreamError {
    let message = format!("The provider's stream is corrupted: {reason}. Try again.");
    StreamError::new(FailureKind::Incomplete, message)
}

/// The CRC steps for every byte.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut step = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            step = if step & 1 == 1 { (step >> 1) ^ 0xedb8_8320 } else { step >> 1 };
            bit += 1;
        }
        table[byte] = step;
        byte += 1;
    }
    table
}

/// Returns the CRC-32 of bytes, as in Ethernet and ZIP.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes a message.
    pub(in super::super) fn write(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        let mut block = Vec::new();
        for (name, value) in headers {
            block.push(u8::try_from(name.len()).unwrap());
            block.extend_from_slice(name.as_bytes());
            block.push(7);
            block.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            block.extend_from_slice(value.as_bytes());
        }
        let length = PRELUDE + block.len() + payload.len() + CHECKSUM;
        let mut bytes = u32::try_from(length).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(block.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
        bytes.extend_from_slice(&block);
        bytes.extend_from_slice(payload.as_bytes());
        bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<(String, String, Vec<u8>)>, StreamError> {
        let mut seen = Vec::new();
        Parser::default().feed(bytes, |message| {
            seen.push((message.kind.to_owned(), message.name.to_owned(), message.payload.to_vec()));
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn checksum_is_crc_32() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn message_from_the_documentation_is_parsed() {
        // The test vector "empty message" of Amazon's SDKs.
        let empty = [0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
        assert_eq!(read(&empty).unwrap(), [(String::new(), String::new(), Vec::new())]);
    }

    #[test]
    fn headers_of_all_types_are_skipped() {
        let types: [(u8, usize); 8] = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)];
        for (kind, size) in types {
            let mut bytes = vec![1, b'x', kind];
            bytes.extend(vec![0; size]);
            bytes.push(77);
            assert_eq!(header(&bytes), Some((&b"x"[..], "", &[77][..])), "type {kind}");
        }
        assert_eq!(header(&[1, b'x', 10]), None);
        assert_eq!(header(&[9, b'x']), None);
    }

    #[test]
    fn corruption_is_detected() {
        let good = write(&[(":message-type", "event"), (":event-type", "x")], "{}");
        assert_eq!(read(&good).unwrap(), [("event".to_owned(), "x".to_owned(), b"{}".to_vec())]);
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            assert_eq!(read(&bad).unwrap_err().kind, FailureKind::Incomplete, "at {place}");
        }
        let mut huge = u32::MAX.to_be_bytes().to_vec();
        huge.extend_from_slice(&[0; 4]);
        huge.extend_from_slice(&checksum(&huge).to_be_bytes());
        assert!(read(&huge).is_err());
    }
}
