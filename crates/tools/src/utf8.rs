//! Decodes UTF-8 that arrives in pieces: characters split between pieces are joined, invalid bytes become U+FFFD.

/// The bytes of an incomplete character, at most three.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// Returns the text that `bytes` completes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = if self.pending.is_empty() {
            bytes
        } else {
            let mut begun = std::mem::take(&mut self.pending);
            begun.extend_from_slice(bytes);
            joined = begun;
            &joined
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => error,
            };
            let (valid, invalid) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(length) = error.error_len() else {
                self.pending = invalid.to_vec();
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &invalid[length..];
        }
    }

    /// Returns the rest at the end of the input.
    pub(crate) fn finish(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        String::from_utf8_lossy(&pending).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_however_it_is_split() {
        let bytes = b"a\xc3\xbc\xe2\x82\xac\xf0\x9f\x8e\x89 \xff z\xe2\x82";
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut decoder = Decoder::default();
                let mut text = decoder.push(&bytes[..first]);
                text += &decoder.push(&bytes[first..second]);
                text += &decoder.push(&bytes[second..]);
                text += &decoder.finish();
                assert_eq!(text, "aü€🎉 \u{fffd} z\u{fffd}", "split at {first} and {second}");
            }
        }
    }
}
