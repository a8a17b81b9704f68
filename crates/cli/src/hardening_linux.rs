//! Keeps other processes of the same user, such as the commands that tools run, away from this one.

use std::path::PathBuf;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Closes `/proc/PID/fd`, `environ` and `mem` of this process to others, and keeps keys out of core dumps. A process that
/// this one starts is as open as any other.
pub(crate) fn close_to_others() {
    // An old kernel may refuse; the rest works all the same.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Returns the program that watches this process: itself, also if its file has been replaced meanwhile.
pub(crate) fn watcher() -> Option<PathBuf> {
    Some(PathBuf::from("/proc/self/exe"))
}

/// Leaves the terminal and its signals, to live on for the moment after the watched process is gone.
pub(crate) fn become_watcher() {
    let _ = rustix::process::setsid();
    // Process lists would show `exe`, after the link that was started.
    let _ = std::fs::write("/proc/self/comm", "bowline-watch");
}
