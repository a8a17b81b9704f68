//! Models: which one is used, the requests it gets, and recorded answers.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod replay;
mod requests;
mod selection;
