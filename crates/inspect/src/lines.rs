//! Makes lines of the bytes of one direction. Of a line that is too long, the beginning is kept.

/// How much of a line is kept.
pub(crate) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// A buffer larger than this is released after its line.
const KEPT_CAPACITY: usize = 1024 * 1024;

/// The bytes since the last line feed.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    kept: Vec<u8>,
    length: u64,
    longest: usize,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::keeping(LONGEST_LINE)
    }
}

/// A line, or what there is of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawLine {
    pub text: String,
    /// The length in bytes, if the text is only the beginning.
    pub cut: Option<u64>,
    pub unfinished: bool,
    pub not_utf8: bool,
}

impl LineBuffer {
    /// Returns a buffer that keeps so many bytes of a line.
    pub fn keeping(longest: usize) -> Self {
        Self { kept: Vec::new(), length: 0, longest }
    }

    /// Adds bytes, and calls `each` with every line that ends in them.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(RawLine)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.keep(&rest[..end]);
            each(self.take(false));
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    /// Returns what follows the last line feed, if anything does.
    pub fn finish(&mut self) -> Option<RawLine> {
        (self.length > 0).then(|| self.take(true))
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let room = self.longest - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn take(&mut self, unfinished: bool) -> RawLine {
        let cut = (self.length > self.kept.len() as u64).then_some(self.length);
        if cut.is_some() {
            // The cut may be within a character, which is no fault of the line.
            let whole = self.kept.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
            self.kept.truncate(self.kept.len() - whole);
        }
        let text = String::from_utf8_lossy(&self.kept);
        let not_utf8 = matches!(text, std::borrow::Cow::Owned(_));
        let line = RawLine { text: text.into_owned(), cut, unfinished, not_utf8 };
        self.length = 0;
        self.kept.clear();
        if self.kept.capacity() > KEPT_CAPACITY {
            self.kept = Vec::new();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<RawLine> {
        let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());
        pieces.iter().for_each(|piece| buffer.push(piece, |line| lines.push(line)));
        lines.extend(buffer.finish());
        lines
    }

    fn line(text: &str) -> RawLine {
        RawLine { text: text.to_owned(), cut: None, unfinished: false, not_utf8: false }
    }

    #[test]
    fn lines_end_at_line_feeds_only() {
        let split = lines(&[b"a\r", b"\nb\xe2\x80\xa8c\n", b"", b"\n", b"end"]);
        let end = RawLine { unfinished: true, ..line("end") };
        assert_eq!(split, [line("a\r"), line("b\u{2028}c"), line(""), end]);
    }

    #[test]
    fn bad_utf8_is_replaced_and_marked() {
        assert_eq!(lines(&[b"a\xffb\n"]), [RawLine { not_utf8: true, ..line("a\u{fffd}b") }]);
    }

    #[test]
    fn only_the_beginning_of_a_long_line_is_kept() {
        let mut long = vec![b'x'; LONGEST_LINE - 1];
        long.extend_from_slice("é and more".as_bytes());
        let split = lines(&[&long, b"\nnext\n"]);
        assert_eq!(split[0].cut, Some(long.len() as u64));
        assert_eq!((split[0].text.len(), split[0].not_utf8), (LONGEST_LINE - 1, false));
        assert_eq!(split[1], line("next"));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[a\\nbé]{0,40}", step in 1_usize..7) {
            let pieces: Vec<_> = text.as_bytes().chunks(step).collect();
            prop_assert_eq!(lines(&pieces), lines(&[text.as_bytes()]));
        }
    }
}
