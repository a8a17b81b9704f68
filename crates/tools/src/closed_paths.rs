//! Files that rules of the user forbid to read. A sandbox closes them; without one, the tools that look at whole folders
//! leave them out.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::builtin::Call;

/// Knows which files may not be read.
pub trait ClosedPaths: Debug + Send + Sync {
    /// Returns what tells whether a file is closed to a tool in a folder; none if nothing is. It is asked for the path
    /// without links, and as it was given.
    fn in_folder(&self, tool: &str, working_directory: &Path) -> Option<IsClosed>;
}

/// Tells whether a file is closed, by its path without links and by its path as it was given.
pub type IsClosed = Box<dyn Fn(&Path, &Path) -> bool + Send + Sync>;

/// What is closed below a folder.
pub(crate) struct Closed {
    /// The folder as it was given, and without links.
    root: PathBuf,
    real_root: PathBuf,
    is_closed: Option<IsClosed>,
    /// How many files and folders were left out.
    pub count: usize,
}

impl Closed {
    pub(crate) fn below(call: &Call, tool: &str, root: &Path) -> Self {
        let closed = call.options.closed_paths.as_ref();
        let is_closed = closed.and_then(|closed| closed.in_folder(tool, &call.context.working_directory));
        let real_root = if is_closed.is_some() { bowline_files::canonical(root) } else { PathBuf::new() };
        Self { root: root.to_owned(), real_root, is_closed, count: 0 }
    }

    /// Tells whether a file or folder below the root is left out, and counts it if so.
    pub(crate) fn leave_out(&mut self, path: &Path) -> bool {
        let Some(is_closed) = &self.is_closed else { return false };
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let is_closed = is_closed(&self.real_root.join(below), path);
        self.count += usize::from(is_closed);
        is_closed
    }
}

/// Returns the note for a model about what was left out, if anything was.
pub(crate) fn note(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 file or folder is left out: a rule of the user forbids to read it.".to_owned()),
        count => {
            Some(format!("{count} files or folders are left out: rules of the user forbid to read them."))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testing::Workshop;

    #[derive(Debug)]
    struct NoSecrets;

    impl ClosedPaths for NoSecrets {
        fn in_folder(&self, _tool: &str, _working_directory: &Path) -> Option<IsClosed> {
            Some(Box::new(|path, _| path.components().any(|part| part.as_os_str() == "secret")))
        }
    }

    #[tokio::test]
    async fn closed_files_are_left_out_and_counted() {
        let mut workshop =
            Workshop::with(&[("a", "KEY"), ("secret/b", "KEY"), ("sub/secret", "KEY"), ("sub/c", "KEY")]);
        workshop.options.closed_paths = Some(Arc::new(NoSecrets));
        let note = "[2 files or folders are left out: rules of the user forbid to read them.]";
        let found = workshop.succeed("grep", json!({ "pattern": "KEY" })).await;
        assert_eq!(found, format!("a:1: KEY\nsub/c:1: KEY\n\n{note}"));
        let found = workshop.succeed("grep", json!({ "pattern": "NONE" })).await;
        assert_eq!(found, format!("No matches found.\n\n{note}"));
        let found = workshop.succeed("find", json!({ "pattern": "*" })).await;
        assert_eq!(found, format!("a\nsub/\nsub/c\n\n{note}"));
        let found = workshop.succeed("ls", json!({})).await;
        let note = "[1 file or folder is left out: a rule of the user forbids to read it.]";
        assert_eq!(found, format!("a\nsub/\n\n{note}"));
        std::fs::create_dir_all(workshop.path().join("only/secret")).unwrap();
        let found = workshop.succeed("ls", json!({ "path": "only" })).await;
        assert_eq!(found, format!("(nothing else is in the directory)\n\n{note}"));
    }
}
