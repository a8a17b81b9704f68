//! A session of 100,000 entries: the time to open it, its memory, and the cost of another entry.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Instant;

use bowline_testkit::peak_memory_of;

use crate::agent;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::long_session;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;

const SAMPLES: usize = 10;
const ENTRIES: u64 = 100_000;
const APPENDS: usize = 2_000;

/// The goal for opening a session, in times of reading its file.
const TIMES_READING: f64 = 8.0;

/// The goal for opening a session, in megabytes per second of processor time.
const SPEED: f64 = 300.0;

/// Measures the time from the start of the process to the first response, beside reading the file, and the cost of
/// appending,
/// beside the same in a new session.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let home = Home::empty();
    fs::create_dir_all(home.sessions()).map_err(Failure::while_doing("making a folder"))?;
    let (long, short) = (home.sessions().join("long.jsonl"), home.sessions().join("short.jsonl"));
    long_session::write(&long, "long", ENTRIES).map_err(Failure::while_doing("writing a session"))?;
    long_session::write(&short, "short", 10).map_err(Failure::while_doing("writing a session"))?;
    let megabytes =
        fs::metadata(&long).map_err(Failure::while_doing("looking at a session"))?.len() as f64 / 1e6;

    let [mut opening, mut working, mut reading, mut peak, mut context, mut append, mut floor]: [Samples; 7] =
        Default::default();
    for _ in 0..subject.samples(SAMPLES) {
        reading.push(time_reading(&long)?);
        let started = Instant::now();
        let mut process = open(subject, &home, &long)?;
        opening.push(started.elapsed().as_secs_f64() * 1e3);
        working.push(process.processor_time()?.as_secs_f64() * 1e3);
        let held = peak_memory_of(process.pid()).ok_or_else(|| Failure::new("a child has ended"))?;
        peak.push(held as f64 * 1024.0 / 1e6);
        process.send(b"{\"type\":\"get_messages\"}\n")?;
        context.push(process.line()?.len() as f64 / 1e6);
        append.push(time_appending(&mut process)?);
        process.finish()?;
        let mut process = open(subject, &home, &short)?;
        floor.push(time_appending(&mut process)?);
        process.finish()?;
    }
    let memory_limit = 2.5 * context.median() + 64.0;
    let goal = Goal::AtMost(megabytes / SPEED * 1e3);
    let speed = |samples: &Samples| megabytes / samples.minimum() * 1e3;
    let (speed_by_wall, speed_by_work) = (speed(&opening), speed(&working));
    let figure =
        |what: &str, unit, bowline, floor, goal| Figure { what: what.to_owned(), unit, bowline, floor, goal };
    Ok(vec![
        figure(
            &format!("opening a session of {megabytes:.0} MB, wall"),
            Unit::Milliseconds,
            opening,
            Some(reading),
            Goal::TimesFloor(TIMES_READING),
        ),
        figure(
            &format!("opening a session of {megabytes:.0} MB, CPU"),
            Unit::Milliseconds,
            working,
            None,
            goal,
        ),
        Figure::plain("… per second at best, wall", Unit::Megabytes, speed_by_wall),
        Figure::plain("… per second at best, CPU", Unit::Megabytes, speed_by_work),
        figure("peak memory after opening it", Unit::Megabytes, peak, None, Goal::AtMost(memory_limit)),
        figure("its active context, as JSON", Unit::Megabytes, context, None, Goal::None),
        figure("adding an entry to it", Unit::Microseconds, append, Some(floor), Goal::TimesFloor(1.5)),
    ])
}

/// Starts the agent with a session and waits for its first answer.
fn open(subject: &Subject, home: &Home, session: &Path) -> Result<Pipe, Failure> {
    let mut agent = Pipe::start(subject.command(home, "scripted/demo").arg("--session").arg(session))?;
    agent::ask_for_state(&mut agent)?;
    Ok(agent)
}

/// Returns how long it takes to read a file through, in milliseconds.
fn time_reading(path: &Path) -> Result<f64, Failure> {
    let started = Instant::now();
    let mut buffer = vec![0; 256 * 1024];
    let read = |mut file: File| -> io::Result<()> {
        while file.read(&mut buffer)? > 0 {}
        Ok(())
    };
    File::open(path).and_then(read).map_err(Failure::while_doing("reading a session"))?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Returns how long an entry takes, from the command to its answer, in microseconds.
fn time_appending(agent: &mut Pipe) -> Result<f64, Failure> {
    let started = Instant::now();
    for _ in 0..APPENDS {
        agent.send(b"{\"type\":\"set_session_name\",\"name\":\"x\"}\n")?;
        // The event, then the response.
        agent.line()?;
        agent.line()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / APPENDS as f64)
}
