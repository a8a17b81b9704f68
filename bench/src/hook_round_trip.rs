//! One hook and its result, between the agent and the process of an extension.
//!
//! A hook cannot be timed from outside, so it is the difference between two commands: a prompt that is refused because a
//! run is in progress, with an extension that takes part in the hook `input` and without one. Nothing else differs.

use std::time::Instant;

use serde_json::json;

use crate::extension::Extension;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::placement::Kept;
use crate::statistics::Samples;

/// How many blocks are taken of each, alternating.
const BLOCKS: usize = 40;

/// How many round trips a block has. Its median is one sample.
const BLOCK: usize = 500;

const GOAL: Goal = Goal::TimesFloorAndAtMost { times_floor: 1.5, at_most: 100.0 };

const PROMPT: &[u8] = b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"Go on.\"}\n";

const REFUSED: &[u8] = b"{\"id\":\"1\",\"type\":\"response\",\"command\":\"prompt\",\"success\":false";

/// What the agent sends the extension for [`PROMPT`], but for the id.
const HOOK: &[u8] = b"{\"type\":\"hook\",\"id\":\"1000\",\"event\":{\"type\":\"input\",\"text\":\"Go on.\",\"source\":\"rpc\"},\"deadlineMs\":30000}\n";

const RESULT: &[u8] = b"{\"type\":\"result\"";

/// Measures the hook beside the same lines between this program and the same extension, with the extension on the core of
/// its caller and on another.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let kept = Kept::on_one_core()?;
    let mut figures = vec![measure_on(subject, "one core", None)?];
    if let Some(other) = kept.other_core() {
        figures.push(measure_on(subject, "two cores", Some(other))?);
    }
    Ok(figures)
}

fn measure_on(subject: &Subject, place: &str, core: Option<usize>) -> Result<Figure, Failure> {
    let extension = Extension { core, ..Extension::new("input") };
    let (home, script) = home();
    let mut without = busy_agent(subject, &home, &script)?;
    let (hooked_home, script) = self::home();
    let hooked_home = hooked_home.with_extension("hooked", &subject.extension_command(&extension));
    let mut with = busy_agent(subject, &hooked_home, &script)?;
    let mut called = subject.extension(&home, &extension)?;
    called.send(b"{\"type\":\"init\"}\n")?;
    called.line()?;

    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for block_number in 0..=subject.samples(BLOCKS) {
        let direct = block(&mut called, HOOK, RESULT)?;
        let plain = block(&mut without, PROMPT, REFUSED)?;
        let hooked = block(&mut with, PROMPT, REFUSED)?;
        // The first block of each warms it up.
        if block_number > 0 {
            floor.push(direct);
            bowline.push(hooked - plain);
        }
    }
    called.finish()?;
    without.finish()?;
    with.finish()?;
    Ok(Figure {
        what: format!("hook round trip, {place}"),
        unit: Unit::Microseconds,
        bowline,
        floor: Some(floor),
        goal: GOAL,
    })
}

/// Returns a home, and the name of a model whose answer never ends.
fn home() -> (Home, String) {
    let script = json!({ "steps": [{ "text": "Wait", "hang": true }] });
    let (home, script) = Home::empty().with_file("script.json", &script.to_string());
    (home, format!("scripted/{}", script.display()))
}

/// Starts an agent and a run that goes on until the agent ends.
fn busy_agent(subject: &Subject, home: &Home, model: &str) -> Result<Pipe, Failure> {
    let mut agent = subject.agent(home, model)?;
    agent.send(b"{\"type\":\"prompt\",\"message\":\"Begin.\"}\n")?;
    loop {
        if String::from_utf8_lossy(agent.line()?).contains("text_end") {
            return Ok(agent);
        }
    }
}

/// Returns the median time of a line and its answer, in µs.
fn block(process: &mut Pipe, line: &[u8], expected: &[u8]) -> Result<f64, Failure> {
    let mut times = Samples::default();
    for _ in 0..BLOCK {
        let started = Instant::now();
        process.send(line)?;
        let answer = process.line()?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
        if !answer.starts_with(expected) {
            return Err(Failure::new(format!("the answer was {}", String::from_utf8_lossy(answer))));
        }
    }
    Ok(times.median())
}
