//! The one parser of hosts and ports. Rules, requests, questions and the resolver all see what it returns, so no two of
//! them can read a name differently.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// The longest name that DNS can carry.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A host: a name in lower case without a final dot, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    Name(String),
    /// An address. One that IPv6 only maps from IPv4 is the IPv4 address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub host: Host,
    pub port: u16,
}

/// Why a text is not a host, or not a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostError {
    #[error("the host is empty")]
    Empty,
    #[error("the host is longer than {MAX_NAME} characters")]
    TooLong,
    #[error("the host has a part that is empty or longer than {MAX_LABEL} characters")]
    Label,
    #[error(
        "only ASCII letters, digits, '-', '_' and '.' make up a host; write other letters in punycode (xn--…)"
    )]
    Character,
    #[error("a part of the host begins or ends with '-'")]
    Hyphen,
    #[error("user names and passwords do not belong to a host")]
    UserInfo,
    #[error("the address is not in the usual form: four decimal numbers, such as 192.0.2.1")]
    OddAddress,
    #[error("an IPv6 address belongs in brackets, such as [2001:db8::1], and has no zone")]
    Brackets,
    #[error("the port is missing")]
    NoPort,
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl Host {
    /// Parses a host without a port. IPv6 addresses are in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        match split_port(text)? {
            (host, None) => Self::parse_alone(host),
            (_, Some(_)) => Err(HostError::Character),
        }
    }

    fn parse_alone(text: &str) -> Result<Self, HostError> {
        if text.contains('@') {
            return Err(HostError::UserInfo);
        }
        match text.strip_prefix('[') {
            Some(rest) => parse_ipv6(rest.strip_suffix(']').ok_or(HostError::Brackets)?),
            None => parse_name_or_ipv4(text),
        }
    }
}

impl Endpoint {
    /// Parses `host:port`; without a port, the default one is used if there is one.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        let host = Host::parse_alone(host)?;
        let port = match port {
            Some(port) => parse_port(port)?,
            None => default_port.ok_or(HostError::NoPort)?,
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// Splits a port off, and leaves the brackets of an address alone.
fn split_port(text: &str) -> Result<(&str, Option<&str>), HostError> {
    if text.contains('@') {
        return Err(HostError::UserInfo);
    }
    if text.starts_with('[') {
        let end = text.find(']').ok_or(HostError::Brackets)?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(HostError::Brackets),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, port)) if port.contains(':') => Err(HostError::Brackets),
        Some((host, port)) => Ok((host, Some(port))),
    }
}

fn parse_port(text: &str) -> Result<u16, HostError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).ok_or(HostError::Port)
}

fn parse_ipv6(text: &str) -> Result<Host, HostError> {
    let address: Ipv6Addr = text.parse().map_err(|_| HostError::Brackets)?;
    Ok(Host::Address(IpAddr::V6(address).to_canonical()))
}

fn parse_name_or_ipv4(text: &str) -> Result<Host, HostError> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        check_label(label)?;
    }
    // Resolvers take anything whose last part is a number for an address, in forms that only they know.
    if name.rsplit('.').next().is_some_and(looks_like_number) {
        let address: Ipv4Addr = text.parse().map_err(|_| HostError::OddAddress)?;
        return Ok(Host::Address(IpAddr::V4(address)));
    }
    Ok(Host::Name(name.to_ascii_lowercase()))
}

fn check_label(label: &str) -> Result<(), HostError> {
    if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return Err(HostError::Character);
    }
    if label.is_empty() || label.len() > MAX_LABEL {
        return Err(HostError::Label);
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(HostError::Hyphen);
    }
    Ok(())
}

fn looks_like_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match Endpoint::parse(text, Some(443)) {
            Ok(endpoint) => endpoint.to_string(),
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn names_are_lower_case_without_a_final_dot() {
        check("Example.ORG", "example.org:443");
        check("example.org.", "example.org:443");
        check("example.org.:8080", "example.org:8080");
        check("xn--bcher-kva.example", "xn--bcher-kva.example:443");
        check("_service.example", "_service.example:443");
        check("localhost", "localhost:443");
    }

    #[test]
    fn what_resolvers_might_read_differently_is_refused() {
        check("", "Empty");
        check(".", "Empty");
        check("..", "Label");
        check("example..org", "Label");
        check("example.org..", "Label");
        check(".example.org", "Label");
        check("evil.example\0.example.org", "Character");
        check("example.org\r\n", "Character");
        check("example.org\t", "Character");
        check(" example.org", "Character");
        check("ex%61mple.org", "Character");
        check("example.org/", "Character");
        check("example.org\\evil", "Character");
        check("example.org#x", "Character");
        check("bücher.example", "Character");
        check("example。org", "Character");
        check("user@example.org", "UserInfo");
        check("user:secret@example.org:443", "UserInfo");
        check("-example.org", "Hyphen");
        check(&format!("{}.org", "a".repeat(64)), "Label");
        check(&"a.".repeat(150), "TooLong");
    }

    #[test]
    fn addresses_have_one_form() {
        check("192.0.2.1", "192.0.2.1:443");
        check("[2001:DB8:0:0::1]:8443", "[2001:db8::1]:8443");
        check("[::ffff:169.254.169.254]", "169.254.169.254:443");
        check("[::ffff:a9fe:a9fe]", "169.254.169.254:443");
    }

    #[test]
    fn odd_forms_of_addresses_are_refused() {
        for odd in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "127.0.0.1.",
            "127.0.0.0x1",
            "127.0.0.01",
            "1.2.3.4.5",
            "256.0.0.1",
            "example.1",
            "0x",
            "169.254.43518",
        ] {
            check(odd, "OddAddress");
        }
        for odd in [
            "::1",
            "[::1%25eth0]",
            "[fe80::1%eth0]:443",
            "[::1",
            "[::1]x",
            "[]",
            "[127.0.0.1]",
            "[example.org]",
        ] {
            check(odd, "Brackets");
        }
    }

    #[test]
    fn ports_are_plain_numbers() {
        for odd in ["0", "", "65536", "+443", "0443", "443 ", "4 3", "٤٤٣", "99999999999", "-1"] {
            check(&format!("example.org:{odd}"), "Port");
        }
        assert_eq!(Endpoint::parse("example.org", None), Err(HostError::NoPort));
        assert_eq!(Host::parse("example.org:443"), Err(HostError::Character));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_and_what_is_accepted_stays(text in "\\PC{0,40}|[a-zA-Z0-9.:\\[\\]x%@_-]{0,40}") {
            if let Ok(endpoint) = Endpoint::parse(&text, Some(80)) {
                let shown = endpoint.to_string();
                prop_assert!(shown.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()));
                prop_assert_eq!(Endpoint::parse(&shown, None), Ok(endpoint));
            }
        }

        #[test]
        fn ordinary_names_are_accepted(name in "[a-z][a-z0-9]{0,20}(\\.[a-z][a-z0-9]{0,20}){0,4}", port in 1u16..) {
            let endpoint = Endpoint::parse(&format!("{name}:{port}"), None);
            prop_assert_eq!(endpoint, Ok(Endpoint { host: Host::Name(name), port }));
        }

        #[test]
        fn every_address_is_accepted_in_its_usual_form(bits: u128) {
            let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
            let endpoint = Endpoint::parse(&format!("[{address}]"), Some(443)).unwrap();
            prop_assert_eq!(endpoint.host, Host::Address(address.to_canonical()));
        }
    }
}
