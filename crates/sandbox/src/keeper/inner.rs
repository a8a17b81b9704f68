//! The inner process of a keeper: it finishes the set-up, gives up its rights, proves it, and serves calls.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use bowline_core::sandbox::SandboxLevel;
use nix::mount::{MsFlags, mount};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};

use super::{At as _, Failed, capabilities, filter, landlock_rules, loopback, probes, report, serve, socket};
use crate::frames::{self, FromKeeper, Ready};
use crate::policy::Policy;

const NONE: Option<&str> = None;

/// What of `/proc` speaks of the machine and is not to be changed.
const READ_ONLY_IN_PROC: [&str; 4] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

/// Runs the inner process.
pub(super) fn main() -> ExitCode {
    match set_up() {
        Ok((socket, policy)) => serve::main(socket, &policy),
        Err(failed) => report(failed),
    }
}

fn set_up() -> Result<(UnixStream, Policy), Failed> {
    set_parent_process_death_signal(Some(Signal::KILL)).at("asking to end with the keeper")?;
    let socket = socket().at("opening the socket")?;
    let policy: Policy = frames::read(&socket).at("reading the policy")?;
    let listener = if policy.level == SandboxLevel::Full { finish_namespaces(&policy)? } else { None };
    let _ = fs::write("/proc/self/comm", "bowline-keeper");
    capabilities::give_up().at("giving up all rights")?;
    let landlock_abi = landlock_rules::apply(&policy)?;
    filter::apply(&policy)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).at("closing this process to others")?;
    let ready = Ready { landlock_abi, mechanisms: mechanisms(&policy), probes: probes::run(&policy) };
    say_ready(&socket, ready, listener.as_ref()).at("reporting that it is ready")?;
    Ok((socket, policy))
}

/// Does what needs the rights of the namespaces.
fn finish_namespaces(policy: &Policy) -> Result<Option<TcpListener>, Failed> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, NONE).at("mounting /proc")?;
    for path in READ_ONLY_IN_PROC {
        if Path::new(path).exists() {
            let step = || format!("keeping {path} read-only");
            mount(Some(path), path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE).at(step())?;
            let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | flags;
            mount(NONE, path, NONE, read_only, NONE).at(step())?;
        }
    }
    if policy.has_own_network() {
        loopback::switch_on().at("switching on the loopback interface")?;
    }
    let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).at("listening for the proxy");
    policy.proxy_port.map(listen).transpose()
}

fn mechanisms(policy: &Policy) -> Vec<String> {
    let mut names = Vec::new();
    if policy.level == SandboxLevel::Full {
        names.extend(["userns", "mountns", "pidns", "ipcns"]);
        if policy.has_own_network() {
            names.push("netns");
        }
    }
    names.extend(["landlock", "seccomp", "nonewprivs", "nocaps"]);
    names.into_iter().map(str::to_owned).collect()
}

/// Tells bowline that calls can be made, and hands the proxy's socket over with it. It belongs to the namespace in which
/// it was made, whoever holds it.
fn say_ready(mut socket: &UnixStream, ready: Ready, listener: Option<&TcpListener>) -> io::Result<()> {
    let bytes = frames::encode(&FromKeeper::Ready(ready))?;
    let Some(listener) = listener else { return io::Write::write_all(&mut socket, &bytes) };
    let descriptors = [listener.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(socket, &[io::IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty())?;
    io::Write::write_all(&mut socket, &bytes[sent..])
}
