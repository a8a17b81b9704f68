//! The matrix: over a hundred ways out of the sandbox, each tried inside and looked at from outside.
//!
//! An [`Attempt`] is a row of data: the promise that it tests, what is expected at each level, and a function that tries
//! it. The function runs *inside*, in a process of this same program ([`ATTEMPT_ROLE`]) that the keeper starts as it starts
//! any command. The checker stays outside, between its victims: files, sockets and a process. It notes how they are before
//! and after each attempt ([`observation`]), so that a promise holds only if the attempt was refused inside *and* nothing
//! has changed outside.
//!
//! Without a sandbox ([`SandboxLevel::None`]) most attempts get through. That is the control: an attempt that fails anyway
//! would prove nothing.

mod attempt;
mod attempts;
mod caller;
mod checker;
mod confined;
mod devices;
mod facts;
mod files;
mod fixture;
mod git;
mod inside;
mod kernel;
mod listeners;
mod metadata;
mod mounts;
mod network;
mod observation;
mod processes;
mod proxy;
mod report;
mod runner;
mod secrets;
mod sockets;
mod victim;

pub use attempt::{Attempt, Expectation, Reach};
pub use attempts::all;
pub use checker::{Check, Unchecked, run};
pub use confined::Confined;
pub use inside::{ATTEMPT_ROLE, attempt};
pub use report::{MatrixReport, Row, Verdict};
pub use runner::{Opener, Place, Ran, Runner, Unconfined};
