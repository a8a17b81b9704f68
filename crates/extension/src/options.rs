//! What the user chose about skills, templates and trust.

use std::path::PathBuf;

use crate::packages::Configured;
use crate::trust::DefaultTrust;

/// What the user chose on the command line and in the settings.
#[derive(Debug, Clone, Default)]
pub struct ResourceOptions {
    /// The folder with the user's settings, skills and templates.
    pub own_folder: PathBuf,
    /// The user's home directory, which `~` stands for.
    pub home: Option<PathBuf>,
    pub skills: Wanted,
    pub prompts: Wanted,
    /// The packages that the user's settings name.
    pub packages: Vec<Configured>,
    /// Folders of packages that the command line names.
    pub named_packages: Vec<PathBuf>,
    /// If any, only skills with these names are used; `*` and `?` are wildcards.
    pub skill_names: Option<Vec<String>>,
    /// Whether a prompt cannot name skills.
    pub without_skill_commands: bool,
    /// What the command line says about trusting the project.
    pub approval: Option<bool>,
    /// What applies to a project without a decision.
    pub default_trust: DefaultTrust,
    /// Whether hooks in the project's settings for Claude Code are used.
    pub imports_claude_hooks: bool,
}

/// Which files of a kind are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Files and folders that the command line names.
    pub paths: Vec<PathBuf>,
    /// The list in the user's settings: paths, and `!glob`, `+path` and `-path`.
    pub entries: Vec<String>,
    /// Whether only what the command line names counts.
    pub is_off: bool,
}

/// The kinds of resources that are found as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    Skill,
    PromptTemplate,
}

/// A file or folder that an extension names while a session runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredPath {
    pub kind: ResourceKind,
    /// Relative to the folder of the extension, or absolute.
    pub path: PathBuf,
    /// The name or the path of the extension.
    pub extension: String,
    /// The folder of the extension.
    pub base_folder: Option<PathBuf>,
}

impl ResourceOptions {
    pub(crate) fn of(&self, kind: ResourceKind) -> &Wanted {
        match kind {
            ResourceKind::Skill => &self.skills,
            ResourceKind::PromptTemplate => &self.prompts,
        }
    }
}

impl ResourceKind {
    /// Returns the name of its folders, which is also its key in the settings.
    pub fn folder_name(self) -> &'static str {
        match self {
            Self::Skill => "skills",
            Self::PromptTemplate => "prompts",
        }
    }
}
