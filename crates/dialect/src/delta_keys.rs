//! The keys by which the outbox joins deltas when the reader lags: deltas of one block of one message share a key.

/// The number of keys reserved for each message.
const BLOCKS_PER_MESSAGE: u64 = 1 << 20;

/// Counts messages, so that deltas of different messages are never joined.
#[derive(Debug, Default)]
pub(crate) struct DeltaKeys {
    messages: u64,
}

impl DeltaKeys {
    pub fn start_message(&mut self) {
        self.messages += 1;
    }

    pub fn of_block(&self, content_index: usize) -> u64 {
        self.messages * BLOCKS_PER_MESSAGE + content_index as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_blocks_and_messages_have_different_keys() {
        let mut keys = DeltaKeys::default();
        let first = [keys.of_block(0), keys.of_block(1)];
        keys.start_message();
        assert!(first[0] != first[1] && !first.contains(&keys.of_block(0)));
    }
}
