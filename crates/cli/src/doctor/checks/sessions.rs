//! The folder of sessions: whether it can be written, how much space is left, who else can read it, damaged files.

use std::path::Path;
use std::time::{Duration, Instant};

use bowline_session::{Store, check_file};

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, command};
use crate::startup;

/// The most files that are read, the newest first, and how long that may take.
const MOST_FILES: usize = 200;
const LONGEST_LOOK: Duration = Duration::from_secs(3);

/// With less space than this, a long session may fill the disk.
const LITTLE_SPACE: u64 = 200 * 1024 * 1024;

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    let environment = &facts.environment;
    let plan = startup::session_plan(&facts.arguments, environment, &facts.entry.start, &facts.file);
    let Some(store) = plan.store else { return Vec::new() };
    let folder = store.root();
    let shown = facts.shown(folder);
    if folder.symlink_metadata().is_ok() && !folder.is_dir() {
        return vec![Finding::broken(format!("{shown} is not a folder")).because("Sessions cannot be kept.")];
    }
    let Some(existing) = folder.ancestors().find(|folder| folder.is_dir()) else { return Vec::new() };
    // Permissions do not tell: the file system may be read-only or full.
    if let Err(error) = try_to_write(existing) {
        return vec![
            Finding::broken(format!("{shown} cannot be written: {error}"))
                .because("Sessions cannot be kept; --no-session does without.")
                .remedy(command("ls -ld", existing)),
        ];
    }
    let mut findings = Vec::new();
    if let Some(free) = free_space(existing).filter(|free| *free < LITTLE_SPACE) {
        let mebibytes = free / (1024 * 1024);
        findings.push(
            Finding::look(format!("only {mebibytes} MiB are free for {shown}"))
                .remedy("bowline sessions list --all"),
        );
    }
    if bowline_files::mode(folder).is_some_and(|mode| mode & 0o077 != 0) {
        findings.push(
            Finding::look(format!("{shown} can be entered by other users"))
                .because("Sessions have what was said, and the files that were read.")
                .remedy(command("chmod go=", folder)),
        );
    }
    findings.extend(damaged(facts, &store));
    findings.insert(0, Finding::fine(format!("sessions are kept in {shown}, which can be written")));
    findings
}

/// Makes a file and removes it again.
fn try_to_write(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".bowline-doctor-{}", std::process::id()));
    bowline_files::private_file().write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}

/// Returns what is wrong with the newest sessions.
fn damaged(facts: &Facts, store: &Store) -> Vec<Finding> {
    let mut files = match store.all_files() {
        Ok(files) => files,
        Err(error) => return vec![Finding::broken(error.to_string())],
    };
    let modified = |path: &std::path::PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    files.sort_by_cached_key(|path| std::cmp::Reverse(modified(path)));
    let began = Instant::now();
    let mut looked_at = 0;
    let mut damaged = Vec::new();
    for file in files.iter().take(MOST_FILES).take_while(|_| began.elapsed() < LONGEST_LOOK) {
        looked_at += 1;
        if !check_file(file).is_ok_and(|report| !report.needs_repair()) {
            damaged.push(facts.shown(file));
        }
    }
    let of = match files.len() {
        all if all == looked_at => format!("{all}"),
        all => format!("the newest {looked_at} of {all}"),
    };
    if damaged.is_empty() {
        return Vec::from_iter(
            (looked_at > 0).then(|| Finding::fine(format!("{of} sessions were read, none is damaged"))),
        );
    }
    let count = damaged.len();
    let first = damaged.swap_remove(0);
    vec![
        Finding::look(format!("{count} of {of} sessions damaged or unreadable, the newest is {first}"))
            .because("They open without the damaged lines.")
            .remedy("bowline sessions fsck")
            .remedy("bowline sessions fsck --repair"),
    ]
}
