//! A long answer in small deltas that an extension subscribes to.

use crate::deltas::{Costs, DELTAS};
use crate::extension::{self, Extension};
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::model_server::{self, Pace};
use crate::stream::Api;

const SAMPLES: usize = 25;

const GOAL: Goal = Goal::TimesFloor(1.5);

/// Measures the CPU time of the agent for an answer, beside the same without an extension.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    Ok(vec![measure_at(subject, Pace::Paced, "paced")?, measure_at(subject, Pace::Burst, "at once")?])
}

fn measure_at(subject: &Subject, pace: Pace, name: &str) -> Result<Figure, Failure> {
    let api = Api::AnthropicMessages;
    let server = model_server::start(&api.body(DELTAS), pace)?;
    let plain = Home::with_model(api, &server);
    let subscriber = Extension::new("message_update");
    let subscribed =
        Home::with_model(api, &server).with_extension("subscriber", &subject.extension_command(&subscriber));
    let (mut without, mut with) = (Costs::default(), Costs::default());
    for _ in 0..subject.samples(SAMPLES) {
        without.add_answer(subject, &plain)?;
        with.add_answer(subject, &subscribed)?;
        check_received(&subscribed)?;
    }
    Ok(Figure {
        what: format!("8,000 deltas with a subscriber, {name}, CPU"),
        unit: Unit::Milliseconds,
        bowline: with.processor,
        floor: Some(without.processor),
        goal: GOAL,
    })
}

/// Checks that the extension was told of every delta, and of the beginning and the end of the text.
fn check_received(home: &Home) -> Result<(), Failure> {
    match extension::received(&home.folder()) {
        Some(count) if count >= DELTAS => Ok(()),
        count => Err(Failure::new(format!("the extension was told of {count:?} events, of {DELTAS}"))),
    }
}
