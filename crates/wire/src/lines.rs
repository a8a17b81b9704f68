//! Splits incoming bytes into lines.
//!
//! A line ends at LF and at nothing else: U+2028, U+2029 and a lone CR are ordinary characters, because JSON allows
//! the first two unescaped in strings. One CR before the LF is dropped, and lines of nothing but ASCII white space
//! are skipped, so that clients may write CRLF or blank lines. An invalid line costs that line only.

use crate::KEPT_CAPACITY;

/// The default limit for a line: room for a few images in one prompt.
pub const DEFAULT_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// From this length on a line is returned in the buffer that it was collected in instead of being copied.
const MOVED_LENGTH: usize = 16 * 1024;

/// One line, or why it is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The text of the line, without its line ending.
    Text(String),
    /// The line is longer than the limit; its bytes are not kept.
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The line is not UTF-8; its bytes are not kept.
    NotUtf8,
}

/// Splits bytes into lines, however they are divided into chunks.
///
/// After each [`push`](Lines::push), call [`next_line`](Lines::next_line) until it returns `None`: that keeps memory
/// within the limit.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    buffer: Vec<u8>,
    /// Where the current line starts in `buffer`; everything before it has been returned.
    start: usize,
    /// Up to where `buffer` is known to contain no LF, so that a long line in many chunks is searched once.
    searched: usize,
    /// Whether the rest of an overlong line is being discarded.
    is_skipping: bool,
}

impl Lines {
    /// Creates an empty splitter for lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), start: 0, searched: 0, is_skipping: false }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        if self.is_skipping {
            let Some(end) = memchr::memchr(b'\n', bytes) else { return };
            self.is_skipping = false;
            bytes = &bytes[end + 1..];
        }
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line that is not blank.
    pub fn next_line(&mut self) -> Option<Line> {
        while let Some(offset) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let line = self.take_until(self.searched + offset);
            if line.is_some() {
                return line;
            }
        }
        self.searched = self.buffer.len();
        if self.start == self.buffer.len() {
            self.forget();
            return None;
        }
        // A CR at the very end may be part of the line ending, so it does not count.
        let unfinished = without_carriage_return(&self.buffer[self.start..]);
        if unfinished.len() > self.limit {
            self.forget();
            self.is_skipping = true;
            return Some(Line::TooLong { limit: self.limit });
        }
        None
    }

    /// Ends the input, and returns the last line if it has no LF.
    pub fn finish(&mut self) -> Option<Line> {
        self.is_skipping = false;
        let line = self.take_until(self.buffer.len());
        self.forget();
        line
    }

    /// Takes the line that ends before `end`, and moves on to the line after it; `None` if it is blank.
    fn take_until(&mut self, end: usize) -> Option<Line> {
        let content = without_carriage_return(&self.buffer[self.start..end]);
        let length = content.len();
        let line = if length > self.limit {
            Some(Line::TooLong { limit: self.limit })
        } else if content.trim_ascii().is_empty() {
            None
        } else if self.start == 0 && length >= MOVED_LENGTH {
            return Some(self.move_out(end, length));
        } else {
            Some(std::str::from_utf8(content).map_or(Line::NotUtf8, |text| Line::Text(text.to_owned())))
        };
        self.start = self.buffer.len().min(end + 1);
        self.searched = self.start;
        line
    }

    /// Returns the buffer itself as the line, and keeps a copy of the few bytes after it.
    fn move_out(&mut self, end: usize, length: usize) -> Line {
        let rest = self.buffer.get(end + 1..).unwrap_or_default().to_vec();
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(length);
        self.start = 0;
        self.searched = 0;
        String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
    }

    fn forget(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_CAPACITY);
        self.start = 0;
        self.searched = 0;
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(DEFAULT_LINE_LIMIT)
    }
}

