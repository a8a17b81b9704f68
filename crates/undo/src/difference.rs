//! The changes of a run as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// The most bytes of a diff.
pub(crate) const MAX_DIFF: usize = 256 * 1024;

/// How long two files may be compared before the result becomes coarse.
const TIME: Duration = Duration::from_millis(200);

/// The differences of files, as far as they fit.
#[derive(Debug, Default)]
pub struct Differences {
    pub text: String,
    pub added: u64,
    pub removed: u64,
    pub is_truncated: bool,
}

impl Differences {
    /// The most bytes of a file that is compared line by line.
    pub const MAX_FILE: usize = 512 * 1024;

    /// Adds a file; `None` is that there is none.
    pub fn add(&mut self, path: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        let (Some(old), Some(new)) = (text(before), text(after)) else {
            return self.add_text(&format!("Binary file {path} differs\n"));
        };
        if old.len() > Self::MAX_FILE || new.len() > Self::MAX_FILE {
            self.is_truncated = true;
            return self.add_text(&format!("File {path} is too large to be compared\n"));
        }
        let diff = TextDiff::configure().timeout(TIME).diff_lines(old, new);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => self.added += 1,
                ChangeTag::Delete => self.removed += 1,
                ChangeTag::Equal => {}
            }
        }
        if self.is_truncated {
            return;
        }
        let old_name = if before.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
        let new_name = if after.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
        let shown = diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string();
        self.add_text(&shown);
    }

    fn add_text(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_DIFF {
            self.is_truncated = true;
        } else {
            self.text.push_str(text);
        }
    }
}

/// Returns a content as text; `None` if it is binary.
fn text(content: Option<&[u8]>) -> Option<&str> {
    let text = std::str::from_utf8(content.unwrap_or_default()).ok()?;
    (!text.contains('\0')).then_some(text)
}
