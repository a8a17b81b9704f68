//! What a path stood for at some moment, and how that changed.

use bowline_core::file_changes::{FileChangeKind, FileKind};
use serde::{Deserialize, Serialize};

use crate::image::ImageId;

/// What the file system says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub kind: Kind,
    /// The permission bits.
    pub mode: u32,
    pub size: u64,
    /// When the content last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything of it last changed.
    pub changed: i64,
    pub inode: u64,
    pub device: u64,
    pub links: u64,
    pub owner: u32,
    pub group: u32,
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    #[serde(rename = "f")]
    File,
    #[serde(rename = "d")]
    Folder,
    #[serde(rename = "l")]
    Link,
    /// A FIFO, a socket or a device.
    #[serde(rename = "o")]
    Other,
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Missing {
    TooLarge,
    NoRoom,
    NotWritten,
    NoTime,
    HardLinks,
    Unreadable,
    GoneFromGit,
    Special,
    Older,
}

impl Missing {
    /// Returns the reason in plain words.
    pub fn text(self) -> &'static str {
        match self {
            Self::TooLarge => "it was larger than undo.maxFileBytes",
            Self::NoRoom => "there was no room left for its content (undo.maxBytes)",
            Self::NotWritten => "its content could not be written to bowline's folder",
            Self::NoTime => "copying all files that git does not have took too long",
            Self::HardLinks => "it has several names (hard links)",
            Self::Unreadable => "its content could not be read",
            Self::GoneFromGit => "its content was in git, which no longer has it",
            Self::Older => "it is older than the run and had another name",
            Self::Special => "it is neither a file nor a folder nor a link",
        }
    }
}

/// The times and the inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub modified: i64,
    /// When anything of the file changed: a name, its permissions, or its content although `modified` was set back.
    pub changed: i64,
    pub inode: u64,
}

impl Stamp {
    pub fn of(stat: &Stat) -> Self {
        Self { modified: stat.modified, changed: stat.changed, inode: stat.inode }
    }
}

/// What a path stood for, as far as it is needed to put it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub kind: Kind,
    pub mode: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size: u64,
    /// The content of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageId>,
    /// Where a link leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Why the content of a file is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// What stands in for a content that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
    /// The user and the group that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
}

impl State {
    /// Returns the state of something whose content is not known or not needed.
    pub fn without_content(stat: &Stat, missing: Option<Missing>) -> Self {
        let size = if stat.kind == Kind::File { stat.size } else { 0 };
        let stamp = missing.is_some().then(|| Stamp::of(stat));
        let owner = Some((stat.owner, stat.group));
        Self { kind: stat.kind, mode: stat.mode, size, image: None, target: None, missing, stamp, owner }
    }

    pub fn file_kind(&self) -> FileKind {
        match self.kind {
            Kind::Folder => FileKind::Folder,
            Kind::Link => FileKind::Link,
            Kind::File | Kind::Other => FileKind::File,
        }
    }

    /// Tells whether both have the same content, whatever the permissions are.
    pub fn has_content_of(&self, other: &Self) -> bool {
        if self.kind != other.kind {
            return false;
        }
        match self.kind {
            Kind::Folder => true,
            Kind::Link => self.target == other.target,
            Kind::File | Kind::Other => match (self.image, other.image) {
                (Some(one), Some(two)) => one == two,
                _ => self.has_stamp_of(other),
            },
        }
    }

    /// Tells whether the times show the same content. New permissions change one of them.
    fn has_stamp_of(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.stamp, other.stamp) else { return false };
        let is_same = (self.size, one.modified, one.inode) == (other.size, two.modified, two.inode);
        is_same && (one.changed == two.changed || self.mode != other.mode)
    }

    /// Tells whether they are the same file, by its inode and the time of its content, with the same permissions.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.stamp, other.stamp) else { return false };
        (self.kind, self.mode, self.size) == (other.kind, other.mode, other.size)
            && (one.modified, one.inode) == (two.modified, two.inode)
    }

    /// Tells whether they are the same in content and permissions. Those of links mean nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        self.has_content_of(other) && (self.kind == Kind::Link || self.mode == other.mode)
    }
}

/// How a path changed. `None` is that there was nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Relative to the workspace; absolute if it is outside.
    pub path: String,
    pub before: Option<State>,
    pub after: Option<State>,
    /// What a path that is new was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// What a path that is new was before: a file that somebody has had for longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Origin {
    /// It had this name, and its content is kept nowhere else.
    MovedFrom(String),
    /// It is older than the run, but it is not known what it was called.
    Older,
}

impl Change {
    /// Tells whether there is a difference.
    pub fn is_change(&self) -> bool {
        !is_same(self.before.as_ref(), self.after.as_ref())
    }

    pub fn kind(&self) -> FileChangeKind {
        match (&self.before, &self.after) {
            (None, _) => FileChangeKind::Created,
            (_, None) => FileChangeKind::Deleted,
            (Some(before), Some(after)) if before.has_content_of(after) => FileChangeKind::Mode,
            _ => FileChangeKind::Modified,
        }
    }

    /// Returns why it cannot be restored, if so.
    pub fn missing(&self) -> Option<Missing> {
        if self.kind() == FileChangeKind::Mode {
            return None;
        }
        if self.origin == Some(Origin::Older) {
            return Some(Missing::Older);
        }
        self.before.as_ref().and_then(|before| before.missing)
    }

    /// Returns the contents that it needs.
    pub fn images(&self) -> impl Iterator<Item = ImageId> {
        [&self.before, &self.after].into_iter().flatten().filter_map(|state| state.image)
    }
}

/// Tells whether two states are the same, or both nothing.
pub(crate) fn is_same(one: Option<&State>, other: Option<&State>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_same(other),
        _ => false,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
