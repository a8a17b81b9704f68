//! What confines the tools of a session.
#![forbid(unsafe_code)]

mod wishes;

pub use wishes::{Home, Wishes};
