//! The head of a request to the proxy. What two programs could read differently is refused, because the host that is
//! checked here must be the host that is spoken to.

use std::borrow::Cow;

use bowline_http_head::{Framing, Head, Headers};
pub use bowline_http_head::{HeadError as Malformed, MAX_HEAD, Received, received};
use thiserror::Error;

use super::host::{Endpoint, Host, HostError};

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
    #[error(transparent)]
    Malformed(#[from] Malformed),
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
    #[error("the Host header names another host than the target")]
    OtherHost,
    #[error("a Connection header names a header that may not be dropped")]
    Connection,
    #[error("CONNECT has no body")]
    TunnelBody,
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

impl RequestHead {
    /// Parses a whole head, with the empty line at its end.
    pub fn parse(head: &[u8]) -> Result<Self, HeadError> {
        let head = Head::parse(head)?;
        match head.request.method {
            "CONNECT" => tunnel(&head),
            _ => forward(&head),
        }
    }
}

fn tunnel(received: &Head<'_>) -> Result<RequestHead, HeadError> {
    let endpoint = Endpoint::parse(received.request.target, None)?;
    if let Some(host) = received.headers.only("host")? {
        let named = Endpoint::parse(host, Some(endpoint.port)).map_err(|_| HeadError::OtherHost)?;
        // Some clients leave the port out.
        let same_port = named.port == endpoint.port || Host::parse(host).is_ok();
        if named.host != endpoint.host || !same_port {
            return Err(HeadError::OtherHost);
        }
    }
    match received.framing()? {
        Framing::Length(0) => Ok(RequestHead { endpoint, kind: RequestKind::Tunnel }),
        _ => Err(HeadError::TunnelBody),
    }
}

fn forward(received: &Head<'_>) -> Result<RequestHead, HeadError> {
    let request = &received.request;
    let (endpoint, path) = split_target(request.target)?;
    if let Some(host) = received.headers.only("host")?
        && Endpoint::parse(host, Some(80)).ok().as_ref() != Some(&endpoint)
    {
        return Err(HeadError::OtherHost);
    }
    let body = received.framing()?;
    let dropped = dropped(&received.headers)?;
    let host = match endpoint.port {
        80 => endpoint.host.to_string(),
        _ => endpoint.to_string(),
    };
    let mut head =
        format!("{} {path} {}\r\nHost: {host}\r\n", request.method, request.version.as_str()).into_bytes();
    for (name, value) in received.headers.iter() {
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

/// Returns the names of the headers that the server does not get.
fn dropped<'head>(headers: &Headers<'head>) -> Result<Vec<&'head str>, HeadError> {
    let mut names = HOP_BY_HOP.to_vec();
    for header in ["connection", "proxy-connection"] {
        for value in headers.values(header) {
            let value = std::str::from_utf8(value).map_err(|_| Malformed::Header)?;
            names.extend(value.split(',').map(|name| name.trim_matches([' ', '\t'])));
        }
    }
    let forbidden = |name: &&str| KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name));
    match names[HOP_BY_HOP.len()..].iter().any(forbidden) {
        true => Err(HeadError::Connection),
        false => Ok(names),
    }
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
        assert!(
            again == Ok(expected) || again == Err(HeadError::Malformed(Malformed::TooManyHeaders)),
            "{again:?}"
        );
    }
}

#[cfg(test)]
#[path = "request_head_tests.rs"]
mod tests;
