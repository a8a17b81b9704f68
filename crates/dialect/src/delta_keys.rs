//! The keys by which deltas join when the reader lags: those of one block of one message have the same.

/// Room for the blocks of one message.
const BLOCKS_PER_MESSAGE: u64 = 1 << 20;

/// Counts messages, so that deltas of different messages never join.
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
    fn deltas_of_different_blocks_and_messages_have_different_keys() {
        let mut keys = DeltaKeys::default();
        let first = [keys.of_block(0), keys.of_block(1)];
        keys.start_message();
        assert!(first[0] != first[1] && !first.contains(&keys.of_block(0)));
    }
}
