//! What holds: each promise with the probe that proved it, and what is not enforced, in plain words.

use std::path::PathBuf;

use bowline_core::sandbox::{NotEnforced, Promise, PromiseState, SandboxLevel, SandboxNetwork};

use crate::frames::ProbeResult;

/// A promise of the sandbox.
struct Text {
    id: &'static str,
    text: &'static str,
    /// Whether it holds at a level with a network.
    holds: fn(SandboxLevel, SandboxNetwork) -> bool,
}

fn always(_: SandboxLevel, _: SandboxNetwork) -> bool {
    true
}

fn with_namespaces(level: SandboxLevel, _: SandboxNetwork) -> bool {
    level == SandboxLevel::Full
}

fn without_network(_: SandboxLevel, network: SandboxNetwork) -> bool {
    network != SandboxNetwork::Full
}

/// Every promise.
const PROMISES: &[Text] = &[
    Text { id: "file.write", text: "Files outside of what is writable keep their content.", holds: always },
    Text { id: "file.create", text: "Nothing is created outside of what is writable.", holds: always },
    Text {
        id: "file.metadata",
        text: "Files outside keep their mode, times and attributes.",
        holds: with_namespaces,
    },
    Text { id: "file.hardlink", text: "Files outside get no second name inside.", holds: always },
    Text { id: "file.masked", text: "Credentials and bowline's own folder cannot be read.", holds: always },
    Text {
        id: "file.protected",
        text: "Git hooks, git configuration and the settings of agents and editors stay as they are.",
        holds: with_namespaces,
    },
    Text {
        id: "network.outside",
        text: "No connection leaves the sandbox but through the list of hosts.",
        holds: without_network,
    },
    Text { id: "network.vsock", text: "The hypervisor cannot be reached.", holds: always },
    Text { id: "network.packet", text: "No raw packets are sent or seen.", holds: always },
    Text {
        id: "socket.abstract",
        text: "Abstract sockets of other programs cannot be reached.",
        holds: always,
    },
    Text {
        id: "socket.path",
        text: "Sockets that programs listened at by their full paths at the start cannot be reached.",
        holds: always,
    },
    Text { id: "process.signal", text: "No other process of the user can be signalled.", holds: always },
    Text {
        id: "process.memory",
        text: "No other process of the user, bowline included, can be traced, read or limited.",
        holds: always,
    },
    Text { id: "process.visible", text: "Other processes cannot be seen.", holds: with_namespaces },
    Text { id: "process.end", text: "Every process ends with bowline, however it ends.", holds: always },
    Text { id: "kernel.mount", text: "Nothing can be mounted.", holds: always },
    Text { id: "kernel.namespaces", text: "No new namespaces can be made.", holds: always },
    Text {
        id: "kernel.calls",
        text: "Calls with a history of escapes (io_uring, bpf, keyrings and others) are refused.",
        holds: always,
    },
    Text {
        id: "kernel.rights",
        text: "There are no capabilities, and no program can get any.",
        holds: always,
    },
    Text {
        id: "kernel.devices",
        text: "Disks, memory and settings of the machine cannot be opened for writing.",
        holds: always,
    },
    Text {
        id: "ipc",
        text: "Shared memory and queues are those of the sandbox alone.",
        holds: with_namespaces,
    },
    Text { id: "command.environment", text: "A command leaves no variables to the next one.", holds: always },
    Text { id: "secrets.environment", text: "Keys in the environment are not passed on.", holds: always },
];

/// Returns every promise with its id and its text, and whether it holds without namespaces, too.
pub fn all_promises() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let holds = |promise: &Text| (promise.holds)(SandboxLevel::Landlock, SandboxNetwork::None);
    PROMISES.iter().map(move |promise| (promise.id, promise.text, holds(promise)))
}

/// Returns what is not enforced at the level `full` without a network, and what is not either at the level `landlock`.
pub fn all_gaps() -> (Vec<NotEnforced>, Vec<NotEnforced>) {
    let full = not_enforced(SandboxLevel::Full, SandboxNetwork::None);
    let mut landlock = not_enforced(SandboxLevel::Landlock, SandboxNetwork::None);
    landlock.retain(|gap| !full.contains(gap));
    (full, landlock)
}

