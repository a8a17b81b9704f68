//! The memory of an idle process after its first response.

use bowline_testkit::memory_of;

use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::floor::Floor;
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;

const SAMPLES: usize = 7;

/// Measures the proportional set size: shared pages count in proportion.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let home = Home::empty();
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for _ in 0..subject.samples(SAMPLES) {
        let mut waiting = subject.floor(&home, Floor::Wait)?;
        waiting.line()?;
        floor.push(megabytes(&waiting)?);
        waiting.finish()?;
        let agent = subject.agent(&home, "scripted/demo")?;
        bowline.push(megabytes(&agent)?);
        agent.finish()?;
    }
    Ok(vec![Figure {
        what: "idle memory (PSS)".to_owned(),
        unit: Unit::Megabytes,
        bowline,
        floor: Some(floor),
        goal: Goal::AtMost(8.0),
    }])
}

fn megabytes(process: &Pipe) -> Result<f64, Failure> {
    let memory = memory_of(process.pid()).ok_or_else(|| Failure::new("a child has ended too early"))?;
    Ok(memory.proportional as f64 * 1024.0 / 1e6)
}
