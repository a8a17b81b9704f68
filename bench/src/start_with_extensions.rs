//! The time from the start to the first answer, with extensions installed.

use std::time::Instant;

use crate::extension::Extension;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::start;
use crate::statistics::Samples;

const SAMPLES: usize = 100;

const EXTENSIONS: usize = 10;

/// Nobody should notice them, and less than this cannot be told from chance.
const GOAL: Goal = Goal::TimesFloor(1.1);

/// The variable that names a Node for extensions of pi, which are not measured without it.
const NODE: &str = "BOWLINE_TEST_NODE";

/// Within this time an extension of pi has registered.
const READY: Goal = Goal::AtMost(400.0);

/// Measures a start with ten extensions beside one without any.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let plain = Home::empty();
    let command = subject.extension_command(&Extension::new("tool_call"));
    let installed = (0..EXTENSIONS)
        .fold(Home::empty(), |home, number| home.with_extension(&format!("extension-{number}"), &command));
    let mut figures = vec![compare(subject, "start, ten extensions installed", &plain, &installed)?];
    if let Ok(node) = std::env::var(NODE) {
        let installed = (0..EXTENSIONS)
            .fold(Home::empty(), |home, number| home.with_extension_of_pi(&format!("e{number}"), &node));
        figures.push(compare(subject, "start, ten extensions of pi installed", &plain, &installed)?);
        figures.push(measure_ready(subject, &Home::empty().with_extension_of_pi("e", &node))?);
    }
    Ok(figures)
}

/// Measures a start with something installed beside one without.
fn compare(subject: &Subject, what: &str, plain: &Home, installed: &Home) -> Result<Figure, Failure> {
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for sample in 0..=subject.samples(SAMPLES) {
        let without = start::time_agent(&mut subject.command(plain, "scripted/demo"))?;
        let with = start::time_agent(&mut subject.command(installed, "scripted/demo"))?;
        // The first round loads the programs into the page cache.
        if sample > 0 {
            floor.push(without);
            bowline.push(with);
        }
    }
    let (what, unit) = (what.to_owned(), Unit::Milliseconds);
    Ok(Figure { what, unit, bowline, floor: Some(floor), goal: GOAL })
}

/// Measures the time from the start until an extension of pi has registered: the list of commands waits for it.
fn measure_ready(subject: &Subject, home: &Home) -> Result<Figure, Failure> {
    let mut bowline = Samples::default();
    for sample in 0..=subject.samples(SAMPLES / 5) {
        let started = Instant::now();
        let mut process = Pipe::start(&mut subject.command(home, "scripted/demo"))?;
        process.send(b"{\"type\":\"get_commands\"}\n")?;
        process.line()?;
        let elapsed = started.elapsed();
        process.finish()?;
        // The first round writes the files of the process that runs them.
        if sample > 0 {
            bowline.push(elapsed.as_secs_f64() * 1e3);
        }
    }
    let (what, unit) = ("start, until an extension of pi has registered".to_owned(), Unit::Milliseconds);
    Ok(Figure { what, unit, bowline, floor: None, goal: READY })
}
