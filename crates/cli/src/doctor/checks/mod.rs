//! The checks, one file each.

pub(super) mod credentials;
pub(super) mod extensions;
pub(super) mod git;
pub(super) mod mcp;
pub(super) mod models;
pub(super) mod node;
pub(super) mod packages;
pub(super) mod program;
pub(super) mod sandbox;
pub(super) mod sessions;
pub(super) mod settings;
pub(super) mod shell;
pub(super) mod terminal;
pub(super) mod trust;