fn without_carriage_return(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 12;

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    /// Splits pieces as the main loop does.
    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece);
            found.extend(std::iter::from_fn(|| lines.next_line()));
        }
        found.extend(lines.finish());
        assert!(lines.buffer.is_empty());
        found
    }

    #[track_caller]
    fn check(input: &str, expected: &[Line]) {
        assert_eq!(split(LIMIT, &[input.as_bytes()]), expected);
    }

    #[test]
    fn line_ends_at_lf_and_loses_one_cr() {
        check("a\nb\r\nc\r\r\nd\re\n", &[text("a"), text("b"), text("c\r"), text("d\re")]);
    }

    #[test]
    fn blank_lines_are_skipped() {
        check("\n\r\n \t\n a \n\n  ", &[text(" a ")]);
    }

    #[test]
    fn last_line_needs_no_line_ending() {
        check("a\nb", &[text("a"), text("b")]);
        check("a\nb\r", &[text("a"), text("b")]);
    }

    #[test]
    fn unicode_line_separators_are_ordinary() {
        check("a\u{2028}b\u{2029}\n\u{2028}\n", &[text("a\u{2028}b\u{2029}"), text("\u{2028}")]);
    }

    #[test]
    fn line_at_the_limit_passes_and_one_byte_more_does_not() {
        check("123456789012\r\nb", &[text("123456789012"), text("b")]);
        check("1234567890123\nb", &[Line::TooLong { limit: LIMIT }, text("b")]);
    }

    #[test]
    fn overlong_line_is_reported_immediately_and_once() {
        let mut lines = Lines::new(LIMIT);
        lines.push(b"a\n1234567890123");
        assert_eq!(lines.next_line(), Some(text("a")));
        assert_eq!(lines.next_line(), Some(Line::TooLong { limit: LIMIT }));
        for _ in 0..1000 {
            lines.push(b"and so on, and so on");
            assert_eq!(lines.next_line(), None);
            assert!(lines.buffer.is_empty());
        }
        lines.push(b"end\nb\n");
        assert_eq!(lines.next_line(), Some(text("b")));
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn invalid_utf8_costs_one_line() {
        assert_eq!(split(LIMIT, &[b"a\n\xff\xfe\nb\n"]), [text("a"), Line::NotUtf8, text("b")]);
    }

    #[test]
    fn huge_line_in_small_chunks_is_searched_once_and_its_memory_released() {
        let huge = "x".repeat(20 * 1024 * 1024);
        let started = std::time::Instant::now();
        let mut lines = Lines::default();
        lines.push(b"first\n");
        assert_eq!(lines.next_line(), Some(text("first")));
        for piece in huge.as_bytes().chunks(4096) {
            lines.push(piece);
            assert_eq!(lines.next_line(), None);
        }
        lines.push(b"\nnext\n");
        assert_eq!(lines.next_line(), Some(Line::Text(huge)));
        assert_eq!(lines.next_line(), Some(text("next")));
        assert_eq!(lines.next_line(), None);
        assert!(lines.buffer.capacity() <= KEPT_CAPACITY);
        // Searching from the start for each piece would take minutes.
        assert!(started.elapsed().as_secs() < 10);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_chunks(
            input in prop::collection::vec(
                prop::sample::select(b"\n\n\r ab\xe2\x80\xa8\xff0123456789".to_vec()), 0..200),
            splits in prop::collection::vec(0_usize..200, 0..20),
        ) {
            let mut splits: Vec<usize> = splits.into_iter().map(|split| split.min(input.len())).collect();
            splits.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for split in splits {
                pieces.push(&input[start..split]);
                start = split;
            }
            pieces.push(&input[start..]);
            prop_assert_eq!(split(LIMIT, &pieces), split(LIMIT, &[&input]));
        }

        #[test]
        fn moved_lines_are_returned_unchanged(
            lengths in prop::collection::vec(1_usize..3 * MOVED_LENGTH, 1..8),
            piece in 1_usize..2 * MOVED_LENGTH,
        ) {
            let lines: Vec<String> = lengths.iter().enumerate()
                .map(|(index, length)| index.to_string().repeat(*length)).collect();
            let input = lines.join("\n");
            let pieces: Vec<&[u8]> = input.as_bytes().chunks(piece).collect();
            let expected: Vec<Line> = lines.into_iter().map(Line::Text).collect();
            prop_assert_eq!(split(DEFAULT_LINE_LIMIT, &pieces), expected);
        }
    }
}
