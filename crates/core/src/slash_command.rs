//! Commands that a prompt can name with a leading slash, and where they come from.

use std::path::PathBuf;

/// A command that a prompt can name with a leading slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// The name without the slash.
    pub name: String,
    pub description: Option<String>,
    /// What the user may write after the name, in a few words.
    pub argument_hint: Option<String>,
    /// Whether what the user writes after the name can be completed.
    pub has_completion: bool,
    pub kind: CommandKind,
    pub source_info: SourceInfo,
}

/// What provides a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// bowline itself.
    Builtin,
    Extension,
    PromptTemplate,
    Skill,
}

/// Where a skill, a prompt template or an extension comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceInfo {
    /// The file.
    pub path: PathBuf,
    /// How it was found: `auto` in a folder that is always searched, `local` by a path in the settings, `cli` by a flag,
    /// the name of a package, or `extension:` and the name of the extension that named it.
    pub source: String,
    pub scope: Scope,
    pub packaging: Packaging,
    /// The folder that it belongs to, if it was not named by a path.
    pub base_folder: Option<PathBuf>,
}

/// Whom a resource belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    User,
    Project,
    /// It is there for this process only.
    Temporary,
}

/// Whether a resource is part of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packaging {
    TopLevel,
    Package,
}

impl Scope {
    /// Returns the scope's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Temporary => "temporary",
        }
    }
}

impl Packaging {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TopLevel => "top-level",
            Self::Package => "package",
        }
    }
}
