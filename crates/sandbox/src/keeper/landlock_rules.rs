//! The rules of Landlock: what may be read, what may be written, and that neither signals nor abstract sockets lead out.

use std::path::{Path, PathBuf};

use bowline_core::sandbox::{SandboxLevel, SandboxNetwork};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

use super::{At as _, Failed};
use crate::policy::Policy;

/// The newest version whose rights are used.
const NEWEST: ABI = ABI::V7;

/// The version from which on truncating a file is a right, without which files outside could be emptied.
const LEAST_ALONE: u32 = 3;

/// The devices that programs need.
const DEVICES: [&str; 7] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"];

/// How many entries of folders are looked at to leave out what is masked.
const MOST_ENTRIES: usize = 100_000;

/// Restricts this thread and everything that it starts. Returns the version of the kernel's Landlock.
pub(super) fn apply(policy: &Policy) -> Result<u32, Failed> {
    let status = restrict(policy).at("applying the rules of Landlock")?;
    let version = version(&status);
    let least = if policy.level == SandboxLevel::Full { 1 } else { LEAST_ALONE };
    if version < least || status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        let problem = format!("the kernel has version {version} of it, and {least} is needed");
        return Err(Failed { step: "applying the rules of Landlock".to_owned(), problem });
    }
    Ok(version)
}

/// Restricts what this thread starts a little more, so that it cannot signal this process.
///
/// Moving and linking files between folders is the one right that every set of rules takes away unless it gives it back.
pub(crate) fn restrict_signals() -> Result<(), RulesetError> {
    let rules = Ruleset::default().handle_access(AccessFs::Refer)?.scope(Scope::Signal)?.create()?;
    rules.add_rules(path_beneath_rules(["/"], AccessFs::Refer))?.restrict_self().map(|_| ())
}

fn restrict(policy: &Policy) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    // In a network namespace, programs of the session may talk to each other.
    if policy.level != SandboxLevel::Full && policy.network != SandboxNetwork::Full {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let rules = readable(policy, rules.create()?)?;
    let rules = writable(policy, rules)?;
    rules.restrict_self()
}

/// Lets everything be read. Where masks are no mounts, what they cover is left out.
fn readable(policy: &Policy, rules: RulesetCreated) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    if policy.level == SandboxLevel::Full {
        return rules.add_rules(path_beneath_rules(["/"], read));
    }
    let mut places = Vec::new();
    let mut left = MOST_ENTRIES;
    around(Path::new("/"), &policy.masked, &mut places, &mut left);
    let rules = rules.add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?;
    rules.add_rules(path_beneath_rules(places, read))
}

/// Collects the paths that contain everything in a folder but what is masked.
fn around(folder: &Path, masked: &[PathBuf], places: &mut Vec<PathBuf>, left: &mut usize) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let path = entry.path();
        // A link is judged by what it leads to, which is elsewhere.
        if masked.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        if masked.iter().any(|mask| mask.starts_with(&path)) {
            around(&path, masked, places, left);
        } else {
            places.push(path);
        }
    }
}

fn writable(policy: &Policy, rules: RulesetCreated) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let device: BitFlags<AccessFs> =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    let rules = rules.add_rules(path_beneath_rules(devices, device))?;
    let rules = rules.add_rules(path_beneath_rules(&policy.writable, all))?;
    if policy.level != SandboxLevel::Full {
        // The terminals of programs inside are made by the machine's own multiplexer.
        let rules = rules.add_rules(path_beneath_rules(["/dev/pts"], device))?;
        // Semaphores are files there, which many programs cannot do without.
        let own = [policy.private_tmp.as_path(), Path::new("/dev/shm")];
        return rules.add_rules(path_beneath_rules(own, all));
    }
    let overlay = policy.home_store.as_ref().and(policy.home.as_deref());
    let own = [Path::new("/tmp"), Path::new("/dev/pts"), Path::new("/dev/shm")];
    rules.add_rules(path_beneath_rules(own.into_iter().chain(overlay), all))
}

/// Returns the version of the kernel's Landlock; 0 if it has none.
pub(super) fn version(status: &RestrictionStatus) -> u32 {
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            let known = effective_abi as i32;
            kernel_abi.unwrap_or(known).unsigned_abs()
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    }
}

/// Finds out the version of the kernel's Landlock by restricting this process in a way that changes nothing for it.
pub(super) fn try_version() -> u32 {
    let restrict = || Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?.restrict_self();
    restrict().map_or(0, |status| version(&status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_masked_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["a/keep", "a/secret/key", "a/deep/secret", "b"] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(root.join("a/secret"), root.join("link")).unwrap();
        let masked = [root.join("a/secret"), root.join("a/deep/secret")];
        let (mut places, mut left) = (Vec::new(), 100);
        around(&root, &masked, &mut places, &mut left);
        places.sort();
        assert_eq!(places, [root.join("a/keep"), root.join("b")]);
    }
}
