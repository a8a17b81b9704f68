//! Sessions: opening, writing, branching.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod durability;
mod hostile_files;
mod opening;
mod tree;
