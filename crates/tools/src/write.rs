//! The tool `write`: creates or replaces a file, with missing directories.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use bowline_core::tool::{ToolDisplay, ToolTraits};
use serde_json::json;

use crate::atomic_file;
use crate::builtin::{Builtin, Call, described, uninterrupted, with_path_alias};
use crate::edit;
use crate::editor::OpenFile;
use crate::error::Error;
use crate::file_locks;
use crate::parameters::{Kind, Parameter, text};
use crate::tool::Outcome;
use crate::truncate::Totals;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "write",
        mutates: true,
        path_argument: Some("path"),
        display: ToolDisplay::Write,
    },
    description: "Create a file or replace it completely. Missing directories are created. To change part of a file, use edit.",
    parameters: &[
        Parameter::required("path", Kind::Text, "File, relative or absolute"),
        Parameter::required("content", Kind::Text, "The whole new content"),
    ],
    enabled_by_default: true,
    describe: described,
    prepare: with_path_alias,
    run: |call| Box::pin(async move { write(call).await.unwrap_or_else(Outcome::from) }),
};

/// The longest text, before or after, whose change is shown. It is only for people.
const LONGEST_SHOWN: usize = 512 * 1024;

/// Returns the change to a file that is there, if it is a text of moderate size.
fn patch(given: &str, path: &Path, content: &str) -> Option<String> {
    if content.len() > LONGEST_SHOWN {
        return None;
    }
    let mut before = String::new();
    let file = bowline_files::open(path).ok()?;
    file.take(LONGEST_SHOWN as u64 + 1).read_to_string(&mut before).ok()?;
    if before.len() > LONGEST_SHOWN { None } else { edit::patch(given, &before, content) }
}

async fn write(call: Call) -> Result<Outcome, Error> {
    let given = text(&call.arguments, "path").unwrap_or_default().to_owned();
    let content = text(&call.arguments, "content").unwrap_or_default().to_owned();
    let spare = call.options.temporary_directory.clone();
    let editor = call.context.editor.clone();
    let lock = file_locks::lock_for(call, &given).await?;
    match OpenFile::of(editor, lock, spare.clone()) {
        Ok(open) => write_open(open, given, content).await,
        Err(lock) => uninterrupted(move || write_file(lock.path(), &given, &content, spare.as_deref())).await,
    }
}

/// Writes a file by way of the client.
async fn write_open(open: OpenFile, given: String, content: String) -> Result<Outcome, Error> {
    let (lock, name) = (Arc::clone(&open.lock), given.clone());
    let (former, disk) = uninterrupted(move || {
        let former = Former { file: None, ..Former::find(lock.path(), &name)? };
        let disk =
            former.length.and_then(|_| bowline_files::read_text(lock.path(), LONGEST_SHOWN as u64).ok());
        Ok((former, disk))
    })
    .await?;
    let unsaved = match &disk {
        Some(disk) => open.unsaved(disk).await,
        None => None,
    };
    let is_unsaved = unsaved.is_some();
    let before = unsaved.or_else(|| disk.clone());
    let written = open.write(disk.as_deref(), content).await?;
    uninterrupted(move || {
        let is_shown = written.text.len() <= LONGEST_SHOWN;
        let patch =
            before.filter(|_| is_shown).and_then(|before| edit::patch(&given, &before, &written.text));
        let outcome = former.outcome(&given, &written.text, patch);
        Ok(edit::noted(outcome, written.refused, is_unsaved))
    })
    .await
}

fn write_file(path: &Path, given: &str, content: &str, spare: Option<&Path>) -> Result<Outcome, Error> {
    let former = Former::find(path, given)?;
    let patch = former.length.and_then(|_| patch(given, path, content));
    atomic_file::replace(path, former.file.as_ref(), content.as_bytes(), spare)
        .map_err(Error::file("write", given))?;
    Ok(former.outcome(given, content, patch))
}

/// The file that was there before.
struct Former {
    file: Option<fs::File>,
    /// Absent if there was no file.
    length: Option<u64>,
}

impl Former {
    /// Finds what is there, and makes the folders that are missing.
    fn find(path: &Path, given: &str) -> Result<Self, Error> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(Error::file("create the directory of", given))?;
        }
        let file =
            atomic_file::existing(path).map_err(|error| Error::opening("write", given, path, error))?;
        let length = file.as_ref().map(|file| file.metadata().map_or(1, |found| found.len()));
        Ok(Self { file, length })
    }

    fn outcome(&self, given: &str, content: &str, patch: Option<String>) -> Outcome {
        let verb = match self.length {
            None => "Created",
            // Nothing was there to be replaced. A file that the user allowed is made just before the call, for example.
            Some(0) => "Wrote",
            Some(_) => "Replaced",
        };
        let size = Totals::of(content);
        let mut details = json!({ "created": self.length.is_none() });
        if let Some(patch) = patch {
            details["patch"] = patch.into();
        }
        let text = format!("{verb} {given} ({} lines, {} bytes).", size.lines, size.bytes);
        Outcome::text(text).with_details(details)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Workshop;

    #[tokio::test]
    async fn file_is_created_with_its_directories_and_replaced() {
        let workshop = Workshop::new();
        let write =
            |content: &str| workshop.succeed("write", json!({"path": "a/b/c.txt", "content": content}));
        assert_eq!(write("one\ntwo\n").await, "Created a/b/c.txt (2 lines, 8 bytes).");
        assert_eq!(write("").await, "Replaced a/b/c.txt (0 lines, 0 bytes).");
        assert_eq!(workshop.file("a/b/c.txt"), "");
    }

    #[tokio::test]
    async fn empty_file_is_not_called_replaced() {
        let workshop = Workshop::with(&[("empty", "")]);
        let written = workshop.succeed("write", json!({"path": "empty", "content": "x"})).await;
        assert_eq!(written, "Wrote empty (1 lines, 1 bytes).");
    }

    #[tokio::test]
    async fn write_follows_links() {
        let workshop = Workshop::with(&[("real", "old")]);
        for link in ["link", "dangling"] {
            let target = if link == "link" { "real" } else { "later" };
            std::os::unix::fs::symlink(target, workshop.path().join(link)).unwrap();
            workshop.succeed("write", json!({"path": link, "content": "new"})).await;
            assert!(workshop.path().join(link).is_symlink());
            assert_eq!(workshop.file(target), "new");
        }
    }

    #[tokio::test]
    async fn unwritable_path_is_refused() {
        let workshop = Workshop::with(&[("file", "kept")]);
        let write = |path: &str| workshop.fail("write", json!({"path": path, "content": "x"}));
        assert!(write(".").await.contains("is a directory"));
        assert!(write("file/below").await.contains("Could not create the directory of file/below"));
        assert!(write("/dev/null").await.contains("neither a file"));
        assert!(workshop.fail("write", json!({"path": "x"})).await.contains("- content: missing"));
        assert_eq!(workshop.file("file"), "kept");
    }

    #[tokio::test]
    async fn cancelled_call_writes_nothing() {
        let workshop = Workshop::new();
        workshop.cancel.cancel();
        assert!(workshop.fail("write", json!({"path": "a", "content": "x"})).await.starts_with("Aborted"));
        assert!(!workshop.path().join("a").exists());
    }
}
