//! Attempts 1 to 24: changing files outside, by their names and by everything else that leads to them.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};

use super::attempt::expected::{NOT_ENFORCED, REFUSED};
use super::attempt::{Attempt, Preparation as _, Reach, Tried, refused, row};
use super::caller::{Argument, Caller};
use super::inside::Inside;

use Reach::{Anyone, Machine};

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("1", "file.write", "write a file", REFUSED, Anyone, |inside| append(&inside.file())),
    row("2", "file.create", "create a file", REFUSED, Anyone, create),
    row("3", "file.write", "truncate a file", REFUSED, Anyone, truncate),
    row("4", "file.write", "remove a file", REFUSED, Anyone, |inside| Ok(fs::remove_file(inside.file())?)),
    row("5", "file.create", "create a folder", REFUSED, Anyone, |inside| {
        Ok(fs::create_dir(inside.outside.join("new"))?)
    }),
    row("6", "file.write", "remove a folder", REFUSED, Anyone, |inside| {
        Ok(fs::remove_dir(inside.outside.join("empty"))?)
    }),
    row("7", "file.create", "create a symbolic link", REFUSED, Anyone, |inside| {
        Ok(std::os::unix::fs::symlink("/etc/passwd", inside.outside.join("new"))?)
    }),
    row("8", "file.create", "create a named pipe", REFUSED, Anyone, create_pipe),
    row("9", "file.write", "rename over a file", REFUSED, Anyone, rename_over),
    row("10", "file.write", "rename a file into the workspace", REFUSED, Anyone, |inside| {
        Ok(fs::rename(inside.file(), inside.scratch.join("taken"))?)
    }),
    row("11", "file.write", "exchange a file with one inside", REFUSED, Anyone, exchange),
    row("12", "file.write", "write through a link to a file", REFUSED, Anyone, |inside| {
        append(&inside.scratch.join("link-to-file"))
    }),
    row("13", "file.create", "create through a link to a folder", REFUSED, Anyone, |inside| {
        Ok(fs::write(inside.scratch.join("link-to-folder/new"), "!")?)
    }),
    row("14", "file.write", "write through a link swapped in a race", REFUSED, Anyone, race),
    row("15", "file.hardlink", "make a hard link to a file", REFUSED, Anyone, |inside| {
        let link = inside.scratch.join("new-hard-link");
        fs::hard_link(inside.file(), &link)?;
        append(&link)
    }),
    row(
        "16",
        "file.hardlink.existing",
        "write through a hard link that exists",
        NOT_ENFORCED,
        Anyone,
        |inside| append(&inside.scratch.join("hard-link")),
    ),
    row("17", "file.write", "write by .. from an open folder", REFUSED, Anyone, by_parent),
    row("18", "file.write", "write by /proc/self/root", REFUSED, Anyone, |inside| {
        below("/proc/self/root", &inside.file())
    }),
    row("19", "file.write", "write by /proc/1/root", REFUSED, Machine, |inside| {
        below("/proc/1/root", &inside.file())
    }),
    row("20", "file.write", "write by root and cwd of another process", REFUSED, Anyone, by_process),
    row("21", "file.write", "write by .. from the working folder", REFUSED, Anyone, |inside| {
        let name = inside.outside.file_name().unwrap_or_default();
        append(&Path::new("../outside").join(name).join("file"))
    }),
    row("22", "file.write", "reopen a descriptor for writing", REFUSED, Anyone, reopen),
    row("23", "file.write", "write to an inherited file descriptor", REFUSED, Anyone, inherited_file),
    row("24", "file.write", "create by an inherited folder descriptor", REFUSED, Anyone, inherited_folder),
];

/// Adds a byte to a file that exists.
pub(super) fn append(path: &Path) -> Tried {
    OpenOptions::new().append(true).open(path)?.write_all(b"!")?;
    Ok(())
}

