//! The filter of system calls. What it refuses has no use in ordinary work and either leads out of the other two
//! mechanisms or has a history of doing so.

use std::collections::BTreeMap;

use bowline_core::sandbox::SandboxLevel;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::{At as _, Failed};
use crate::policy::Policy;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are refused whatever their arguments.
pub(crate) const REFUSED: &[(&str, i64)] = &[
    ("acct", libc::SYS_acct),
    ("add_key", libc::SYS_add_key),
    ("bpf", libc::SYS_bpf),
    ("chroot", libc::SYS_chroot),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("clock_settime", libc::SYS_clock_settime),
    ("delete_module", libc::SYS_delete_module),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("finit_module", libc::SYS_finit_module),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fsopen", libc::SYS_fsopen),
    ("fspick", libc::SYS_fspick),
    ("init_module", libc::SYS_init_module),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("kcmp", libc::SYS_kcmp),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("kexec_load", libc::SYS_kexec_load),
    ("keyctl", libc::SYS_keyctl),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("open_tree", libc::SYS_open_tree),
    ("open_tree_attr", 467),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pivot_root", libc::SYS_pivot_root),
    ("process_madvise", libc::SYS_process_madvise),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("quotactl", libc::SYS_quotactl),
    ("quotactl_fd", 443),
    ("reboot", libc::SYS_reboot),
    ("request_key", libc::SYS_request_key),
    ("setns", libc::SYS_setns),
    ("settimeofday", libc::SYS_settimeofday),
    ("swapoff", libc::SYS_swapoff),
    ("swapon", libc::SYS_swapon),
    ("syslog", libc::SYS_syslog),
    ("umount2", libc::SYS_umount2),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("vhangup", libc::SYS_vhangup),
    #[cfg(target_arch = "x86_64")]
    ("ioperm", libc::SYS_ioperm),
    #[cfg(target_arch = "x86_64")]
    ("iopl", libc::SYS_iopl),
    #[cfg(target_arch = "x86_64")]
    ("modify_ldt", libc::SYS_modify_ldt),
];

/// The flags of `clone` that make a namespace.
const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    // CLONE_NEWTIME.
    0x80,
];

/// Requests of `ioctl` that put characters into a terminal's input or reach the console.
#[expect(clippy::unnecessary_cast, reason = "the C library of some targets has them as another type")]
const TERMINAL_REQUESTS: [u64; 2] = [libc::TIOCSTI as u64, libc::TIOCLINUX as u64];

/// Execution domains that are harmless: the usual one, a query of the present one, and the one without random addresses,
/// which debuggers use.
const HARMLESS_PERSONALITIES: [u64; 3] = [0, 0xffff_ffff, 0x0004_0000];

/// Calls that give a file its mode, and which of their arguments that is.
const MODE_ARGUMENTS: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    // fchmodat2
    (452, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that open files and may create them, with the arguments that are their flags and the mode.
const OPENING: &[(i64, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// What the numbers of the x32 interface have in addition.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Calls that are refused, always or for some arguments, and that have numbers of their own in the x32 interface.
#[cfg(target_arch = "x86_64")]
const X32_NUMBERS: [(i64, i64); 5] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// Applies the filter to this thread and everything that it starts.
pub(super) fn apply(policy: &Policy) -> Result<(), Failed> {
    // Their flags are in memory, where a filter cannot look. Programs fall back to `clone` and `openat`.
    let absent = Rules::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())]);
    let absent = program(with_x32(absent), libc::ENOSYS).at("building the filter of clone3 and openat2")?;
    let refused = refused(policy).at("building the filter of system calls")?;
    let refused = program(with_x32(refused), libc::EPERM).at("building the filter of system calls")?;
    apply_filter(&absent).at("applying the filter of clone3 and openat2")?;
    apply_filter(&refused).at("applying the filter of system calls")
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let error = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, error, ARCHITECTURE)?.try_into()
}

fn refused(policy: &Policy) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|(_, number)| (*number, Vec::new())).collect();
    if policy.level != SandboxLevel::Full {
        // Without a process namespace it would reach processes that are not confined.
        rules.insert(libc::SYS_ptrace, Vec::new());
    }
    rules.insert(libc::SYS_clone, any_of(0, &SeccompCmpArgLen::Qword, NAMESPACE_FLAGS.iter().map(flag))?);
    let requests = TERMINAL_REQUESTS.iter().map(|request| (SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, any_of(1, &SeccompCmpArgLen::Dword, requests)?);
    rules.insert(libc::SYS_personality, none_of(0, &HARMLESS_PERSONALITIES)?);
    // Landlock lets it pass. Reading the limits of another process has no new ones.
    let other_process = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let new_limits = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other_process, new_limits])?]);
    refuse_set_user_id(&mut rules)?;
    rules.insert(libc::SYS_socket, none_of(0, &families(policy))?);
    rules.insert(libc::SYS_socketpair, none_of(0, &[family(libc::AF_UNIX)])?);
    Ok(rules)
}

