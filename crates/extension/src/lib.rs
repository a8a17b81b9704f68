//! What users and projects add to the agent: context files, definitions of agents for tasks, and the fields at the top of
//! Markdown files.

pub mod agents;
pub mod context_files;
pub mod front_matter;
