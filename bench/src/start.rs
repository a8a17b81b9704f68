//! From the start of the process to the answer to its first command.

use std::process::Command;
use std::time::Instant;

use crate::agent;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::floor::Floor;
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;
use crate::stream::Api;

const SAMPLES: usize = 200;

const GOAL: Goal = Goal::TimesFloor(2.0);

/// Measures a start with nothing configured, with a model of `models.json`, and with one of the catalog.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let empty = Home::empty();
    // No server listens there: starting opens no socket.
    let configured = Home::with_model(Api::AnthropicMessages, "http://127.0.0.1:9");
    let starts = [
        ("start, nothing configured", &empty, "scripted/demo"),
        ("start, a model of models.json", &configured, "mock/m1"),
        ("start, a model of the catalog", &empty, "anthropic/claude-sonnet-5"),
    ];
    let mut bowline: [Samples; 3] = Default::default();
    let mut floor = Samples::default();
    for sample in 0..=subject.samples(SAMPLES) {
        let hello = time_floor(subject, &empty)?;
        let mut times = [0.0; 3];
        for (time, (_, home, model)) in times.iter_mut().zip(&starts) {
            *time = time_agent(subject.command(home, model).env("ANTHROPIC_API_KEY", "none"))?;
        }
        // The first round loads the programs into the page cache.
        if sample > 0 {
            floor.push(hello);
            times.iter().zip(&mut bowline).for_each(|(time, samples)| samples.push(*time));
        }
    }
    Ok(starts
        .iter()
        .zip(bowline)
        .map(|((what, ..), bowline)| Figure {
            what: (*what).to_owned(),
            unit: Unit::Milliseconds,
            bowline,
            floor: Some(floor.clone()),
            goal: GOAL,
        })
        .collect())
}

/// Returns how long an agent takes to answer, in ms.
pub(crate) fn time_agent(command: &mut Command) -> Result<f64, Failure> {
    let started = Instant::now();
    let mut process = Pipe::start(command)?;
    agent::ask_for_state(&mut process)?;
    let elapsed = started.elapsed();
    process.finish()?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

fn time_floor(subject: &Subject, home: &Home) -> Result<f64, Failure> {
    let started = Instant::now();
    let mut process = subject.floor(home, Floor::Hello)?;
    process.line()?;
    let elapsed = started.elapsed();
    process.finish()?;
    Ok(elapsed.as_secs_f64() * 1e3)
}
