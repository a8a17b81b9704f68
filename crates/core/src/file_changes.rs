//! What runs changed in the files of the workspace, and what was restored, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened to a file, a folder or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    Created,
    Modified,
    Deleted,
    /// Only the permissions changed.
    Mode,
}

impl FileChangeKind {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Mode => "mode",
        }
    }
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    File,
    Folder,
    Link,
}

/// A change of one path by a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Relative to the working directory; absolute if it is outside.
    pub path: String,
    pub change: FileChangeKind,
    pub kind: FileKind,
    /// The size before the run, of a file that existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u64>,
    /// The size after the run, of a file that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether `undo` can put it back.
    pub covered: bool,
    /// Why it is not covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it was restored.
    #[serde(default, skip_serializing_if = "is_false")]
    pub undone: bool,
}

/// What one run changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunChanges {
    /// The number of the run among those of the session that may have changed files, from 1.
    pub run: u64,
    /// The entry with the prompt that started the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// When the run started, in milliseconds since 1970.
    pub started: u64,
    pub files: Vec<FileChange>,
    /// How many files are left out of `files`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_files: u64,
    /// The turns that changed files, with the names of the files.
    pub turns: Vec<TurnChanges>,
    /// The lines of text that were added.
    pub added: u64,
    /// The lines of text that were removed.
    pub removed: u64,
    /// The changes of text files as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether the diff leaves out something, because it would be too long.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diff_truncated: bool,
    /// Whether the process ended during the run, so that everything that changed until the session was opened again counts
    /// as the run's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recovered: bool,
    /// Whether all of it was restored.
    #[serde(default, skip_serializing_if = "is_false")]
    pub undone: bool,
}

/// What one turn changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnChanges {
    /// The number of the turn in its run, from 0.
    pub turn: u32,
    /// The entry that the session was at when the turn ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// The tool call after which the files were looked at, if they were looked at after each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How many paths it changed.
    pub files: u64,
}

/// What the runs of a session changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesReport {
    /// Whether changes are recorded.
    pub enabled: bool,
    /// Whether the changes of commands are seen, or only those of the file tools.
    pub commands: bool,
    /// Why changes, or those of commands, are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The runs that changed files, oldest first.
    pub runs: Vec<RunChanges>,
    /// Whether there is something that `redo` can do again.
    pub can_redo: bool,
    /// How many bytes of former contents are kept.
    pub stored_bytes: u64,
    /// Changes that are never seen, in plain words.
    pub not_covered: Vec<String>,
}

/// Which runs are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangesQuery {
    /// Only this run.
    pub run: Option<u64>,
    /// Only what followed this entry.
    pub entry: Option<String>,
    pub with_diff: bool,
}

/// What is restored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum UndoTarget {
    /// The last run that changed files and was not undone.
    #[default]
    LastRun,
    /// One run, whatever followed it.
    Run(u64),
    /// A run and everything that followed it, or a turn of it and everything that followed.
    Before { run: u64, turn: Option<u32> },
    /// Everything that followed an entry of the session.
    AfterEntry(String),
}

/// What `undo` or `redo` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// The runs that it was about.
    pub runs: Vec<u64>,
    /// The paths that are as they were.
    pub restored: Vec<String>,
    /// The paths that were left alone, because they have changed since.
    pub conflicts: Vec<LeftAlone>,
    /// The paths that were left alone, because their former content is not known.
    pub not_covered: Vec<LeftAlone>,
    /// New files that were moved away.
    pub quarantined: Vec<Quarantined>,
    /// Whether nothing was done but to look.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

/// A path that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftAlone {
    pub path: String,
    pub reason: String,
}

/// A file that was moved away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quarantined {
    pub path: String,
    /// Where it is now.
    pub moved_to: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
