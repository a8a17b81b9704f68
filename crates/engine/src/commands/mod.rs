//! What the commands do, a file for each group.

pub(crate) mod export;
pub(crate) mod models;
pub(crate) mod navigation;
pub(crate) mod sessions;
pub(crate) mod shell;
pub(crate) mod state;
pub(crate) mod tree;
