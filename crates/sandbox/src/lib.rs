//! What confines the tools of a session.
#![forbid(unsafe_code)]

pub mod proxy;
