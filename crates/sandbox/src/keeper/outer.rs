//! The outer process of a keeper: it makes the namespaces, starts the inner process and waits for it.

use std::fs;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use bowline_core::sandbox::SandboxLevel;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, waitpid,
};

use super::{At as _, Failed, INNER, KEEPER_ROLE, namespaces, report, socket};
use crate::frames;
use crate::policy::Policy;

/// How often the end of a process is looked for while the others are killed.
const GLANCE: Duration = Duration::from_micros(300);

/// Runs the outer process.
pub(super) fn main() -> ExitCode {
    // Process lists would show `exe`, after the link that was started.
    let _ = fs::write("/proc/self/comm", "bowline-keeper");
    run().unwrap_or_else(report)
}

fn run() -> Result<ExitCode, Failed> {
    // A descriptor that is inherited leads past everything that follows.
    close_fds::set_fds_cloexec(3, &[]);
    let policy: Policy = frames::read(socket().at("opening the socket")?).at("reading the policy")?;
    if policy.level != SandboxLevel::Full {
        return supervise(&policy);
    }
    set_parent_process_death_signal(Some(Signal::KILL)).at("asking to end with bowline")?;
    // The signal is not sent for a parent that is gone already.
    if !is_child_of(policy.parent) {
        return Ok(ExitCode::FAILURE);
    }
    // The list is that of the machine's network namespace.
    let sockets = namespaces::listening_sockets();
    namespaces::enter(policy.has_own_network())?;
    namespaces::arrange(&policy, &sockets)?;
    namespaces::enter_working_directory(&policy)?;
    let mut inner = start_inner()?;
    let status = inner.wait().at("waiting for the confined process")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_child_of(parent: u32) -> bool {
    getppid().map(Pid::as_raw_pid) == i32::try_from(parent).ok()
}

fn start_inner() -> Result<Child, Failed> {
    let mut command = Command::new("/proc/self/exe");
    command.args([KEEPER_ROLE, INNER]).stdin(Stdio::inherit()).stdout(Stdio::null());
    command.spawn().at("starting the confined process")
}

/// Waits, where there is no process namespace, until the inner process or bowline has ended, and kills whatever is left.
fn supervise(policy: &Policy) -> Result<ExitCode, Failed> {
    set_child_subreaper(Some(getpid())).at("becoming the parent of orphans")?;
    let mut inner = start_inner()?;
    wait_for_the_end(&mut inner, policy);
    kill_descendants();
    Ok(ExitCode::SUCCESS)
}

/// Waits until the inner process has exited or bowline has closed its end of the socket.
fn wait_for_the_end(inner: &mut Child, policy: &Policy) {
    let Ok(socket) = socket() else { return };
    let Ok(number) = i32::try_from(inner.id()) else { return };
    let exit = Pid::from_raw(number)
        .and_then(|process| rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok());
    let Some(exit) = exit else { return };
    loop {
        // What arrives is for the inner process; only the end of the connection is waited for.
        let mut events = [
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::RDHUP),
            PollFd::from_borrowed_fd(exit.as_fd(), PollFlags::IN),
        ];
        match poll(&mut events, None) {
            Err(Errno::INTR) => {}
            Err(_) => return,
            Ok(_) => {
                let is_over = events.iter().any(|event| !event.revents().is_empty());
                if is_over || !is_child_of(policy.parent) {
                    return;
                }
            }
        }
    }
}

/// Kills all descendants until none is left. Orphans among them are children of this process.
fn kill_descendants() {
    loop {
        let mut found = Vec::new();
        children_of(std::process::id().cast_signed(), &mut found, 0);
        for process in found.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
        loop {
            match waitpid(None, WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(GLANCE);
    }
}

/// How deep the tree of processes is followed. What is deeper is found when what is above it is dead.
const DEEPEST: usize = 64;

fn children_of(process: i32, found: &mut Vec<i32>, depth: usize) {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in list.split_ascii_whitespace().filter_map(|number| number.parse().ok()) {
            found.push(child);
            if depth < DEEPEST {
                children_of(child, found, depth + 1);
            }
        }
    }
}
