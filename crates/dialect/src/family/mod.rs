//! What the dialects of pi's family have in common: `pi`, `pi-classic` and `omp` grew from one protocol, so most of
//! their commands, records and answers are the same. Each is written here once; a dialect says what it does its own
//! way.

pub(crate) mod answers;
pub(crate) mod commands;
pub(crate) mod data;
pub(crate) mod records;
pub(crate) mod repeating;
pub(crate) mod responses;
mod shape;
pub(crate) mod state_parts;
pub(crate) mod steps;
