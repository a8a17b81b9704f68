//! The time from the start to the first answer, with extensions installed.

use crate::extension::Extension;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::start;
use crate::statistics::Samples;

const SAMPLES: usize = 100;

const EXTENSIONS: usize = 10;

/// Nobody should notice them, and less than this cannot be told from chance.
const GOAL: Goal = Goal::TimesFloor(1.1);

/// Measures a start with ten extensions beside one without any.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let plain = Home::empty();
    let command = subject.extension_command(&Extension::new("tool_call"));
    let installed = (0..EXTENSIONS)
        .fold(Home::empty(), |home, number| home.with_extension(&format!("extension-{number}"), &command));
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for sample in 0..=subject.samples(SAMPLES) {
        let without = start::time_agent(&mut subject.command(&plain, "scripted/demo"))?;
        let with = start::time_agent(&mut subject.command(&installed, "scripted/demo"))?;
        // The first round loads the programs into the page cache.
        if sample > 0 {
            floor.push(without);
            bowline.push(with);
        }
    }
    Ok(vec![Figure {
        what: "start, ten extensions installed".to_owned(),
        unit: Unit::Milliseconds,
        bowline,
        floor: Some(floor),
        goal: GOAL,
    }])
}
