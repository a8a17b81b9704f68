//! What users and projects add to the agent: context files, skills, prompt templates, instructions, stream rules and
//! definitions of agents for tasks, and whether a project is trusted to add any.

pub mod agents;
pub mod context_files;
mod error;
mod folder_search;
pub mod front_matter;
mod instruction_files;
mod list_filter;
mod options;
pub mod packages;
mod project;
mod project_settings;
mod prompt_templates;
mod resource_files;
mod resources;
mod skills;
pub mod stream_rules;
mod template_arguments;
pub mod trust;

pub use error::Error;
pub use instruction_files::InstructionFiles;
pub use list_filter::PathList;
pub use options::{DiscoveredPath, ResourceKind, ResourceOptions, Wanted};
pub use project_settings::{list as project_list, list_in as settings_list, read as project_settings};
pub use resources::{Expansion, ExpansionFailure, Resources, TrustQuestion};
pub use skills::section as skills_section;
