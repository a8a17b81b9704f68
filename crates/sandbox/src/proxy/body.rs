//! Where the body of a request ends. The server gets the body and nothing after it: a second request on the same
//! connection could name another host.

use bowline_http_head::Framing;
use thiserror::Error;

/// The chunks of a body are not as they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the body is not in proper chunks")]
pub struct BadChunks;

/// How long the line before a chunk, or a line after the last one, may be.
const MAX_LINE: usize = 4096;
/// How many bytes of lines there may be after the last chunk.
const MAX_TRAILER: usize = 16 * 1024;

/// Finds the end of a body as its bytes come in.
#[derive(Debug)]
pub struct BodyEnd {
    state: State,
    trailer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes of a body without chunks are left.
    Plain(u64),
    /// The size of a chunk, as far as it is known, and the length of its line.
    Size {
        size: u64,
        digits: usize,
    },
    /// What may follow the size.
    Extension {
        size: u64,
        length: usize,
    },
    SizeLineFeed(u64),
    Data(u64),
    DataReturn,
    DataLineFeed,
    /// A line after the last chunk, of which so many bytes are known.
    Trailer(usize),
    TrailerLineFeed(usize),
    End,
}

impl BodyEnd {
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::End,
            Framing::Length(length) => State::Plain(length),
            Framing::Chunked => State::Size { size: 0, digits: 0 },
        };
        Self { state, trailer: 0 }
    }

    pub fn is_reached(&self) -> bool {
        self.state == State::End
    }

    /// Takes the next bytes and returns how many of them belong to the body.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunks> {
        let mut taken = 0;
        while taken < bytes.len() && self.state != State::End {
            let left = (bytes.len() - taken) as u64;
            match self.state {
                State::Plain(length) | State::Data(length) => {
                    let step = length.min(left);
                    taken += step as usize;
                    self.state = self.after_data(length - step);
                }
                _ => {
                    self.state = self.step(bytes[taken])?;
                    taken += 1;
                }
            }
        }
        Ok(taken)
    }

    fn after_data(&self, left: u64) -> State {
        match (self.state, left) {
            (State::Plain(_), 0) => State::End,
            (State::Plain(_), left) => State::Plain(left),
            (_, 0) => State::DataReturn,
            (_, left) => State::Data(left),
        }
    }

    fn step(&mut self, byte: u8) -> Result<State, BadChunks> {
        match (self.state, byte) {
            (State::Size { size, digits }, _) if byte.is_ascii_hexdigit() => {
                // 15 digits cannot overflow.
                let digit = char::from(byte).to_digit(16).ok_or(BadChunks)?;
                if digits == 15 {
                    return Err(BadChunks);
                }
                Ok(State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 })
            }
            (State::Size { digits: 0, .. }, _) => Err(BadChunks),
            (State::Size { size, .. } | State::Extension { size, .. }, b'\r') => {
                Ok(State::SizeLineFeed(size))
            }
            (State::Size { size, .. }, b';') => Ok(State::Extension { size, length: 1 }),
            (State::Extension { size, length }, b'\t' | b' '..=b'~') if length < MAX_LINE => {
                Ok(State::Extension { size, length: length + 1 })
            }
            (State::SizeLineFeed(0), b'\n') => Ok(State::Trailer(0)),
            (State::SizeLineFeed(size), b'\n') => Ok(State::Data(size)),
            (State::DataReturn, b'\r') => Ok(State::DataLineFeed),
            (State::DataLineFeed, b'\n') => Ok(State::Size { size: 0, digits: 0 }),
            (State::Trailer(length), b'\r') => Ok(State::TrailerLineFeed(length)),
            (State::Trailer(length), _)
                if byte != b'\n' && length < MAX_LINE && self.trailer < MAX_TRAILER =>
            {
                self.trailer += 1;
                Ok(State::Trailer(length + 1))
            }
            (State::TrailerLineFeed(0), b'\n') => Ok(State::End),
            (State::TrailerLineFeed(_), b'\n') => Ok(State::Trailer(0)),
            _ => Err(BadChunks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns how many bytes of the text are the body, or nothing if it does not end in it.
    fn end(framing: Framing, text: &[u8], step: usize) -> Result<Option<usize>, BadChunks> {
        let mut body = BodyEnd::new(framing);
        let mut taken = 0;
        for piece in text.chunks(step.max(1)) {
            taken += body.take(piece)?;
            if body.is_reached() {
                return Ok(Some(taken));
            }
        }
        Ok(body.is_reached().then_some(taken))
    }

    #[track_caller]
    fn check_chunks(text: &str, expected: Result<Option<usize>, BadChunks>) {
        for step in [1, 2, 7, 1000] {
            assert_eq!(end(Framing::Chunked, text.as_bytes(), step), expected, "{text:?} by {step}");
        }
    }

    #[test]
    fn plain_body_ends_after_its_length() {
        assert_eq!(end(Framing::Length(0), b"GET", 10), Ok(Some(0)));
        assert_eq!(end(Framing::Length(3), b"abcGET", 2), Ok(Some(3)));
        assert_eq!(end(Framing::Length(10), b"abc", 2), Ok(None));
    }

    #[test]
    fn chunks_end_after_the_empty_one() {
        check_chunks("3\r\nabc\r\n0\r\n\r\nGET http://", Ok(Some(13)));
        check_chunks("A;name=value\r\n0123456789\r\n0\r\nX: y\r\n\r\nrest", Ok(Some(37)));
        check_chunks("3\r\nabc\r\n0\r\n", Ok(None));
    }

    #[test]
    fn bad_chunks_are_refused() {
        for text in [
            "\r\n",
            "x",
            "3\nabc",
            "-1\r\n",
            " 3\r\n",
            "3 \r\n",
            "3\r\nabcd",
            "3\r\nabc\n",
            "0\r\n\n",
            "3;\0\r\n",
            "ffffffffffffffff\r\n",
        ] {
            check_chunks(text, Err(BadChunks));
        }
        check_chunks(&format!("3;{}", "a".repeat(5000)), Err(BadChunks));
        check_chunks(&format!("0\r\n{}", "abc\r\n".repeat(10_000)), Err(BadChunks));
    }

    proptest! {
        #[test]
        fn end_does_not_depend_on_how_bytes_arrive(text in "[0-9a-f\\r\\n;]{0,40}", step in 1usize..9) {
            let whole = end(Framing::Chunked, text.as_bytes(), 1000);
            prop_assert_eq!(end(Framing::Chunked, text.as_bytes(), step), whole);
        }
    }
}
