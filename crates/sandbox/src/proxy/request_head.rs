//! The head of a request to the proxy. What two programs could read differently is refused, because the host that is
//! checked here must be the host that is spoken to.

use std::borrow::Cow;

use thiserror::Error;

use super::body::Framing;
use super::host::{Endpoint, Host, HostError};

/// How large a head may be.
pub const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
const MAX_METHOD: usize = 32;

/// Headers that are meant for the proxy, or for one connection. The framing of the body is not among them: it is checked
/// and stays.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Headers that a client may not have dropped by naming them in `Connection`.
const KEPT: &[&str] = &["host", "content-length", "transfer-encoding"];

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
    #[error(
        "this is a proxy: it takes CONNECT host:port and requests with a whole address, such as GET http://example.org/"
    )]
    OriginForm,
    #[error("only http:// can be forwarded; for https:// use CONNECT")]
    Scheme,
    #[error("the path has characters that a path cannot have")]
    Path,
    #[error("the target has no valid host: {0}")]
    Host(#[from] HostError),
    #[error("a header is not a name, a colon and a value")]
    Header,
    #[error("a header goes on in the next line")]
    Folded,
    #[error("there is more than one Host header")]
    TwoHosts,
    #[error("the Host header names another host than the target")]
    OtherHost,
    #[error("the length of the body is not clear")]
    Length,
    #[error("a Connection header names a header that may not be dropped")]
    Connection,
    #[error("CONNECT has no body")]
    TunnelBody,
}

