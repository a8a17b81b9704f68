//! The tool `write`: creates or replaces a file, with missing directories.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use bowline_core::tool::{ToolDisplay, ToolTraits};
use serde_json::json;

use crate::atomic_file;
use crate::builtin::{Builtin, Call, described, uninterrupted, with_path_alias};
use crate::edit;
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
    let lock = file_locks::lock_for(call, &given).await?;
    uninterrupted(move || {
        let path = lock.path();
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(Error::file("create the directory of", &given))?;
        }
        let existing =
            atomic_file::existing(path).map_err(|error| Error::opening("write", &given, path, error))?;
        let length = |file: &fs::File| file.metadata().map(|found| found.len());
        let was_empty = existing.as_ref().map(|file| length(file).is_ok_and(|length| length == 0));
        let patch = existing.as_ref().and_then(|_| patch(&given, path, &content));
        atomic_file::replace(path, existing.as_ref(), content.as_bytes(), spare.as_deref())
            .map_err(Error::file("write", &given))?;
        let verb = match &was_empty {
            None => "Created",
            // Nothing was there to be replaced. A file that the user allowed is made just before the call, for example.
            Some(true) => "Wrote",
            Some(false) => "Replaced",
        };
        let size = Totals::of(&content);
        let mut details = json!({ "created": was_empty.is_none() });
        if let Some(patch) = patch {
            details["patch"] = patch.into();
        }
        let text = format!("{verb} {given} ({} lines, {} bytes).", size.lines, size.bytes);
        Ok(Outcome::text(text).with_details(details))
    })
    .await
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
