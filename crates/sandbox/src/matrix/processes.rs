//! Attempts 63 to 74: reaching other processes of the user, bowline and the keeper among them.
//!
//! In a sandbox with process numbers of its own the number of a victim means nothing, or another process of the sandbox.
//! So what succeeded counts only if the process is the one that was meant.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, Signal};

use super::attempt::expected::{REFUSED, REFUSED_IN_FULL};
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, refused, row};
use super::caller::{Argument, Caller};
use super::inside::Inside;
use super::victim;

use Reach::{Anyone, Machine, Nobody};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("63", "process.signal", "kill another process", REFUSED, Anyone, |inside| {
        on_victim(inside, |_, process| Ok(rustix::process::kill_process(pid(process)?, Signal::TERM)?))
    }),
    row("64", "process.memory", "trace another process", REFUSED, Machine, |inside| on_victim(inside, trace)),
    row("65", "process.memory", "read its memory by process_vm_readv", REFUSED, Machine, |inside| {
        on_victim(inside, |inside, process| read_by_call(inside, process, inside.facts.secret_address))
    }),
    row("66", "process.memory", "read its memory by /proc/PID/mem", REFUSED, Machine, |inside| {
        on_victim(inside, |inside, process| read_by_file(process, inside.facts.secret_address))
    }),
    row("67", "process.memory", "read its environment", REFUSED, Anyone, |inside| {
        on_victim(inside, environment)
    }),
    row("68", "process.memory", "take one of its descriptors", REFUSED, Machine, |inside| {
        on_victim(inside, take_descriptor)
    }),
    row("69", "process.memory", "change its limits", REFUSED, Anyone, |inside| {
        on_victim(inside, |_, process| limit(process))
    }),
    row("70", "process.signal", "signal bowline", REFUSED, Anyone, |inside| signal(agent(inside)?)),
    row("70b", "process.memory", "trace bowline", REFUSED, Machine, |inside| trace(inside, agent(inside)?)),
    row("70c", "process.memory", "read its memory by process_vm_readv", REFUSED, Machine, |inside| {
        let agent = agent(inside)?;
        read_by_call(inside, agent, mapped_address(agent))
    }),
    row("70d", "process.memory", "open its memory by /proc/PID/mem", REFUSED, Machine, |inside| {
        open_memory(agent(inside)?)
    }),
    row("70e", "process.memory", "read its environment", REFUSED, Machine, |inside| {
        environment(inside, agent(inside)?)
    }),
    row("70f", "process.memory", "change its limits", REFUSED, Machine, |inside| same_limit(agent(inside)?)),
    Attempt {
        then: Some(keeper_was_killed),
        ..row("71", "process.signal", "kill the keeper", REFUSED, Nobody, kill_keeper)
    },
    row("71b", "process.memory", "trace the keeper", REFUSED, Nobody, |inside| trace(inside, keeper()?)),
    row("71c", "process.memory", "read its memory by process_vm_readv", REFUSED, Nobody, |inside| {
        let keeper = keeper()?;
        read_by_call(inside, keeper, mapped_address(keeper))
    }),
    row("71d", "process.memory", "open its memory by /proc/PID/mem", REFUSED, Nobody, |_| {
        open_memory(keeper()?)
    }),
    row("71e", "process.memory", "read its environment", REFUSED, Nobody, |inside| {
        environment(inside, keeper()?)
    }),
    row("71f", "process.memory", "change its limits", REFUSED, Nobody, |_| same_limit(keeper()?)),
    row("72", "process.visible", "see other processes", REFUSED_IN_FULL, Anyone, |inside| {
        match is_victim(inside) {
            true => Ok(()),
            false => refused("the process is not in /proc"),
        }
    }),
    row("73", "ipc", "reach shared memory of others", REFUSED_IN_FULL, Anyone, |inside| {
        Caller::new()
            .call(libc::SYS_shmget, [inside.facts.memory_key.into(), 0.into(), 0.into()])
            .call(libc::SYS_shmat, [Argument::Result(0), 0.into(), 0.into()])
            .run_in(&inside.scratch)
    }),
    row("74", "ipc", "send to a message queue of others", REFUSED_IN_FULL, Anyone, |inside| {
        // The type of the message and one byte of text.
        let message = [1u64.to_le_bytes(), *b"!\0\0\0\0\0\0\0"].concat();
        Caller::new()
            .call(libc::SYS_msgget, [inside.facts.queue_key.into(), 0.into()])
            .call(libc::SYS_msgsnd, [Argument::Result(0), message.into(), 1.into(), libc::IPC_NOWAIT.into()])
            .run_in(&inside.scratch)
    }),
];

fn pid(process: i32) -> Result<Pid, Stop> {
    Pid::from_raw(process).ok_or_else(|| Stop::Failed(format!("{process} is not a process")))
}

/// Tells whether the number of the victim means the victim here.
fn is_victim(inside: &Inside) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", inside.facts.victim)).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(&inside.facts.token)
}

/// Tries something on the victim.
fn on_victim(inside: &Inside, act: impl Fn(&Inside, i32) -> Tried) -> Tried {
    let was_visible = is_victim(inside);
    match act(inside, inside.facts.victim) {
        Ok(()) if !was_visible => refused("the number is of another process here"),
        other => other,
    }
}

