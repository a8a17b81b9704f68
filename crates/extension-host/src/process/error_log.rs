//! What a process writes to stderr: its log, of which the last line explains why it exited.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::process::connection::lock;

/// The longest line that is kept or passed on, in bytes.
const LONGEST_LINE: usize = 4096;

/// The most of the last line that an error has, in characters.
const LAST_WORDS: usize = 300;

/// The end of what a process wrote to stderr.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorLog(Arc<Mutex<Vec<u8>>>);

impl ErrorLog {
    /// Reads until the end, and passes on each line.
    pub async fn read(&self, mut input: impl AsyncRead + Unpin, on_line: impl Fn(&str)) {
        let mut buffer = vec![0; 8192];
        let mut line = Vec::new();
        while let Ok(length @ 1..) = input.read(&mut buffer).await {
            for byte in &buffer[..length] {
                if *byte == b'\n' {
                    self.take(&mut line, &on_line);
                } else if line.len() < LONGEST_LINE {
                    line.push(*byte);
                }
            }
        }
        self.take(&mut line, &on_line);
    }

    fn take(&self, line: &mut Vec<u8>, on_line: &impl Fn(&str)) {
        if !line.trim_ascii().is_empty() {
            on_line(String::from_utf8_lossy(line).trim_end());
            lock(&self.0).clone_from(line);
        }
        line.clear();
    }

    /// Returns the last line, shortened.
    pub fn last_line(&self) -> String {
        String::from_utf8_lossy(&lock(&self.0)).trim().chars().take(LAST_WORDS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn last_line_that_is_not_blank_is_kept_and_long_ones_are_cut() {
        let log = ErrorLog::default();
        let lines = Mutex::new(Vec::new());
        let input = format!("first\n{}\nlast \n\n  \n", "x".repeat(LONGEST_LINE + 5));
        log.read(input.as_bytes(), |line| lines.lock().unwrap().push(line.len())).await;
        assert_eq!(*lines.lock().unwrap(), [5, LONGEST_LINE, 4]);
        assert_eq!(log.last_line(), "last");
    }
}
