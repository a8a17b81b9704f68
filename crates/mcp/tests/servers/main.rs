//! Servers as they are, good and bad, driven through the public interface of the crate.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod calls;
mod failures;
mod http;
mod offers;
mod world;
