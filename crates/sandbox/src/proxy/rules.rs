//! Which hosts may be reached: entries `host`, `*.host` and `host:port`.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;

use super::host::{Endpoint, Host, HostError};

/// The ports of an entry that names none.
const WEB_PORTS: [u16; 2] = [443, 80];

/// How many entries there may be: each connection is compared with all of them.
pub const MAX_ENTRIES: usize = 1000;

/// What is wrong with a list of hosts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("\"{0}\" would allow every host; list the hosts one by one, or set the network to \"full\"")]
    Everything(String),
    #[error("\"{0}\" has a '*' that does not stand for all names below a host; write \"*.example.org\"")]
    Wildcard(String),
    #[error("\"{0}\": a wildcard cannot be used with an address; list the address itself, or a name")]
    WildcardAddress(String),
    #[error("\"{0}\" is a URL; write only its host, such as \"example.org\" or \"example.org:8443\"")]
    Url(String),
    #[error(
        "\"{entry}\" is not a host: {error}; write \"example.org\", \"*.example.org\" or \"example.org:8443\""
    )]
    Host { entry: String, error: HostError },
    #[error(
        "there are more than {MAX_ENTRIES} hosts; join some of them to entries such as \"*.example.org\""
    )]
    TooMany,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(Host),
    /// All names below this one, which begins with a dot, but not the host itself.
    Below(String),
}

/// What the rules say about a host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied,
    Unlisted,
}

/// The hosts that may be reached, and those that may never be.
#[derive(Debug, Clone, Default)]
pub struct HostRules {
    allow: Vec<Entry>,
    deny: Vec<Entry>,
}

impl HostRules {
    /// Parses two lists of entries. What is denied is so whatever the other list has; without a port it is denied on all
    /// ports, and what is allowed is so on the ports of the web.
    pub fn parse<Text: AsRef<str>>(allow: &[Text], deny: &[Text]) -> Result<Self, RuleError> {
        let parse = |entries: &[Text]| match entries.len() > MAX_ENTRIES {
            true => Err(RuleError::TooMany),
            false => entries.iter().map(|entry| Entry::parse(entry.as_ref())).collect(),
        };
        Ok(Self { allow: parse(allow)?, deny: parse(deny)? })
    }

    /// Adds an entry to what is allowed.
    pub fn allow(&mut self, entry: &str) -> Result<(), RuleError> {
        let entry = Entry::parse(entry)?;
        if self.allow.contains(&entry) {
            return Ok(());
        }
        if self.allow.len() >= MAX_ENTRIES {
            return Err(RuleError::TooMany);
        }
        self.allow.push(entry);
        Ok(())
    }

    /// Returns the entries that are allowed, as they would be written.
    pub fn allowed(&self) -> Vec<String> {
        self.allow.iter().map(Entry::to_string).collect()
    }

    /// Decides about a host and a port.
    pub fn verdict(&self, endpoint: &Endpoint) -> Verdict {
        if self.denies(endpoint) {
            Verdict::Denied
        } else if self.allows(endpoint) {
            Verdict::Allowed
        } else {
            Verdict::Unlisted
        }
    }

    /// Tells whether an address is an entry itself, so that it may be dialled wherever it is.
    pub fn names_address(&self, address: IpAddr, port: u16) -> bool {
        self.verdict(&Endpoint { host: Host::Address(address.to_canonical()), port }) == Verdict::Allowed
    }

    /// Tells whether an address must not be dialled, whatever name led to it.
    pub fn denies_address(&self, address: IpAddr, port: u16) -> bool {
        self.denies(&Endpoint { host: Host::Address(address.to_canonical()), port })
    }

    fn denies(&self, endpoint: &Endpoint) -> bool {
        let matches = |entry: &Entry| {
            entry.pattern.matches(&endpoint.host) && entry.port.is_none_or(|port| port == endpoint.port)
        };
        self.deny.iter().any(matches)
    }

    fn allows(&self, endpoint: &Endpoint) -> bool {
        let port_matches = |entry: &Entry| match entry.port {
            Some(port) => port == endpoint.port,
            None => WEB_PORTS.contains(&endpoint.port),
        };
        self.allow.iter().any(|entry| entry.pattern.matches(&endpoint.host) && port_matches(entry))
    }
}

impl Entry {
    fn parse(entry: &str) -> Result<Self, RuleError> {
        let (below, host) = match entry.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, entry),
        };
        check_shape(entry, host)?;
        let wrong = |error| RuleError::Host { entry: entry.to_owned(), error };
        let (host, port) = match Endpoint::parse(host, None) {
            Ok(endpoint) => (endpoint.host, Some(endpoint.port)),
            Err(HostError::NoPort) => (Host::parse(host).map_err(wrong)?, None),
            Err(error) => return Err(wrong(error)),
        };
        let pattern = match (below, host) {
            (false, host) => Pattern::Exactly(host),
            (true, Host::Name(name)) => Pattern::Below(format!(".{name}")),
            (true, Host::Address(_)) => return Err(RuleError::WildcardAddress(entry.to_owned())),
        };
        Ok(Self { pattern, port })
    }
}

