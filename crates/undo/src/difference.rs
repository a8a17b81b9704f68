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
        let old_name = name("a/", path, before);
        let new_name = name("b/", path, after);
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

/// Returns the name of a file in a header. A path outside of the workspace is absolute, and stays as it is.
fn name(side: &str, path: &str, content: Option<&[u8]>) -> String {
    match content {
        None => "/dev/null".to_owned(),
        Some(_) if path.starts_with('/') => path.to_owned(),
        Some(_) => format!("{side}{path}"),
    }
}

/// Returns a content as text; `None` if it is binary.
fn text(content: Option<&[u8]>) -> Option<&str> {
    let text = std::str::from_utf8(content.unwrap_or_default()).ok()?;
    (!text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_have_no_side_in_the_header() {
        let mut differences = Differences::default();
        differences.add("/var/x", Some(b"a\n"), Some(b"b\n"));
        differences.add("in/y", None, Some(b"c\n"));
        assert_eq!(
            differences.text,
            "--- /var/x\n+++ /var/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/in/y\n@@ -0,0 +1 @@\n+c\n"
        );
    }
}
