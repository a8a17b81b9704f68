//! Changes of a workspace that is an overlay: what tools changed and nobody has accepted yet, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::file_changes::{FileChangeKind, LeftAlone};

/// What a changed path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PendingKind {
    File,
    Folder,
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

/// Why a change is not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PendingObstacle {
    /// The path has changed in the real workspace since.
    Conflict,
    /// Other programs of the user follow what is at the path, such as a git hook.
    Protected,
    /// It is something that is not applied, such as a device or a file with several names.
    Unsupported,
}

/// A change that is not in the real workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingChange {
    /// Relative to the working directory.
    pub path: String,
    pub change: FileChangeKind,
    /// What the path stands for after the change; of a deleted one, before it.
    pub kind: PendingKind,
    /// The size of the file in the real workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u64>,
    /// The size of the file after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The permissions in the real workspace, in octal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_before: Option<String>,
    /// The permissions after the change, in octal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When the content was last changed, in milliseconds since 1970; absent for what is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<u64>,
    /// Why `accept_changes` would leave it alone; absent if it would apply it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<PendingObstacle>,
    /// The same in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a session changed and nobody has accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingReport {
    /// Whether the workspace is an overlay.
    pub enabled: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The changes, by path.
    pub changes: Vec<PendingChange>,
    /// How many changes are left out of `changes`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// The changes of text files as a unified diff against the real workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether the diff leaves out something, because it would be too long.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diff_truncated: bool,
}

/// What `accept_changes` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptReport {
    /// The paths that are now in the real workspace as the session changed them.
    pub accepted: Vec<String>,
    /// The paths that have changed in the real workspace since. They stay pending.
    pub conflicts: Vec<LeftAlone>,
    /// The paths that are not applied for another reason: they are protected or not supported, or it failed. They stay
    /// pending.
    pub not_applied: Vec<LeftAlone>,
    /// How many paths are left out of the lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// How many changes are pending now.
    pub pending: u64,
}

/// What `discard_changes` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscardReport {
    /// The paths whose changes are gone.
    pub discarded: Vec<String>,
    /// The paths whose changes could not be thrown away alone.
    pub not_discarded: Vec<LeftAlone>,
    /// How many paths are left out of the lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// How many changes are pending now.
    pub pending: u64,
}

/// Which pending changes are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingQuery {
    /// Only these paths and what is below them; all of them without.
    pub paths: Option<Vec<String>>,
    pub with_diff: bool,
}

/// Which pending changes are accepted or thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingSelection {
    /// Only these paths and what is below them; all of them without.
    pub paths: Option<Vec<String>>,
    /// Whether processes that tools left running are ended for it.
    pub force: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