/// How far a head has been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Partly,
    /// It ends before this index.
    Wholly(usize),
}

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestHead {
    pub endpoint: Endpoint,
    pub kind: RequestKind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `CONNECT`: bytes go to and fro.
    Tunnel,
    /// One request, whose head for the server this is.
    Forward { head: Vec<u8>, body: Framing },
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

impl RequestHead {
    /// Parses a whole head, with the empty line at its end.
    pub fn parse(head: &[u8]) -> Result<Self, HeadError> {
        match received(head)? {
            Received::Wholly(end) if end == head.len() => {}
            _ => return Err(HeadError::LineEnd),
        }
        let mut lines = head[..head.len() - 2].split(|byte| *byte == b'\n').map(without_cr);
        let request = RequestLine::parse(lines.next().unwrap_or_default())?;
        let headers = Headers::parse(lines.filter(|line| !line.is_empty()))?;
        match request.method {
            "CONNECT" => tunnel(&request, &headers),
            _ => forward(&request, &headers),
        }
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn tunnel(request: &RequestLine<'_>, headers: &Headers<'_>) -> Result<RequestHead, HeadError> {
    let endpoint = Endpoint::parse(request.target, None)?;
    if let Some(host) = headers.host()? {
        let named = Endpoint::parse(host, Some(endpoint.port)).map_err(|_| HeadError::OtherHost)?;
        // Some clients leave the port out.
        let same_port = named.port == endpoint.port || Host::parse(host).is_ok();
        if named.host != endpoint.host || !same_port {
            return Err(HeadError::OtherHost);
        }
    }
    match headers.framing(request.version)? {
        Framing::Length(0) => Ok(RequestHead { endpoint, kind: RequestKind::Tunnel }),
        _ => Err(HeadError::TunnelBody),
    }
}

fn forward(request: &RequestLine<'_>, headers: &Headers<'_>) -> Result<RequestHead, HeadError> {
    let (endpoint, path) = split_target(request.target)?;
    if let Some(host) = headers.host()?
        && Endpoint::parse(host, Some(80)).ok().as_ref() != Some(&endpoint)
    {
        return Err(HeadError::OtherHost);
    }
    let body = headers.framing(request.version)?;
    let dropped = headers.dropped()?;
    let host = match endpoint.port {
        80 => endpoint.host.to_string(),
        _ => endpoint.to_string(),
    };
    let mut head =
        format!("{} {path} {}\r\nHost: {host}\r\n", request.method, request.version.as_str()).into_bytes();
    for (name, value) in &headers.list {
        if !dropped.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(RequestHead { endpoint, kind: RequestKind::Forward { head, body } })
}

/// Splits `http://host/path` into what is dialled and what the server is asked for.
fn split_target(target: &str) -> Result<(Endpoint, Cow<'_, str>), HeadError> {
    let (scheme, rest) = target.split_once("://").ok_or(HeadError::OriginForm)?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(if scheme.starts_with('/') { HeadError::OriginForm } else { HeadError::Scheme });
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if path.contains('#') {
        return Err(HeadError::Path);
    }
    let path = if path.starts_with('/') { Cow::Borrowed(path) } else { Cow::Owned(format!("/{path}")) };
    Ok((Endpoint::parse(authority, Some(80))?, path))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

impl Version {
    fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

struct RequestLine<'head> {
    method: &'head str,
    target: &'head str,
    version: Version,
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
            return Err(HeadError::Path);
        }
        Ok(Self { method, target, version })
    }
}

struct Headers<'head> {
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

    fn values<'name>(&'name self, wanted: &'name str) -> impl Iterator<Item = &'head [u8]> + 'name {
        self.list.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
    }

    /// Returns the only value of a header as text.
    fn only(&self, name: &str, repeated: HeadError) -> Result<Option<&'head str>, HeadError> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => std::str::from_utf8(value).map(Some).map_err(|_| HeadError::Header),
            (Some(_), Some(_)) => Err(repeated),
        }
    }

    fn host(&self) -> Result<Option<&'head str>, HeadError> {
        self.only("host", HeadError::TwoHosts)
    }

    /// Returns where the body ends.
    fn framing(&self, version: Version) -> Result<Framing, HeadError> {
        let length = self.only("content-length", HeadError::Length)?;
        let coding = self.only("transfer-encoding", HeadError::Length)?;
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

    /// Returns the names of the headers that the server does not get.
    fn dropped(&self) -> Result<Vec<&'head str>, HeadError> {
        let mut names = HOP_BY_HOP.to_vec();
        for header in ["connection", "proxy-connection"] {
            for value in self.values(header) {
                let value = std::str::from_utf8(value).map_err(|_| HeadError::Header)?;
                names.extend(value.split(',').map(|name| name.trim_matches([' ', '\t'])));
            }
        }
        let forbidden = |name: &&str| KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name));
        match names[HOP_BY_HOP.len()..].iter().any(forbidden) {
            true => Err(HeadError::Connection),
            false => Ok(names),
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

/// Checks what must hold of any bytes. It is what is fuzzed.
#[doc(hidden)]
pub fn check_any_bytes(bytes: &[u8]) {
    let Ok(Received::Wholly(end)) = received(bytes) else {
        assert!(RequestHead::parse(bytes).is_err());
        return;
    };
    let Ok(parsed) = RequestHead::parse(&bytes[..end]) else { return };
    let shown = parsed.endpoint.to_string();
    assert_eq!(Endpoint::parse(&shown, None).as_ref(), Ok(&parsed.endpoint));
    let RequestKind::Forward { head, body } = parsed.kind else { return };
    assert_eq!(received(&head), Ok(Received::Wholly(head.len())));
    // The server must find the same target and the same body as the proxy did: sent to the proxy again with its whole
    // address, the head that was made says the same.
    let text = String::from_utf8_lossy(&head);
    let (method, rest) = text.split_once(' ').unwrap_or_default();
    assert!(rest.starts_with('/'), "{text:?}");
    let again = [method.as_bytes(), b" http://", shown.as_bytes(), &head[method.len() + 1..]].concat();
    if again.len() <= MAX_HEAD {
        let again = RequestHead::parse(&again);
        let expected = RequestHead { endpoint: parsed.endpoint, kind: RequestKind::Forward { head, body } };
        assert!(again == Ok(expected) || again == Err(HeadError::TooManyHeaders), "{again:?}");
    }
}

#[cfg(test)]
#[path = "request_head_tests.rs"]
mod tests;
