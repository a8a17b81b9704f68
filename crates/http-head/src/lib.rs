//! The head of an HTTP/1 request. What two programs could read differently is refused: lines end in CR LF, nothing is
//! folded, and where the body ends is said once and clearly.
//!
//! It knows no target and no header by its meaning, apart from the length of the body: what is asked for, and whether that
//! is allowed, is up to whoever serves the request.

use thiserror::Error;

/// How large a head may be.
pub const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
const MAX_METHOD: usize = 32;

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeadError {
    #[error("a line does not end in CR LF")]
    LineEnd,
    #[error("the head is larger than {MAX_HEAD} bytes")]
    TooLarge,
    #[error("there are more than {MAX_HEADERS} headers")]
    TooManyHeaders,
    #[error("the first line is not a method, a target and HTTP/1.0 or HTTP/1.1")]
    RequestLine,
    #[error("the target has characters that a target cannot have")]
    Target,
    #[error("a header is not a name, a colon and a value")]
    Header,
    #[error("a header goes on in the next line")]
    Folded,
    #[error("a header that can only be there once is repeated")]
    Repeated,
    #[error("the length of the body is not clear")]
    Length,
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

/// How far a head has been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Partly,
    /// It ends before this index.
    Wholly(usize),
}

/// Finds the end of a head in what has been received so far.
pub fn received(bytes: &[u8]) -> Result<Received, HeadError> {
    let mut line_start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if index >= MAX_HEAD {
            return Err(HeadError::TooLarge);
        }
        match byte {
            b'\n' if index == 0 || bytes[index - 1] != b'\r' => return Err(HeadError::LineEnd),
            b'\n' if index == line_start + 1 => return Ok(Received::Wholly(index + 1)),
            b'\n' => line_start = index + 1,
            _ if index > 0 && bytes[index - 1] == b'\r' => return Err(HeadError::LineEnd),
            _ => {}
        }
    }
    Ok(Received::Partly)
}

/// A whole head: its first line and its headers.
#[derive(Debug)]
pub struct Head<'head> {
    pub request: RequestLine<'head>,
    pub headers: Headers<'head>,
}

impl<'head> Head<'head> {
    /// Parses a whole head, with the empty line at its end.
    pub fn parse(head: &'head [u8]) -> Result<Self, HeadError> {
        match received(head)? {
            Received::Wholly(end) if end == head.len() => {}
            _ => return Err(HeadError::LineEnd),
        }
        let mut lines = head[..head.len() - 2].split(|byte| *byte == b'\n').map(without_cr);
        let request = RequestLine::parse(lines.next().unwrap_or_default())?;
        let headers = Headers::parse(lines.filter(|line| !line.is_empty()))?;
        Ok(Self { request, headers })
    }

    /// Returns where the body ends.
    pub fn framing(&self) -> Result<Framing, HeadError> {
        self.headers.framing(self.request.version)
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Http10,
    Http11,
}

impl Version {
    /// Returns the version as it is written in a head.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// The first line.
#[derive(Debug)]
pub struct RequestLine<'head> {
    pub method: &'head str,
    pub target: &'head str,
    pub version: Version,
}

impl<'head> RequestLine<'head> {
    fn parse(line: &'head [u8]) -> Result<Self, HeadError> {
        let line = std::str::from_utf8(line).map_err(|_| HeadError::RequestLine)?;
        let mut words = line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(HeadError::RequestLine);
        };
        let version = match version {
            "HTTP/1.0" => Version::Http10,
            "HTTP/1.1" => Version::Http11,
            _ => return Err(HeadError::RequestLine),
        };
        let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'));
        if method.is_empty() || method.len() > MAX_METHOD || !is_method || target.is_empty() {
            return Err(HeadError::RequestLine);
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(HeadError::Target);
        }
        Ok(Self { method, target, version })
    }
}

/// The headers, in order.
#[derive(Debug)]
pub struct Headers<'head> {
    list: Vec<(&'head str, &'head [u8])>,
}

impl<'head> Headers<'head> {
    fn parse(lines: impl Iterator<Item = &'head [u8]>) -> Result<Self, HeadError> {
        let mut list = Vec::new();
        for line in lines {
            if list.len() == MAX_HEADERS {
                return Err(HeadError::TooManyHeaders);
            }
            list.push(parse_header(line)?);
        }
        Ok(Self { list })
    }

    /// Returns the values of a header, whatever the case of its name.
    pub fn values<'name>(&'name self, wanted: &'name str) -> impl Iterator<Item = &'head [u8]> + 'name {
        self.list.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
    }

    /// Returns the only value of a header as text.
    pub fn only(&self, name: &str) -> Result<Option<&'head str>, HeadError> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => std::str::from_utf8(value).map(Some).map_err(|_| HeadError::Header),
            (Some(_), Some(_)) => Err(HeadError::Repeated),
        }
    }

    /// Returns every header with its name as it is written.
    pub fn iter(&self) -> impl Iterator<Item = (&'head str, &'head [u8])> {
        self.list.iter().copied()
    }

    /// Returns where the body ends.
    fn framing(&self, version: Version) -> Result<Framing, HeadError> {
        let repeated = |error| if error == HeadError::Repeated { HeadError::Length } else { error };
        let length = self.only("content-length").map_err(repeated)?;
        let coding = self.only("transfer-encoding").map_err(repeated)?;
        match (length, coding) {
            (None, None) => Ok(Framing::Length(0)),
            (Some(length), None) => {
                let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
                length.parse().ok().filter(|_| digits).map(Framing::Length).ok_or(HeadError::Length)
            }
            (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") && version == Version::Http11 => {
                Ok(Framing::Chunked)
            }
            _ => Err(HeadError::Length),
        }
    }
}

fn parse_header(line: &[u8]) -> Result<(&str, &[u8]), HeadError> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(HeadError::Folded);
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or(HeadError::Header)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let name = std::str::from_utf8(name).map_err(|_| HeadError::Header)?;
    let is_text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    if name.is_empty() || !name.bytes().all(is_name_byte) || !value.iter().all(is_text) {
        return Err(HeadError::Header);
    }
    Ok((name, value.trim_ascii()))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn head_is_read_as_it_is_written() {
        let head = Head::parse(b"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n").unwrap();
        assert_eq!((head.request.method, head.request.target), ("POST", "/a?b"));
        assert_eq!(head.headers.only("HOST"), Ok(Some("x")));
        assert_eq!(head.framing(), Ok(Framing::Length(3)));
        assert_eq!(head.headers.iter().count(), 2);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let check = |head: &str, expected| {
            let head = format!("{head}\r\n\r\n");
            let framing = Head::parse(head.as_bytes()).and_then(|head| head.framing());
            assert_eq!(framing, Err(expected), "{head:?}");
        };
        check("GET / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3", HeadError::Length);
        check("GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", HeadError::Length);
        check("GET / HTTP/1.1\r\nX: a\n b", HeadError::LineEnd);
        check("GET / HTTP/1.1\r\nX: a\r\n b", HeadError::Folded);
        check("GET /\u{e4} HTTP/1.1", HeadError::Target);
        check("GET  / HTTP/1.1", HeadError::RequestLine);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Head::parse(&bytes).and_then(|head| head.framing());
        }
    }
}
