//! Measures how long it takes to open a session and to query it.
//!
//! `cargo run --release -p bowline-session --example open_session -- PATH`

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use bowline_session::{EntryBody, Session};

#[expect(clippy::disallowed_methods, reason = "an example reads its arguments")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: open_session PATH")?;
    let path = Path::new(&path);
    let megabytes = std::fs::metadata(path)?.len() as f64 / 1e6;
    let mut out = std::io::stdout().lock();

    let memory_before = memory("VmRSS");
    let start = Instant::now();
    let mut session = Session::open(path, Path::new("/"))?;
    let opened = start.elapsed();
    let context = session.context()?;
    let total = start.elapsed();
    let peak = memory("VmHWM");
    if std::env::args().nth(2).is_some_and(|argument| argument == "--only-open") {
        writeln!(out, "{:.0} MB/s, peak {peak} kB", megabytes / total.as_secs_f64())?;
        return Ok(());
    }
    let active: usize = context
        .messages
        .iter()
        .filter_map(|message| serde_json::to_string(message).ok())
        .map(|json| json.len())
        .sum();
    writeln!(
        out,
        "{megabytes:.1} MB, context of {} messages, {:.2} MB",
        context.messages.len(),
        active as f64 / 1e6
    )?;
    writeln!(out, "open            {opened:9.1?}  {:6.0} MB/s", megabytes / opened.as_secs_f64())?;
    writeln!(out, "open + context  {total:9.1?}  {:6.0} MB/s", megabytes / total.as_secs_f64())?;
    writeln!(out, "memory          before {memory_before} kB, peak {peak} kB")?;

    time(&mut out, "statistics", || session.statistics().map(drop))?;
    time(&mut out, "entries", || session.entries(None).map(drop))?;
    time(&mut out, "tree_json", || session.tree_json().map(drop))?;
    time(&mut out, "fork_messages", || session.fork_messages().map(drop))?;
    time(&mut out, "clone", || {
        let clone = session.clone_at_leaf()?;
        clone.file().map_or(Ok::<(), Box<dyn std::error::Error>>(()), |file| Ok(std::fs::remove_file(file)?))
    })?;
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    for number in 0..1_000 {
        let start = Instant::now();
        session.append(EntryBody::SessionInfo { name: format!("name {number}") })?;
        slowest = slowest.max(start.elapsed());
    }
    writeln!(
        out,
        "append          {:9.1?} each, {slowest:.1?} the slowest of 1,000",
        start.elapsed() / 1_000
    )?;
    Ok(())
}

fn time<E: Into<Box<dyn std::error::Error>>>(
    out: &mut impl Write,
    name: &str,
    run: impl FnOnce() -> Result<(), E>,
) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    run().map_err(Into::into)?;
    writeln!(out, "{name:15} {:9.1?}", start.elapsed())?;
    Ok(())
}

/// Returns a value from `/proc/self/status` in kB; 0 where there is no such file.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
