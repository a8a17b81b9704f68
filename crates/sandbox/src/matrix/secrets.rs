//! Attempts 109 to 113: reading what only the user and bowline should know.

use std::fs;
use std::path::Path;

use super::attempt::expected::REFUSED;
use super::attempt::{Attempt, Reach, Stop, Tried, refused, row};
use super::files::append;
use super::fixture::{KEY, KEY_VARIABLE};

use Reach::{Anyone, Machine};

pub(super) const ATTEMPTS: &[Attempt] =
    &[
        row("109", "file.masked", "read a key of ssh", REFUSED, Anyone, |inside| {
            read(&inside.home().join(".ssh/id_ed25519"))
        }),
        row("110", "file.masked", "read bowline's auth.json", REFUSED, Anyone, |inside| {
            read(&inside.fixture.join("bowline/auth.json"))
        }),
        row("111", "file.write", "change a session file", REFUSED, Anyone, |inside| {
            append(&inside.fixture.join("bowline/sessions/session.jsonl"))
        }),
        row("112", "secrets.environment", "find a key in the environment", REFUSED, Anyone, |inside| {
            match inside.environment.iter().any(|(name, value)| name == KEY_VARIABLE || value.contains(KEY)) {
                true => Ok(()),
                false => refused("the variable is not there"),
            }
        }),
        row("113", "process.memory", "find a key in bowline's memory", REFUSED, Machine, |inside| {
            search_memory(inside.facts.bowline)
        }),
    ];

/// Reads the secret that a file has; a mask in its place is empty.
fn read(path: &Path) -> Tried {
    match fs::read_to_string(path)?.contains(KEY) {
        true => Ok(()),
        false => refused("the file is masked"),
    }
}

/// Searches what a process has written to its memory, as far as it is readable.
fn search_memory(process: i32) -> Tried {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    let ranges = maps.lines().filter(|line| line.contains(" rw-p ")).filter_map(|line| {
        let (begin, end) = line.split_whitespace().next()?.split_once('-')?;
        Some((u64::from_str_radix(begin, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    });
    for (begin, end) in ranges {
        let mut bytes = vec![0; (end - begin).min(64 << 20) as usize];
        let read = memory.seek(SeekFrom::Start(begin)).and_then(|_| memory.read(&mut bytes));
        let Ok(length) = read else { continue };
        if bytes[..length].windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
            return Ok(());
        }
    }
    Err(Stop::Refused("the key was not found".to_owned()))
}
