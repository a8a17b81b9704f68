//! What users and projects add to the agent: context files, and the fields at the top of Markdown files.

pub mod context_files;
pub mod front_matter;
