//! What users and projects add to the agent: context files.

pub mod context_files;