fn create(inside: &Inside) -> Tried {
    Ok(OpenOptions::new().write(true).create_new(true).open(inside.outside.join("new")).map(drop)?)
}

fn truncate(inside: &Inside) -> Tried {
    // By path: the call truncate(2), not open(2) with a flag.
    Caller::new().call(libc::SYS_truncate, [inside.file().as_path().into(), 0.into()]).run_in(&inside.scratch)
}

fn create_pipe(inside: &Inside) -> Tried {
    let path = inside.outside.join("new");
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    Ok(())
}

fn rename_over(inside: &Inside) -> Tried {
    let own = inside.scratch.join("own");
    fs::write(&own, "!").prepared("writing a file in the workspace")?;
    Ok(fs::rename(own, inside.file())?)
}

fn exchange(inside: &Inside) -> Tried {
    let own = inside.scratch.join("own");
    fs::write(&own, "!").prepared("writing a file in the workspace")?;
    Ok(rustix::fs::renameat_with(CWD, own, CWD, inside.file(), RenameFlags::EXCHANGE)?)
}

/// Writes to `race/file` while `race` is in turn a folder of the workspace and a link to the folder outside.
fn race(inside: &Inside) -> Tried {
    let (folder, link) = (inside.scratch.join("race"), inside.scratch.join("race-link"));
    fs::create_dir(&folder).prepared("making a folder")?;
    fs::write(folder.join("file"), "").prepared("making a file")?;
    std::os::unix::fs::symlink(&inside.outside, &link).prepared("making a link")?;
    let victim = inside.file();
    let before = fs::read(&victim).prepared("reading the file outside")?;
    let is_over = AtomicBool::new(false);
    let has_changed = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = rustix::fs::renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        let begin = Instant::now();
        let mut has_changed = false;
        while !has_changed && begin.elapsed() < Duration::from_millis(100) {
            let _ = append(&folder.join("file"));
            has_changed = fs::read(&victim).is_ok_and(|now| now != before);
        }
        is_over.store(true, Ordering::Relaxed);
        has_changed
    });
    if has_changed { Ok(()) } else { refused("no write got through in 100 ms") }
}

fn by_parent(inside: &Inside) -> Tried {
    let folder = File::open(&inside.scratch).prepared("opening a folder of the workspace")?;
    let name = inside.outside.file_name().unwrap_or_default();
    let path = Path::new("../../outside").join(name).join("file");
    let file = rustix::fs::openat(folder, path, OFlags::WRONLY | OFlags::APPEND, Mode::empty())?;
    rustix::io::write(file, b"!")?;
    Ok(())
}

/// Writes to a file below another name of the root folder.
fn below(root: &str, file: &Path) -> Tried {
    append(&Path::new(root).join(file.strip_prefix("/").unwrap_or(file)))
}

fn by_process(inside: &Inside) -> Tried {
    let victim = inside.facts.victim;
    let by_root = below(&format!("/proc/{victim}/root"), &inside.file());
    let name = inside.outside.file_name().unwrap_or_default();
    // The victim's working folder is the one with everything outside.
    let by_folder = append(&Path::new(&format!("/proc/{victim}/cwd")).join(name).join("file"));
    by_root.or(by_folder)
}

fn reopen(inside: &Inside) -> Tried {
    let file = File::open(inside.file()).prepared("opening the file outside for reading")?;
    append(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))
}

fn inherited_file(inside: &Inside) -> Tried {
    Caller::new()
        .call(libc::SYS_write, [inside.facts.inherited_file.into(), b"!".to_vec().into(), 1.into()])
        .run_in(&inside.scratch)
}

fn inherited_folder(inside: &Inside) -> Tried {
    let flags = libc::O_WRONLY | libc::O_CREAT;
    let name: Argument = Path::new("inherited").into();
    Caller::new()
        .call(libc::SYS_openat, [inside.facts.inherited_folder.into(), name, flags.into(), 0o600.into()])
        .run_in(&inside.scratch)
}