/// Refuses what looks like an entry of another program, with the remedy.
fn check_shape(entry: &str, host: &str) -> Result<(), RuleError> {
    let everything = host
        .split(':')
        .next()
        .is_some_and(|host| !host.is_empty() && host.trim_matches(['*', '.']).is_empty());
    if everything && entry.contains('*') {
        return Err(RuleError::Everything(entry.to_owned()));
    }
    if host.contains('*') {
        return Err(RuleError::Wildcard(entry.to_owned()));
    }
    if entry.contains('/') {
        return Err(RuleError::Url(entry.to_owned()));
    }
    Ok(())
}

impl Pattern {
    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(pattern), host) => pattern == host,
            (Self::Below(suffix), Host::Name(name)) => {
                name.len() > suffix.len() && name.ends_with(suffix.as_str())
            }
            (Self::Below(_), Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Exactly(host) => host.fmt(formatter)?,
            Pattern::Below(suffix) => write!(formatter, "*{suffix}")?,
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(allow: &[&str], deny: &[&str], endpoint: &str, expected: Verdict) {
        let rules = HostRules::parse(allow, deny).unwrap();
        assert_eq!(rules.verdict(&Endpoint::parse(endpoint, None).unwrap()), expected, "{endpoint}");
    }

    #[test]
    fn entry_without_a_port_is_for_the_web() {
        check(&["example.org"], &[], "example.org:443", Verdict::Allowed);
        check(&["EXAMPLE.org."], &[], "Example.Org.:80", Verdict::Allowed);
        check(&["example.org"], &[], "example.org:22", Verdict::Unlisted);
        check(&["example.org:8443"], &[], "example.org:8443", Verdict::Allowed);
        check(&["example.org:8443"], &[], "example.org:443", Verdict::Unlisted);
    }

    #[test]
    fn wildcard_stands_for_names_below_a_host() {
        check(&["*.example.org"], &[], "a.example.org:443", Verdict::Allowed);
        check(&["*.example.org"], &[], "a.b.example.org:443", Verdict::Allowed);
        check(&["*.example.org"], &[], "example.org:443", Verdict::Unlisted);
        check(&["*.example.org"], &[], "evilexample.org:443", Verdict::Unlisted);
        check(&["*.example.org"], &[], "a.example.org.evil.example:443", Verdict::Unlisted);
        check(&["*.example.org:8080"], &[], "a.example.org:8080", Verdict::Allowed);
    }

    #[test]
    fn deny_wins_on_every_port() {
        check(&["*.example.org"], &["bad.example.org"], "bad.example.org:443", Verdict::Denied);
        check(&["bad.example.org:22"], &["*.example.org"], "bad.example.org:22", Verdict::Denied);
        check(&["*.example.org"], &["bad.example.org:80"], "bad.example.org:443", Verdict::Allowed);
    }

    #[test]
    fn addresses_are_entries_of_their_own() {
        let rules = HostRules::parse(&["10.0.0.5", "[::1]:8080"], &["10.0.0.6"]).unwrap();
        assert!(rules.names_address("10.0.0.5".parse().unwrap(), 443));
        assert!(rules.names_address("::ffff:10.0.0.5".parse().unwrap(), 443));
        assert!(!rules.names_address("10.0.0.5".parse().unwrap(), 22));
        assert!(rules.names_address("::1".parse().unwrap(), 8080));
        assert!(rules.denies_address("10.0.0.6".parse().unwrap(), 22));
    }

    #[test]
    fn bad_entries_are_refused_with_the_remedy() {
        for (entry, words) in [
            ("*", "list the hosts one by one"),
            ("*.*", "list the hosts one by one"),
            ("*:443", "list the hosts one by one"),
            ("a.*.org", "*.example.org"),
            ("*example.org", "*.example.org"),
            ("*.10.0.0.1", "list the address"),
            ("https://example.org/", "only its host"),
            ("example.org/path", "only its host"),
            ("", "the host is empty"),
            ("exämple.org", "punycode"),
            ("127.1", "four decimal numbers"),
            ("example.org:http", "from 1 to 65535"),
            ("me@example.org", "do not belong to a host"),
        ] {
            let error = HostRules::parse(&[entry], &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("\"{entry}\"")) && error.contains(words), "{entry}: {error}");
        }
        assert_eq!(HostRules::parse(&vec!["a.org"; 1001], &[]).unwrap_err(), RuleError::TooMany);
    }

    #[test]
    fn entry_can_be_added_once() {
        let mut rules = HostRules::default();
        rules.allow("Example.org:443").unwrap();
        rules.allow("example.org:443").unwrap();
        assert_eq!(rules.allowed(), ["example.org:443"]);
    }
}