fn trace(inside: &Inside, process: i32) -> Tried {
    // PTRACE_SEIZE, which does not stop the process, and ends with this program.
    const SEIZE: i32 = 0x4206;
    Caller::new()
        .call(libc::SYS_ptrace, [SEIZE.into(), process.into(), 0.into(), 0.into()])
        .run_in(&inside.scratch)
}

fn read_by_call(inside: &Inside, process: i32, address: u64) -> Tried {
    let length = victim::SECRET.len() as u64;
    let local = [0u64.to_le_bytes(), length.to_le_bytes()].concat();
    let remote = [address.to_le_bytes(), length.to_le_bytes()].concat();
    Caller::new()
        .call(
            libc::SYS_process_vm_readv,
            [
                process.into(),
                Argument::Pointing(local, vec![(0, vec![0; victim::SECRET.len()])]),
                1.into(),
                remote.into(),
                1.into(),
                0.into(),
            ],
        )
        .run_in(&inside.scratch)
}

fn read_by_file(process: i32, address: u64) -> Tried {
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    memory.seek(SeekFrom::Start(address))?;
    let mut bytes = vec![0; victim::SECRET.len()];
    Ok(memory.read_exact(&mut bytes)?)
}

fn environment(_: &Inside, process: i32) -> Tried {
    match fs::read(format!("/proc/{process}/environ"))?.is_empty() {
        true => refused("it is empty"),
        false => Ok(()),
    }
}

fn take_descriptor(_: &Inside, process: i32) -> Tried {
    let process = rustix::process::pidfd_open(pid(process)?, PidfdFlags::empty())?;
    let taken = rustix::process::pidfd_getfd(process, 0, PidfdGetfdFlags::empty())?;
    rustix::io::write(taken, b"!")?;
    Ok(())
}

fn limit(process: i32) -> Tried {
    // One that the victim notices nothing of, lowered to what no process has.
    let new = Rlimit { current: Some(7), maximum: Some(7) };
    rustix::process::prlimit(Some(pid(process)?), Resource::Msgqueue, new)?;
    Ok(())
}

/// Sends a signal that is ignored unless a process handles it.
fn signal(process: i32) -> Tried {
    Ok(rustix::process::kill_process(pid(process)?, Signal::URG)?)
}

/// Kills the keeper. The first process of a namespace may be sent the signal, but is not killed by it; so whether it was
/// is for the next command to see, by a file in the private `/tmp` of this keeper.
fn kill_keeper(inside: &Inside) -> Tried {
    let keeper = pid(keeper()?)?;
    fs::write(mark(inside), "").prepared("writing a file in the private /tmp")?;
    rustix::process::kill_process(keeper, Signal::KILL)?;
    rustix::process::kill_process(keeper, Signal::TERM)?;
    Ok(())
}

fn keeper_was_killed(inside: &Inside) -> Tried {
    keeper()?;
    match mark(inside).exists() {
        true => refused("it lives on"),
        false => Ok(()),
    }
}

fn mark(inside: &Inside) -> PathBuf {
    let temporary = inside.environment.iter().find(|(name, _)| name == "TMPDIR");
    Path::new(temporary.map_or("/tmp", |(_, path)| path)).join(format!("{}.mark", inside.facts.token))
}

fn open_memory(process: i32) -> Tried {
    Ok(fs::File::open(format!("/proc/{process}/mem")).map(drop)?)
}

/// Sets a limit of a process to what it is.
fn same_limit(process: i32) -> Tried {
    let text = fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max msgqueue size")).unwrap_or_default();
    let mut words = line.split_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || words.next().flatten().unwrap_or(819_200);
    let new = Rlimit { current: Some(next()), maximum: Some(next()) };
    rustix::process::prlimit(Some(pid(process)?), Resource::Msgqueue, new)?;
    Ok(())
}

/// Returns the process of bowline, unless its number means a process of the sandbox here: this program's own kind, or
/// one that it has started.
fn agent(inside: &Inside) -> Result<i32, Stop> {
    let process = inside.facts.bowline;
    let Ok(line) = fs::read(format!("/proc/{process}/cmdline")) else { return Ok(process) };
    let is_checker = String::from_utf8_lossy(&line).contains("check");
    // Its name says nothing when a test drives the checker, but then it is an ancestor or out of sight.
    match is_checker || ancestors().contains(&process) {
        true => Ok(process),
        false => Err(Stop::Refused("the number is of another process here".to_owned())),
    }
}

/// Returns an address that a process has mapped, or one that it may have.
fn mapped_address(process: i32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let first = maps.split('-').next().unwrap_or_default();
    u64::from_str_radix(first, 16).unwrap_or(super::caller::BASE)
}

/// Returns the processes that this one descends from, the nearest first.
fn ancestors() -> Vec<i32> {
    let parent_of = |process: &i32| -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        parent.trim().parse().ok().filter(|parent| *parent > 0)
    };
    let first = Pid::as_raw(rustix::process::getppid());
    std::iter::successors(Some(first).filter(|parent| *parent > 0), parent_of).collect()
}

/// Returns the process that runs the commands: the nearest ancestor in that role.
fn keeper() -> Result<i32, Stop> {
    let is_keeper = |process: &i32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("__keeper")
    };
    let keeper = ancestors().into_iter().find(is_keeper);
    keeper.ok_or_else(|| Stop::Absent("no keeper can be seen".to_owned()))
}
