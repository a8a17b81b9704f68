//! Runs that change files in every way, and what is left of them after undo and redo.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

mod changes;
mod git;
mod hostile;
mod interrupted;
mod limits;
mod moves;
mod places;
mod random;
mod scene;
