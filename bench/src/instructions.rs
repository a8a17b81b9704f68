//! Instructions executed: the one figure that hardly varies between runs.

use crate::agent;
use crate::counting::{self, Counted};
use crate::deltas::count_deltas;
use crate::failure::Failure;
use crate::figure::{Figure, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::model_server::{self, Pace};
use crate::stream::Api;

/// Few and many, so that their difference excludes the start.
const ROUND_TRIPS: [usize; 2] = [1_000, 2_000];

const DELTAS: [usize; 2] = [1_000, 8_000];

/// Counts the instructions of a start, of a round trip, and of a delta with each API.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    if !counting::is_possible() {
        eprintln!("bowline-bench: instructions are not counted: valgrind cannot be started");
        return Ok(Vec::new());
    }
    let figure = |what: String, value| Figure::plain(what, Unit::Instructions, value);
    let mut figures = vec![
        figure("start, get_state, end of input".to_owned(), round_trips(subject, 1)?),
        figure("per get_state".to_owned(), each(ROUND_TRIPS, |count| round_trips(subject, count))?),
    ];
    for api in Api::ALL {
        let per_delta = each(DELTAS, |count| deltas(subject, api, count))?;
        figures.push(figure(format!("per delta, {}", api.name()), per_delta));
    }
    Ok(figures)
}

/// Returns the cost of one more.
fn each(counts: [usize; 2], count: impl Fn(usize) -> Result<f64, Failure>) -> Result<f64, Failure> {
    let [few, many] = counts;
    Ok((count(many)? - count(few)?) / (many - few) as f64)
}

fn round_trips(subject: &Subject, count: usize) -> Result<f64, Failure> {
    let home = Home::empty();
    let mut counted = Counted::start(subject, &home, "scripted/demo")?;
    for _ in 0..count {
        agent::ask_for_state(&mut counted.agent)?;
    }
    counted.finish()
}

fn deltas(subject: &Subject, api: Api, count: usize) -> Result<f64, Failure> {
    let home = Home::with_model(api, &model_server::start(&api.body(count), Pace::Burst)?);
    let mut counted = Counted::start(subject, &home, "mock/m1")?;
    let records = agent::run(&mut counted.agent, "Go on.")?;
    count_deltas(&records, count)?;
    counted.finish()
}
