//! The address of a provider, and the secrets in it: `http://user:password@host/v1?key=…`.
//!
//! Models, logs and errors contain an address as [`shown`] formats it. Only a request uses the full address:
//! [`Address`] splits it, and the secrets are restored where the request is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;

use crate::secret::Secret;

/// The placeholder for a secret. An address that contains it is still valid.
const MASK: &str = "***";

/// Words in the names of parameters whose values are secret.
const SECRET_WORDS: &[&str] =
    &["key", "token", "secret", "pass", "pwd", "auth", "sig", "cred", "code", "jwt"];

/// An address split into its parts. It is split as text, because it need not be a valid URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Without possible secrets; request URLs extend it.
    pub(crate) base_url: String,
    /// The name and password before the host, as written.
    user: Option<Secret>,
    /// The parameters, as written.
    query: Option<Secret>,
}

impl Address {
    /// Splits an address.
    pub(crate) fn new(text: &str) -> Self {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (text, query) =
            text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)));
        let (scheme, rest) = split_scheme(text);
        let host_end = rest.find('/').unwrap_or(rest.len());
        let (user, rest) = match rest[..host_end].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let query = query.filter(|query| !query.is_empty());
        Self {
            base_url: format!("{scheme}{rest}"),
            user: user.map(Secret::new),
            query: query.map(Secret::new),
        }
    }

    /// Returns `url`, which extends the base URL, with its secrets. Must not be shown.
    pub(crate) fn open(&self, url: &str) -> String {
        let (scheme, rest) = split_scheme(url);
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("{}@", user.expose()));
        let joint = if rest.contains('?') { '&' } else { '?' };
        let query =
            self.query.as_ref().map_or_else(String::new, |query| format!("{joint}{}", query.expose()));
        format!("{scheme}{user}{rest}{query}")
    }

    /// Returns the secrets in every form in which a server may repeat them.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let mut found = Vec::new();
        if let Some(user) = &self.user {
            let plain = decoded(user.expose());
            found.push(BASE64.encode(&plain));
            // Without a password, the name is the secret.
            let password =
                |text: &str| text.split_once(':').map_or(text, |(_, password)| password).to_owned();
            found.extend([password(user.expose()), password(&plain), user.expose().to_owned(), plain]);
        }
        for (_, value) in self.query.iter().flat_map(|query| pairs(query.expose())).filter(is_secret) {
            found.extend([value.to_owned(), decoded(value)]);
        }
        // Longest first, so that a secret is not masked partially by one that it contains.
        found.sort_by_key(|text| std::cmp::Reverse(text.len()));
        found.dedup();
        found.into_iter().map(Secret::new).collect()
    }
}

/// Returns an address with its secrets masked.
pub fn shown(text: &str) -> String {
    let (scheme, rest) = split_scheme(text);
    let (user, rest) = match user_end(rest) {
        Some(end) => (format!("{MASK}@"), &rest[end + 1..]),
        None => (String::new(), rest),
    };
    let Some((rest, query)) = rest.split_once('?') else { return format!("{scheme}{user}{rest}") };
    let masked = pairs(query).map(|pair| match pair {
        _ if is_secret(&pair) => format!("{}={MASK}", pair.0),
        (name, "") => name.to_owned(),
        (name, value) => format!("{name}={value}"),
    });
    let query: Vec<String> = masked.collect();
    format!("{scheme}{user}{rest}?{}", query.join("&"))
}

/// Returns the position of the `@` after the name and password. If what looks like a port is not a number, the
/// password contains an unencoded character, and only the last `@` can mark its end.
fn user_end(rest: &str) -> Option<usize> {
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let is_broken = !host.starts_with('[') && !port.bytes().all(|byte| byte.is_ascii_digit());
    host.rfind('@').or_else(|| if is_broken { rest.rfind('@') } else { None })
}

/// Splits an address after its `://`.
fn split_scheme(text: &str) -> (&str, &str) {
    text.split_at(text.find("://").map_or(0, |at| at + 3))
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn is_secret((name, value): &(&str, &str)) -> bool {
    let name = name.to_lowercase();
    !value.is_empty() && SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (text, expected) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("http://user:pass@h:8080/v1", "http://***@h:8080/v1"),
            ("http://token@h", "http://***@h"),
            ("http://a@b:p@ss@h/v1", "http://***@h/v1"),
            ("http://u:p@[::1]:9/v1", "http://***@[::1]:9/v1"),
            ("http://[::1]:9/v1/@x", "http://[::1]:9/v1/@x"),
            ("https://h/@org/v1", "https://h/@org/v1"),
            ("http://h/v1?key=abc&api-version=v1&flag", "http://h/v1?key=***&api-version=v1&flag"),
            ("http://u:p@h?Access_Token=x#y", "http://***@h?Access_Token=***"),
            ("https://h/{ACCOUNT}/v1", "https://h/{ACCOUNT}/v1"),
            // Invalid addresses are repeated in errors.
            ("http://u:p/w@h/v1", "http://***@h/v1"),
            ("http://u:p?w@h/v1", "http://***@h/v1"),
            ("http://u:p#w@h/v1", "http://***@h/v1"),
            ("user:pass@h/v1", "***@h/v1"),
            ("ftp://u:p@h", "ftp://***@h"),
            ("", ""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn full_address_is_restored_for_a_request() {
        let open = |text: &str, path: &str| {
            let address = Address::new(text);
            address.open(&format!("{}{path}", address.base_url))
        };
        assert_eq!(open("http://u:p@h/v1?key=k", "/models"), "http://u:p@h/v1/models?key=k");
        assert_eq!(open("http://h/v1?a=b", "/x?alt=sse"), "http://h/v1/x?alt=sse&a=b");
        assert_eq!(open("http://h/v1", "/models"), "http://h/v1/models");
        assert_eq!(Address::new("http://u:p@h/v1?key=k#f").base_url, "http://h/v1");
    }

    #[test]
    fn secret_repeated_in_another_form_is_masked() {
        let secrets = Address::new("http://user:p%40ssword@h?key=a%2Bb&alt=sse").secrets();
        let texts: Vec<&str> = secrets.iter().map(Secret::expose).collect();
        assert_eq!(
            texts,
            [
                "dXNlcjpwQHNzd29yZA==",
                "user:p%40ssword",
                "user:p@ssword",
                "p%40ssword",
                "p@ssword",
                "a%2Bb",
                "a+b"
            ]
        );
        assert!(!format!("{:?}", Address::new("http://u:secret@h")).contains("secret"));
    }
}
