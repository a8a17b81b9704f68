//! The lines that were typed before, in a file that only the user may read: one JSON string per line.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The most lines that are kept, and the most bytes of one and of the file.
pub(super) const MOST_LINES: usize = 1000;
const LONGEST_LINE: usize = 16 * 1024;
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The file.
#[derive(Debug)]
pub(super) struct HistoryFile(PathBuf);

impl HistoryFile {
    pub fn new(folder: &Path) -> Self {
        Self(folder.join("chat_history"))
    }

    /// Returns the lines, oldest first. A file that has grown is shortened. What cannot be read is as good as nothing.
    pub fn read(&self) -> Vec<String> {
        let text = bowline_files::read_text(&self.0, LARGEST_FILE).unwrap_or_default();
        let lines: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let surplus = lines.len().saturating_sub(MOST_LINES);
        if surplus > MOST_LINES / 2 {
            self.rewrite(&lines[surplus..]);
        }
        lines[surplus..].to_vec()
    }

    /// Adds a line, unless it begins with a space. That it cannot be written is no reason to stop.
    pub fn add(&self, line: &str) {
        if line.len() <= LONGEST_LINE && !line.starts_with(' ') {
            let mut options = bowline_files::private_file();
            options.append(true).create(true);
            let written = bowline_files::open_by(&mut options, &self.0);
            if let Ok(mut file) = written
                && bowline_files::restrict(&file).is_ok()
            {
                let _ = file.write_all(format!("{}\n", serde_json::Value::from(line)).as_bytes());
            }
        }
    }

    fn rewrite(&self, lines: &[String]) {
        let text: String =
            lines.iter().map(|line| format!("{}\n", serde_json::Value::from(line.as_str()))).collect();
        let mut options = bowline_files::private_file();
        options.write(true).truncate(true);
        if let Ok(mut file) = bowline_files::open_by(&mut options, &self.0) {
            let _ = file.write_all(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let history = HistoryFile::new(folder.path());
        assert_eq!(history.read(), Vec::<String>::new());
        for line in ["one", "two\nlines", " secret", &"x".repeat(LONGEST_LINE + 1)] {
            history.add(line);
        }
        assert_eq!(history.read(), ["one", "two\nlines"]);
        #[cfg(unix)]
        assert_eq!(bowline_files::mode(&folder.path().join("chat_history")), Some(0o600));
    }

    #[test]
    fn file_is_shortened_and_damage_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..MOST_LINES * 2).map(|number| format!("\"{number}\"\nnot json\n")).collect();
        std::fs::write(folder.path().join("chat_history"), text).unwrap();
        let history = HistoryFile::new(folder.path());
        let lines = history.read();
        assert_eq!((lines.len(), &*lines[0]), (MOST_LINES, "1000"));
        let text = std::fs::read_to_string(folder.path().join("chat_history")).unwrap();
        assert_eq!(text.lines().count(), MOST_LINES);
        assert_eq!(history.read(), lines);
    }
}