/// Returns the promises, as proved by these probes at this time.
pub(crate) fn promises(
    level: SandboxLevel,
    network: SandboxNetwork,
    probes: Option<(&[ProbeResult], u64)>,
) -> Vec<Promise> {
    let promises = PROMISES.iter().map(|promise| {
        let tried = probes.and_then(|(probes, at)| {
            let probe = probes.iter().find(|probe| probe.promise == promise.id)?;
            Some((probe.refused, at))
        });
        let (state, at) = match (tried, (promise.holds)(level, network)) {
            (Some((true, at)), _) => (PromiseState::Proved, Some(at)),
            (Some((false, _)), _) | (None, false) => (PromiseState::Absent, None),
            (None, true) => (PromiseState::Assumed, None),
        };
        Promise { id: promise.id.to_owned(), state, text: promise.text.to_owned(), at }
    });
    promises.collect()
}

/// Returns what is not enforced.
pub(crate) fn not_enforced(level: SandboxLevel, network: SandboxNetwork) -> Vec<NotEnforced> {
    let mut list = vec![
        (
            "file.hardlink.existing",
            "A file in the workspace that has another name outside is changed under both names.",
        ),
        (
            "file.later",
            "Whatever you run from the workspace later, such as scripts and build files, runs with your rights.",
        ),
        (
            "file.protected.new",
            "Protected files that did not exist are restored after the command, not prevented; if bowline is killed before, they stay.",
        ),
        ("file.reading", "Everything but credentials can be read, and an answer of the model may repeat it."),
        ("resources", "Processor time, memory and disk space are not limited."),
        (
            "extensions",
            "Extensions, hooks and MCP servers that you have configured run outside of the sandbox.",
        ),
        (
            "socket.path.later",
            "A socket that a program outside makes later at a visible path, renames, or makes by a relative path can be reached.",
        ),
        (
            "file.replaced",
            "A credential or a git configuration that another program replaces while a command runs is open to that command; the \
             next one finds it closed.",
        ),
    ];
    match network {
        SandboxNetwork::None => {}
        SandboxNetwork::AllowList => list.push((
            "network.content",
            "What is sent to a host of the list is not looked at, nor whether other sites share its address.",
        )),
        SandboxNetwork::Full => list.push((
            "network.full",
            "The whole network can be reached, also services on this machine and in its neighbourhood.",
        )),
    }
    if level != SandboxLevel::Full {
        list.retain(|(id, _)| !matches!(*id, "socket.path.later" | "file.replaced"));
        list.extend([
            ("file.metadata", "Mode, times and attributes of your files outside can be changed."),
            (
                "file.protected",
                "Protected files in the workspace are restored after the command, not prevented.",
            ),
            (
                "file.listing",
                "Names of files in masked folders can be listed, but the files cannot be opened.",
            ),
            (
                "process.visible",
                "Other processes can be seen and given a lower priority, but not signalled or read.",
            ),
            ("terminal", "Your other terminals can be read and written."),
            ("ipc", "System V shared memory and queues, and /dev/shm, are shared with your other programs."),
            (
                "network.loopback",
                "There is no localhost: servers and sockets do not work unless the network is full.",
            ),
        ]);
    }
    list.into_iter().map(|(id, why)| NotEnforced { id: id.to_owned(), why: why.to_owned() }).collect()
}

/// Returns what is not enforced because these paths should be masked and are not.
pub(crate) fn unmasked(paths: &[PathBuf]) -> Option<NotEnforced> {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    (!names.is_empty()).then(|| NotEnforced {
        id: "file.masked.inside".to_owned(),
        why: format!(
            "What is in a folder that tools may write cannot be masked without namespaces: {}.",
            names.join(", ")
        ),
    })
}

/// Returns what is not enforced because there are so many repositories.
pub(crate) fn left_out(repositories: usize) -> Option<NotEnforced> {
    (repositories > 0).then(|| NotEnforced {
        id: "file.protected.many".to_owned(),
        why: format!(
            "{repositories} repositories in the workspace are not protected, because there are too many."
        ),
    })
}
