//! What the process writes to stderr.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of stderr is kept.
const KEPT: usize = 16 * 1024;

/// How long a line may become before it is passed on in pieces.
const LONGEST_LINE: usize = 64 * 1024;

/// Gets the lines of stderr.
pub(crate) type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// The end of what was written to stderr.
#[derive(Clone, Default)]
pub(crate) struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Tail {
    /// Returns the text, without half a line at its start.
    pub fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_whole = bytes.len() < KEPT;
        let start =
            bytes.iter().position(|byte| *byte == b'\n').filter(|_| !is_whole).map_or(0, |end| end + 1);
        String::from_utf8_lossy(&bytes[start..]).trim_end().to_owned()
    }

    fn append(&self, piece: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(piece);
        let surplus = bytes.len().saturating_sub(KEPT);
        bytes.drain(..surplus);
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Tail").field(&self.text()).finish()
    }
}

/// Reads stderr to its end, so that the process never waits for somebody to read it.
pub(crate) async fn listen(mut source: impl AsyncRead + Unpin, tail: Tail, listener: Option<Listener>) {
    let mut piece = vec![0; 4096];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = source.read(&mut piece).await {
        tail.append(&piece[..count]);
        let Some(listener) = &listener else { continue };
        line.extend_from_slice(&piece[..count]);
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            let rest = line.split_off(end + 1);
            listener(String::from_utf8_lossy(&line).trim_end());
            line = rest;
        }
        if line.len() > LONGEST_LINE {
            listener(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    if let Some(listener) = listener.filter(|_| !line.is_empty()) {
        listener(&String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tail_keeps_whole_lines_of_the_end_only() {
        let text: String = (0..5000).map(|number| format!("line {number}\n")).collect();
        let tail = Tail::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let listener: Listener = Arc::new(move |line: &str| sink.lock().unwrap().push(line.to_owned()));
        listen(text.as_bytes(), tail.clone(), Some(listener)).await;
        assert!(tail.text().ends_with("\nline 4999"));
        assert!(tail.text().starts_with("line "));
        assert!(tail.text().len() <= KEPT);
        assert_eq!(seen.lock().unwrap().len(), 5000);
    }
}
