//! A long answer in small deltas: from the provider's stream over HTTP to the client's pipe.

use std::time::Instant;

use crate::agent::{self, Records};
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::floor::Floor;
use crate::home::Home;
use crate::measures::Subject;
use crate::model_server::{self, Pace};
use crate::pipe::Pipe;
use crate::round_trip;
use crate::statistics::Samples;
use crate::stream::{self, Api};

const SAMPLES: usize = 25;

pub(crate) const DELTAS: usize = 8_000;

/// The goal for the CPU time of an answer, in ms.
const GOAL: Goal = Goal::AtMost(150.0);

/// Measures an answer of 8,000 deltas with each API, beside the same bytes through a program that writes what it reads.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for api in Api::ALL {
        figures.extend(measure_api(subject, api)?);
    }
    Ok(figures)
}

/// The samples of one subject.
#[derive(Default)]
pub(crate) struct Costs {
    pub(crate) processor: Samples,
    wall: Samples,
    /// The number of records with the text.
    records: Samples,
}

/// Measures the answer at two paces. When it comes at once, the pipe is full before the client has read anything, and
/// the agent joins the waiting deltas. At a pace at which the client keeps up, each delta is a record.
fn measure_api(subject: &Subject, api: Api) -> Result<Vec<Figure>, Failure> {
    let body = api.body(DELTAS);
    let paced = Home::with_model(api, &model_server::start(&body, Pace::Paced)?);
    let burst = Home::with_model(api, &model_server::start(&body, Pace::Burst)?);
    let mut costs: [Costs; 3] = Default::default();
    let [floor, at_a_pace, at_once] = &mut costs;
    for _ in 0..subject.samples(SAMPLES) {
        let mut echo = subject.floor(&paced, Floor::Echo)?;
        round_trip::echo_once(&mut echo)?;
        floor.add(&mut echo, |echo| echo.pass(body.as_bytes()))?;
        echo.finish()?;
        at_a_pace.add_answer(subject, &paced)?;
        at_once.add_answer(subject, &burst)?;
    }
    Ok(figures(api, costs))
}

fn figures(api: Api, [floor, at_a_pace, at_once]: [Costs; 3]) -> Vec<Figure> {
    let what = |what: &str| format!("8,000 deltas, {}, {what}", api.name());
    let time = |name: &str, bowline, floor: &Samples, goal| Figure {
        what: what(name),
        unit: Unit::Milliseconds,
        bowline,
        floor: Some(floor.clone()),
        goal,
    };
    let count = |name: &str, bowline| Figure {
        what: what(name),
        unit: Unit::Count,
        bowline,
        floor: None,
        goal: Goal::None,
    };
    vec![
        time("paced, CPU", at_a_pace.processor, &floor.processor, GOAL),
        count("paced, records", at_a_pace.records),
        time("at once, CPU", at_once.processor, &floor.processor, GOAL),
        time("at once, wall", at_once.wall, &floor.wall, Goal::None),
        count("at once, records", at_once.records),
    ]
}

impl Costs {
    /// Has a new agent receive the answer, because the first request counts for short-lived agents.
    pub(crate) fn add_answer(&mut self, subject: &Subject, home: &Home) -> Result<(), Failure> {
        let mut agent = subject.agent(home, "mock/m1")?;
        let records = self.add(&mut agent, |agent| agent::run(agent, "Go on."))?;
        self.records.push(count_deltas(&records, DELTAS)? as f64);
        agent.finish()
    }

    /// Runs an operation of a process and records its cost.
    fn add<T>(
        &mut self,
        process: &mut Pipe,
        work: impl FnOnce(&mut Pipe) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = process.processor_time()?;
        let started = Instant::now();
        let result = work(process)?;
        self.wall.push(started.elapsed().as_secs_f64() * 1e3);
        self.processor.push((process.processor_time()? - before).as_secs_f64() * 1e3);
        Ok(result)
    }
}

/// Checks that the text is complete and returns its number of records: a lagging reader gets joined deltas.
pub(crate) fn count_deltas(records: &Records, deltas: usize) -> Result<usize, Failure> {
    let mut count = 0;
    let mut text = String::new();
    let records = records.parse()?;
    for event in records.iter().map(|record| &record["assistantMessageEvent"]) {
        if event["type"] == "text_delta" {
            count += 1;
            text.push_str(event["delta"].as_str().unwrap_or_default());
        }
    }
    let expected = stream::text(deltas);
    if text == expected {
        return Ok(count);
    }
    Err(Failure::new(format!(
        "the text has not come whole: {} bytes of {} in {count} deltas; the last records were {}",
        text.len(),
        expected.len(),
        records.iter().rev().take(3).map(ToString::to_string).collect::<Vec<_>>().join(" ")
    )))
}
