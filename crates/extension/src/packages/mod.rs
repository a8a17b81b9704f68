//! Packages of pi: folders from npm, git or this machine that bring extensions, skills and prompt templates along.
//!
//! Settings name them by a [`Source`], a [`Place`] knows where each is installed, and [`installed`] and [`files`] say what
//! of them is used. Nothing here installs anything, and nothing is executed.

mod configured;
mod content;
mod entry;
mod glob;
mod manifest;
mod modules;
mod place;
mod selection;
mod source;

pub use configured::{Configured, Installed, Root, installed};
pub use content::{Content, PackageFile, files, is_package};
pub use entry::{Entry, Filter};
pub use manifest::Described;
pub use modules::{
    Module, in_folder as modules_in_folder, of_one_folder as modules_of_one, says_so as says_it_has_modules,
};
pub use place::Place;
pub use source::{GitSource, NpmSource, Source};

/// The key of the list in settings.
pub const KEY: &str = "packages";

/// What packages bring along. Themes are for a terminal and not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Extension,
    Skill,
    PromptTemplate,
}

impl Kind {
    /// Returns the name of the folder, which is also the key in manifests and settings.
    pub fn folder_name(self) -> &'static str {
        match self {
            Self::Extension => "extensions",
            Self::Skill => "skills",
            Self::PromptTemplate => "prompts",
        }
    }
}

impl From<crate::options::ResourceKind> for Kind {
    fn from(kind: crate::options::ResourceKind) -> Self {
        match kind {
            crate::options::ResourceKind::Skill => Self::Skill,
            crate::options::ResourceKind::PromptTemplate => Self::PromptTemplate,
        }
    }
}
