//! A client's connection, over any reader and writer.
//!
//! A [`Connection`] reads lines, has its dialect decode them, gives the commands to its sessions and writes what they
//! emit. Everything happens on one thread: each thing that happens is handled to completion before the next one is
//! looked at. The RPC mode of the binary is a connection over stdin and stdout; tests use the pipes of
//! [`bowline_wire::memory`].

mod connection;
mod sessions;

pub use connection::{Connection, Interruption, Limits};
