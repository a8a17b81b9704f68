//! What a project and a user add to the agent: context files.
