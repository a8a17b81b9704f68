//! The list of 5,000 sessions.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::long_session;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;

const SAMPLES: usize = 15;
const SESSIONS: usize = 5_000;

/// Some 5 KB each.
const ENTRIES: u64 = 10;

const GOAL: Goal = Goal::AtMost(300.0);

/// Measures a page of 50, a search without matches, which reads all files, and all sessions on one page.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let home = Home::empty();
    fs::create_dir_all(home.sessions()).map_err(Failure::while_doing("making a folder"))?;
    for number in 0..SESSIONS {
        let path = home.sessions().join(format!("2026_{number:04}.jsonl"));
        long_session::write(&path, &format!("s{number:04}"), ENTRIES)
            .map_err(Failure::while_doing("writing a session"))?;
    }
    let mut agent = subject.agent(&home, "scripted/demo")?;
    let lists = [
        ("the newest 50 of 5,000 sessions", json!({ "limit": 50 }), 50),
        ("a search through 5,000 sessions", json!({ "search": "not to be found" }), 0),
        ("all of 5,000 sessions", json!({ "limit": SESSIONS }), SESSIONS),
    ];
    let mut bowline: [Samples; 3] = Default::default();
    let mut floor = Samples::default();
    for _ in 0..subject.samples(SAMPLES) {
        floor.push(time_looking(&home.sessions())?);
        for ((_, query, count), samples) in lists.iter().zip(&mut bowline) {
            samples.push(time_list(&mut agent, query, *count)?);
        }
    }
    agent.finish()?;
    let figures = lists.iter().zip(bowline).map(|((what, ..), bowline)| Figure {
        what: (*what).to_owned(),
        unit: Unit::Milliseconds,
        bowline,
        floor: Some(floor.clone()),
        goal: GOAL,
    });
    Ok(figures.collect())
}

/// Returns how long it takes to find the files and their times.
fn time_looking(folder: &Path) -> Result<f64, Failure> {
    let started = Instant::now();
    let entries = fs::read_dir(folder).map_err(Failure::while_doing("reading a folder"))?;
    let found = entries.flatten().filter(|entry| entry.metadata().is_ok_and(|data| data.modified().is_ok()));
    if found.count() != SESSIONS {
        return Err(Failure::new("sessions are missing"));
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

fn time_list(agent: &mut Pipe, query: &Value, count: usize) -> Result<f64, Failure> {
    let mut command = query.clone();
    command["type"] = json!("list_sessions");
    command["scope"] = json!("all");
    let started = Instant::now();
    agent.send(format!("{command}\n").as_bytes())?;
    let line = agent.line()?;
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    let answer: Value = serde_json::from_slice(line).map_err(Failure::while_doing("reading a list"))?;
    match answer["data"]["sessions"].as_array() {
        Some(sessions) if sessions.len() == count => Ok(elapsed),
        _ => Err(Failure::new(format!("not {count} sessions but {:.300}", String::from_utf8_lossy(line)))),
    }
}
