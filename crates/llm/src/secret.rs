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

    /// Returns whether this is a secret rather than a placeholder.
    pub(crate) fn is_worth_masking(&self) -> bool {
        self.0.len() >= Self::SHORTEST
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
        assert!(secret.is_worth_masking() && !Secret::new("none").is_worth_masking());
    }
}
