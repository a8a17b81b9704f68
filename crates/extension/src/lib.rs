//! What a user and a project add to the agent from outside: context files so far.

pub mod context_files;
