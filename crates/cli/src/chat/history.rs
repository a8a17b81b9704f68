//! The lines that were typed before, in a file that only the user may read: one JSON string per line.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_files::Lock;

/// The most lines that are kept, and the most bytes of one and of the file.
pub(super) const MOST_LINES: usize = 1000;
const LONGEST_LINE: usize = 16 * 1024;
const LARGEST_FILE: u64 = 32 * 1024 * 1024;

/// How long another conversation is waited for that writes the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// The file.
#[derive(Debug)]
pub(super) struct HistoryFile(PathBuf);

impl HistoryFile {
    pub fn new(folder: &Path) -> Self {
        Self(folder.join("chat_history"))
    }

    /// Returns the lines, oldest first. A file that has grown is shortened. What cannot be read is as good as nothing.
    pub fn read(&self) -> Vec<String> {
        let lines = self.lines();
        if lines.len() <= MOST_LINES + MOST_LINES / 2 {
            return last(lines);
        }
        // Another conversation may add a line meanwhile.
        match Lock::acquire(&self.0, PATIENCE) {
            Ok(lock) => {
                let lines = last(self.lines());
                let text: String = lines
                    .iter()
                    .map(|line| format!("{}\n", serde_json::Value::from(line.as_str())))
                    .collect();
                let _ = lock.replace(text.as_bytes());
                lines
            }
            Err(_) => last(lines),
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = bowline_files::read_text(&self.0, LARGEST_FILE).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds a line, unless it begins with a space. That it cannot be written is no reason to stop.
    pub fn add(&self, line: &str) {
        if line.len() <= LONGEST_LINE && !line.starts_with(' ') {
            let _lock = Lock::acquire(&self.0, PATIENCE);
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
}

/// Returns the lines that are kept.
fn last(mut lines: Vec<String>) -> Vec<String> {
    lines.drain(..lines.len().saturating_sub(MOST_LINES));
    lines
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
    fn two_conversations_at_once_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b"] {
                let history = HistoryFile::new(folder.path());
                scope.spawn(move || (0..300).for_each(|number| history.add(&format!("{name}{number}"))));
            }
        });
        let lines = HistoryFile::new(folder.path()).read();
        assert_eq!(lines.len(), 600);
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