/// Refuses to make files that run with the rights of their owner. They would do so for everyone, outside as well.
fn refuse_set_user_id(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let bit = u64::from(libc::S_ISUID);
    let has = |argument, bits| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
    };
    for (number, mode) in MODE_ARGUMENTS {
        rules.insert(*number, vec![SeccompRule::new(vec![has(*mode, bit)?])?]);
    }
    // Without these flags, the mode is whatever happens to be in the register.
    let creating = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    for (number, flags, mode) in OPENING {
        let rule = |flag: i32| {
            SeccompRule::new(vec![has(*flags, u64::from(flag.unsigned_abs()))?, has(*mode, bit)?])
        };
        rules.insert(*number, creating.into_iter().map(rule).collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// Returns the families of sockets that can be made.
fn families(policy: &Policy) -> Vec<u64> {
    let is_full = policy.level == SandboxLevel::Full;
    let has_network = is_full || policy.network == bowline_core::sandbox::SandboxNetwork::Full;
    let mut families = Vec::new();
    // Without namespaces, nothing keeps a socket with a path from reaching the programs of the user.
    if policy.unix_sockets && is_full {
        families.push(libc::AF_UNIX);
    }
    if has_network {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if is_full {
        families.push(libc::AF_NETLINK);
    }
    families.into_iter().map(family).collect()
}

fn family(family: i32) -> u64 {
    u64::from(family.unsigned_abs())
}

fn flag(flag: &i32) -> (SeccompCmpOp, u64) {
    let flag = u64::from(flag.unsigned_abs());
    (SeccompCmpOp::MaskedEq(flag), flag)
}

/// Returns rules that match if one of the comparisons holds for an argument.
fn any_of(
    argument: u8,
    length: &SeccompCmpArgLen,
    comparisons: impl Iterator<Item = (SeccompCmpOp, u64)>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    comparisons
        .map(|(operator, value)| {
            SeccompRule::new(vec![SeccompCondition::new(argument, length.clone(), operator, value)?])
        })
        .collect()
}

/// Returns rules that match if an argument has none of the values; every argument, if there are no values.
fn none_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let conditions = values
        .iter()
        .map(|value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value));
    Ok(vec![SeccompRule::new(conditions.collect::<Result<_, _>>()?)?])
}

/// Adds the same rules for the numbers of the x32 interface.
fn with_x32(rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    let rules = {
        let mut rules = rules;
        let others: Vec<_> = rules.iter().map(|(number, rules)| (number | X32, rules.clone())).collect();
        // Kernels before 5.4 took the numbers without the mark as well.
        let own: Vec<_> = X32_NUMBERS
            .iter()
            .filter_map(|(number, own)| Some((*own, rules.get(number)?.clone())))
            .flat_map(|(own, rules)| [(own, rules.clone()), (own | X32, rules)])
            .collect();
        rules.extend(others);
        rules.extend(own);
        rules
    };
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest call that somebody has thought about: `listns` of Linux 6.19. Since 424 every architecture has the same
    /// numbers. Raise it after a look at what each call in between does: whether it makes mounts or namespaces, reaches
    /// other processes or does the work of a refused call, and so belongs to [`REFUSED`].
    const NEWEST_REVIEWED: i64 = 470;

    /// Returns the names and numbers of the calls in the kernel's headers, if they are installed.
    fn calls_in_headers() -> Option<(&'static str, BTreeMap<String, i64>)> {
        #[cfg(target_arch = "x86_64")]
        let candidates = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"];
        #[cfg(target_arch = "aarch64")]
        let candidates = ["/usr/include/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"];
        let (path, text) =
            candidates.into_iter().find_map(|path| Some((path, std::fs::read_to_string(path).ok()?)))?;
        let calls = text.lines().filter_map(|line| {
            let mut words = line.strip_prefix("#define __NR_")?.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        });
        Some((path, calls.filter(|(name, _): &(String, i64)| name != "syscalls").collect()))
    }

    #[test]
    fn refused_calls_have_the_numbers_of_the_kernel_and_no_newer_call_is_unreviewed() {
        let Some((path, calls)) = calls_in_headers() else {
            println!("The kernel's headers are not installed, so the list of calls was not compared.");
            return;
        };
        assert!(calls.len() > 300, "{path}: {} calls", calls.len());
        for (name, number) in REFUSED {
            // Headers may be older than the list.
            assert!(calls.get(*name).is_none_or(|known| known == number), "{name} is not {number} in {path}");
        }
        let unreviewed: Vec<_> = calls.iter().filter(|(_, number)| **number > NEWEST_REVIEWED).collect();
        assert!(
            unreviewed.is_empty(),
            "decide whether the filter must refuse these calls of {path}: {unreviewed:?}"
        );
    }

    #[test]
    fn refused_calls_are_listed_once() {
        let numbers: std::collections::BTreeSet<i64> = REFUSED.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers.len(), REFUSED.len());
    }

    /// Returns the numbers of the x32 interface, without what marks them, by the names of the calls.
    #[cfg(target_arch = "x86_64")]
    fn x32_in_headers() -> BTreeMap<String, i64> {
        let path = "/usr/include/x86_64-linux-gnu/asm/unistd_x32.h";
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let calls = text.lines().filter_map(|line| {
            let (name, number) = line.strip_prefix("#define __NR_")?.split_once(" (__X32_SYSCALL_BIT + ")?;
            Some((name.to_owned(), number.trim_end_matches(')').parse().ok()?))
        });
        calls.collect()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_call_is_refused_by_its_x32_number_too() {
        let conditional =
            [("ioctl", libc::SYS_ioctl), ("ptrace", libc::SYS_ptrace), ("clone", libc::SYS_clone)];
        let more = [("socket", libc::SYS_socket), ("prlimit64", libc::SYS_prlimit64)];
        let all: Vec<(&str, i64)> = REFUSED.iter().copied().chain(conditional).chain(more).collect();
        let both = with_x32(all.iter().map(|(_, number)| (*number, Vec::new())).collect());
        let known = x32_in_headers();
        for (name, number) in all {
            assert!(both.contains_key(&(number | X32)), "{name}");
            let own = known.get(name).copied().unwrap_or(number);
            assert!(both.contains_key(&(own | X32)), "{name} is {own} in the x32 interface");
        }
    }
}
