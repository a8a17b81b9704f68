//! What confines the tools of a session.
#![forbid(unsafe_code)]

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod matrix;
