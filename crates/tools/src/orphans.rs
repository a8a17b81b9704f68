//! The processes whose parents have ended, which Linux gives to this process once it has asked for them.
//!
//! A command can remove every mark from its processes, but not hide whose child the last of them becomes. So a child that
//! this process did not start comes from a command. Which one is known only if a single kill is all that goes on: an
//! orphan is killed if no command is in progress other than those being killed, if it is not older than they are, and if
//! it does not carry the mark of a command that has ended and may leave processes running, or of a service. A kill that
//! meets another command in progress is completed when there is none; services, which run for long, do not postpone it.

#[cfg_attr(target_os = "linux", path = "orphans_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "orphans_other.rs")]
mod system;

pub use system::adopt_orphans;
pub(crate) use system::{
    OwnChild, begin, begin_service, close, end_service, forget, leave, reap, reap_from_now_on, start,
};
#[cfg(target_os = "linux")]
pub(crate) use system::{changes, is_unclaimed, postpone, postponed_since, settle};
