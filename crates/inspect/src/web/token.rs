//! The secret in the address of the page.

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::Error;

/// 256 random bits, as hexadecimal digits.
pub(crate) struct Token(String);

impl Token {
    /// Returns a token that nobody can guess.
    pub fn random() -> Result<Self, Error> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Random)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the token, for the page's own address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether a text is the token. How long that takes does not depend on where they differ.
    pub fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let difference = own.iter().zip(other).fold(0, |difference, (own, other)| difference | (own ^ other));
        std::hint::black_box(difference) == 0 && own.len() == other.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.as_str().to_owned();
        assert!(token.is(&text) && text.len() == 64);
        assert!(!token.is("") && !token.is(&text[..63]) && !token.is(&format!("{text}0")));
        assert!(!token.is(Token::random().unwrap().as_str()));
    }
}
