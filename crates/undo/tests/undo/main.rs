//! Runs that change files in every way, and what is left of them after undo and redo.

mod changes;
mod git;
mod hostile;
mod limits;
mod random;
mod scene;
