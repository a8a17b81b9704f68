//! Masks credentials before anything is kept: those that are known, and what looks like one.
//!
//! A secret that arrives in pieces, as in the deltas of an answer, is not recognised.

use std::fmt;
use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;

/// What takes the place of a secret.
const MASK: &str = "[redacted]";

/// Where something that looks like a credential is: the first group, or the whole match.
const SHAPES: &[&str] = &[
    // A member of an object, also of one that is a text within JSON.
    r#"(?i)"(?:[a-z0-9_-]*api[_-]?key|(?:access|refresh|id|auth|bearer|session|bot)[_-]?token|token|(?:client[_-]?)?secret|password|passwd|passphrase|(?:proxy-)?authorization|(?:set-)?cookie|private[_-]?key)\\*"\s*:\s*\\*"([^"\\]{4,})"#,
    r"(?i-u:\b)(?i:bearer|basic)\s+([A-Za-z0-9_\-./+=~]{16,})",
    r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)(?:-----END|$)",
    r#"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@"\\]*:([^/\s@"\\]+)@"#,
];

/// What is masked.
#[derive(Clone)]
pub struct Masking {
    known: Arc<dyn Fn(String) -> String + Send + Sync>,
    shapes: Option<Regex>,
}

impl Masking {
    /// Returns what masks known secrets, by `known`, and texts that look like credentials. `prefixes` are what keys begin
    /// with, each with the length that a key has at least.
    pub fn new(known: impl Fn(String) -> String + Send + Sync + 'static, prefixes: &[(&str, usize)]) -> Self {
        let of_prefix = |(prefix, least): &(&str, usize)| {
            let rest = least.saturating_sub(prefix.len());
            let prefix = prefix.replace('.', r"\.");
            format!(r"(?-u:\b){prefix}[A-Za-z0-9_\-./+=]{{{rest},}}")
        };
        let patterns: Vec<String> =
            SHAPES.iter().map(|shape| (*shape).to_owned()).chain(prefixes.iter().map(of_prefix)).collect();
        Self { known: Arc::new(known), shapes: Regex::new_many(&patterns).ok() }
    }

    /// Returns a text with its credentials masked.
    pub(crate) fn mask(&self, text: String) -> String {
        let text = (self.known)(text);
        let Some(shapes) = self.shapes.as_ref().filter(|shapes| shapes.is_match(&text)) else { return text };
        let mut masked = String::with_capacity(text.len());
        let mut rest = 0;
        for found in shapes.captures_iter(&text) {
            let Some(span) = secret_span(&found).filter(|span| span.0 >= rest) else { continue };
            masked.push_str(&text[rest..span.0]);
            masked.push_str(MASK);
            rest = span.1;
        }
        masked.push_str(&text[rest..]);
        masked
    }
}

fn secret_span(found: &Captures) -> Option<(usize, usize)> {
    let span = found.get_group(1).or_else(|| found.get_group(0))?;
    Some((span.start, span.end))
}

impl fmt::Debug for Masking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[masking]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let masking = Masking::new(|text| text.replace("hunter22", MASK), &[("sk-", 20), ("SG.", 20)]);
        assert!(masking.shapes.is_some());
        assert_eq!(masking.mask(text.to_owned()), expected);
    }

    #[test]
    fn credentials_are_masked_and_their_surroundings_stay() {
        check("it is hunter22.", "it is [redacted].");
        check(r#"{"apiKey":"abcd1234","n":1}"#, r#"{"apiKey":"[redacted]","n":1}"#);
        check(r#"{"ANTHROPIC_API_KEY": "abcd1234"}"#, r#"{"ANTHROPIC_API_KEY": "[redacted]"}"#);
        check(r#"{"text":"{\"password\": \"abcd\"}"}"#, r#"{"text":"{\"password\": \"[redacted]\"}"}"#);
        check("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [redacted]");
        check("key sk-abcdefghijklmnopqrst, SG.abcdefghijklmnopq", "key [redacted], [redacted]");
        check("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.sig-_", "[redacted]");
        check(
            r"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA",
        );
        check("postgres://me:pass@host/db", "postgres://me:[redacted]@host/db");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            r#"{"type":"agent_settled","aborted":false}"#,
            r#"{"usage":{"tokens":12,"token":3}}"#,
            "a task-list, a disk-based thing, http://localhost:8080/@x",
            "basic understanding",
        ] {
            check(text, text);
        }
    }
}
