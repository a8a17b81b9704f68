//! Texts that must not be shown: keys, tokens, header values.

use std::fmt;

/// A secret. Its `Debug` form shows nothing, so that no log or error can contain it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The length below which a text is a placeholder rather than a secret: local servers are often given `none` or
    /// `ollama` as a key, and masking such words would make errors unreadable.
    const SHORTEST: usize = 8;

    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for sending it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text` with this secret masked.
    pub(crate) fn redact(&self, text: String) -> String {
        if self.0.len() >= Self::SHORTEST && text.contains(&self.0) {
            text.replace(&self.0, "[redacted]")
        } else {
            text
        }
    }
}

impl Secret {
    /// Returns `text`, which is JSON, with this secret masked however it is escaped there.
    pub(crate) fn redact_in_json(&self, text: String) -> String {
        let quoted = serde_json::Value::String(self.0.clone()).to_string();
        let escaped = Self::new(quoted.trim_matches('"'));
        escaped.redact(self.redact(text))
    }

    /// Overwrites this secret in `bytes`, keeping their length.
    pub(crate) fn mask(&self, bytes: &mut [u8]) {
        if self.0.len() < Self::SHORTEST {
            return;
        }
        let found: Vec<usize> = memchr::memmem::find_iter(bytes, &self.0).collect();
        for start in found {
            bytes[start..start + self.0.len()].fill(b'*');
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_not_shown() {
        let secret = Secret::new("sk-0123456789");
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(secret.redact("bad key sk-0123456789!".into()), "bad key [redacted]!");
        assert_eq!(
            Secret::new("a\"b\\cdefgh").redact_in_json(r#"{"k":"a\"b\\cdefgh"}"#.into()),
            r#"{"k":"[redacted]"}"#
        );
        assert_eq!(Secret::new("none").redact("there is none".into()), "there is none");
    }
}
