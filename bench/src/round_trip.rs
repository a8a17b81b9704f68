//! One small command and its answer, over pipes.

use std::time::Instant;

use crate::agent::{self, GET_STATE};
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::floor::Floor;
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::placement::{self, Kept};
use crate::statistics::Samples;

/// How many blocks are taken, alternating with the floor's.
const BLOCKS: usize = 40;

/// How many round trips a block has.
const BLOCK: usize = 500;

/// Measures `get_state` beside a program that writes what it reads, both on the client's core and on another.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let kept = Kept::on_one_core()?;
    let mut figures = vec![measure_on(subject, "one core", None)?];
    if let Some(other) = kept.other_core() {
        figures.push(measure_on(subject, "two cores", Some(other))?);
    }
    Ok(figures)
}

fn measure_on(subject: &Subject, place: &str, core: Option<usize>) -> Result<Figure, Failure> {
    let home = Home::empty();
    let mut agent = subject.agent(&home, "scripted/demo")?;
    let mut echo = subject.floor(&home, Floor::Echo)?;
    if let Some(core) = core {
        placement::move_to(core, &agent)?;
        placement::move_to(core, &echo)?;
    }
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    // The first block of each warms it up.
    block(&mut echo, echo_once, &mut Samples::default())?;
    block(&mut agent, agent::ask_for_state, &mut Samples::default())?;
    for _ in 0..subject.samples(BLOCKS) {
        block(&mut echo, echo_once, &mut floor)?;
        block(&mut agent, agent::ask_for_state, &mut bowline)?;
    }
    echo.finish()?;
    agent.finish()?;
    Ok(Figure {
        what: format!("get_state round trip, {place}"),
        unit: Unit::Microseconds,
        bowline,
        floor: Some(floor),
        goal: Goal::TimesFloor(1.5),
    })
}

fn block(
    process: &mut Pipe,
    once: fn(&mut Pipe) -> Result<(), Failure>,
    samples: &mut Samples,
) -> Result<(), Failure> {
    for _ in 0..BLOCK {
        let started = Instant::now();
        once(process)?;
        samples.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

/// Sends a line through a program that writes what it reads.
pub(crate) fn echo_once(echo: &mut Pipe) -> Result<(), Failure> {
    echo.send(GET_STATE)?;
    echo.line().map(|_| ())
}
