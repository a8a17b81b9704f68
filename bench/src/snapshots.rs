//! A long answer in the dialects that repeat the message so far, twice, in every update.
//!
//! A delta is small there, but its record is not: 8,000 deltas of 20 bytes are 1.3 GB if none are joined.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use bowline_testkit::peak_memory_of;
use memchr::memmem;
use serde_json::Value;

use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::floor::Floor;
use crate::home::Home;
use crate::measures::Subject;
use crate::model_server::{self, Pace};
use crate::pipe::Pipe;
use crate::statistics::Samples;
use crate::stream::{self, Api};

const SAMPLES: usize = 5;

const DELTAS: usize = 8_000;

/// The limit in ms from the start of the process to the end of the run.
const TIME: Goal = Goal::AtMost(1_000.0);

/// More than a gigabyte goes through the pipe if nothing is joined, as fast as the machine allows.
const TIME_OF_EACH: Goal = Goal::TimesFloor(1.25);

/// The limit for the agent's memory, in MB.
const MEMORY: Goal = Goal::AtMost(32.0);

/// How long an agent must be idle to count as done.
const REST: Duration = Duration::from_millis(200);

/// How much of a record a failure shows.
const SHOWN: usize = 200;

const PROMPT: &[u8] = b"{\"type\":\"prompt\",\"message\":\"Go on.\"}\n";

/// A dialect and the names in its records.
struct Dialect {
    name: &'static str,
    /// The prefix of an update, and of no other record.
    update: &'static [u8],
    /// The prefix of the last record.
    end: &'static [u8],
    /// The path of the delta in an update.
    delta: &'static str,
    /// The paths of the text so far in an update.
    copies: [&'static str; 2],
    /// The type of the record with the whole message.
    message_end: &'static str,
}

const OMP: Dialect = Dialect {
    name: "omp",
    update: b"{\"type\":\"message_update\"",
    end: b"{\"type\":\"agent_end\"",
    delta: "/assistantMessageEvent/delta",
    copies: ["/message/content/0/text", "/assistantMessageEvent/partial/content/0/text"],
    message_end: "message_end",
};

const OPI: Dialect = Dialect {
    name: "opi",
    update: b"{\"assistant_event\"",
    end: b"{\"messages\"",
    delta: "/assistant_event/delta",
    copies: ["/message/content/0/text", "/assistant_event/partial/content/0/text"],
    message_end: "MessageEnd",
};

const DIALECTS: [Dialect; 3] = [OMP, OPI, Dialect { name: "pi-classic", ..OMP }];

/// How the client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// As fast as it can.
    Fast,
    /// As fast as it can, from an agent that may not join updates.
    OfEach,
    /// Not at all between the first update and the end of the model's answer.
    Stopping,
}

/// Measures each dialect with each reader.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let url = model_server::start(&Api::AnthropicMessages.body(DELTAS), Pace::Burst)?;
    let home = Home::with_model(Api::AnthropicMessages, &url);
    let mut figures = Vec::new();
    for dialect in &DIALECTS {
        figures.extend(measure_dialect(subject, &home, dialect)?);
    }
    Ok(figures)
}

/// The samples of one reader.
#[derive(Default)]
struct Costs {
    wall: Samples,
    processor: Samples,
    peak: Samples,
    updates: Samples,
    floor_wall: Samples,
    floor_processor: Samples,
}

fn measure_dialect(subject: &Subject, home: &Home, dialect: &Dialect) -> Result<Vec<Figure>, Failure> {
    let mut costs: [Costs; 3] = Default::default();
    let [fast, of_each, stopping] = &mut costs;
    for _ in 0..subject.samples(SAMPLES) {
        fast.add(subject, home, dialect, Reader::Fast)?;
        of_each.add(subject, home, dialect, Reader::OfEach)?;
        stopping.add(subject, home, dialect, Reader::Stopping)?;
    }
    Ok(figures(dialect, costs))
}

fn figures(dialect: &Dialect, [fast, of_each, stopping]: [Costs; 3]) -> Vec<Figure> {
    let figure = |what: &str, unit, bowline, floor, goal| Figure {
        what: format!("8,000 snapshots, {}, {what}", dialect.name),
        unit,
        bowline,
        floor,
        goal,
    };
    let time = |what: &str, bowline, floor, goal| figure(what, Unit::Milliseconds, bowline, floor, goal);
    let memory = |what: &str, bowline| figure(what, Unit::Megabytes, bowline, None, MEMORY);
    let count = |what: &str, bowline| figure(what, Unit::Count, bowline, None, Goal::None);
    vec![
        time("wall", fast.wall, None, TIME),
        time("CPU", fast.processor, None, Goal::None),
        memory("peak memory", fast.peak),
        count("records", fast.updates),
        time("none joined, wall", of_each.wall, Some(of_each.floor_wall), TIME_OF_EACH),
        time("none joined, CPU", of_each.processor, Some(of_each.floor_processor), Goal::None),
        memory("none joined, peak memory", of_each.peak),
        memory("reader stops, peak memory", stopping.peak),
        count("reader stops, records", stopping.updates),
    ]
}

impl Costs {
    /// Has a new agent receive the answer. Where its length is fixed, a floor writes as many bytes.
    fn add(
        &mut self,
        subject: &Subject,
        home: &Home,
        dialect: &Dialect,
        reader: Reader,
    ) -> Result<(), Failure> {
        let mut command = subject.command(home, "mock/m1");
        command.args(["--no-session", "--dialect", dialect.name]);
        if reader == Reader::OfEach {
            command.args(["--clock", "fixed"]);
        }
        let started = Instant::now();
        let mut agent = Pipe::start(&mut command)?;
        agent.send(PROMPT)?;
        let told = Told::read(&mut agent, dialect, reader)?;
        self.wall.push(started.elapsed().as_secs_f64() * 1e3);
        self.processor.push(agent.processor_time()?.as_secs_f64() * 1e3);
        let held = peak_memory_of(agent.pid()).ok_or_else(|| Failure::new("a child has ended"))?;
        self.peak.push(held as f64 * 1024.0 / 1e6);
        agent.finish()?;
        told.check(dialect)?;
        self.updates.push(told.updates as f64);
        if reader == Reader::OfEach {
            if told.updates < DELTAS {
                return Err(Failure::new(format!("{} updates came, though none may join", told.updates)));
            }
            self.add_floor(&mut subject.floor(home, Floor::Pour)?, told.bytes)?;
        }
        Ok(())
    }

    fn add_floor(&mut self, floor: &mut Pipe, bytes: usize) -> Result<(), Failure> {
        let started = Instant::now();
        floor.send(format!("{bytes}\n").as_bytes())?;
        floor.skip(bytes)?;
        self.floor_wall.push(started.elapsed().as_secs_f64() * 1e3);
        self.floor_processor.push(floor.processor_time()?.as_secs_f64() * 1e3);
        Ok(())
    }
}

/// The records of an agent.
#[derive(Default)]
struct Told {
    bytes: usize,
    updates: usize,
    /// All updates if the reader pauses, because it gets few; otherwise the last ones.
    kept: Vec<Vec<u8>>,
    /// The records that are not updates.
    others: Vec<Vec<u8>>,
}

impl Told {
    fn read(agent: &mut Pipe, dialect: &Dialect, reader: Reader) -> Result<Self, Failure> {
        let mut told = Self::default();
        if reader == Reader::Stopping {
            while told.updates == 0 {
                let _ = told.take(dialect, agent.line()?);
            }
            rest(agent)?;
            while told.take(dialect, agent.line()?).is_continue() {}
        } else {
            let whole = 2 * stream::text(DELTAS).len();
            agent.records(|record| {
                // Copying every record would double the work of this reader.
                if record.starts_with(dialect.update) && record.len() < whole {
                    told.kept.clear();
                    return told.count_update(record);
                }
                told.take(dialect, record)
            })?;
        }
        Ok(told)
    }

    /// Keeps a record; breaks at the last one.
    fn take(&mut self, dialect: &Dialect, record: &[u8]) -> ControlFlow<()> {
        if record.starts_with(dialect.update) {
            self.kept.push(record.to_vec());
            return self.count_update(record);
        }
        self.bytes += record.len();
        self.others.push(record.to_vec());
        let is_last = record.starts_with(dialect.end) || is_refusal(record);
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn count_update(&mut self, record: &[u8]) -> ControlFlow<()> {
        self.updates += 1;
        self.bytes += record.len();
        ControlFlow::Continue(())
    }

    /// Checks that nothing is missing.
    fn check(&self, dialect: &Dialect) -> Result<(), Failure> {
        let (kept, others) = (parse(&self.kept)?, parse(&self.others)?);
        let text_at = |record: Option<&Value>, place: &str| {
            record.and_then(|record| record.pointer(place)?.as_str()).unwrap_or_default().to_owned()
        };
        let last = kept.last();
        let message_end = others.iter().rfind(|record| record["type"] == dialect.message_end);
        let mut found = vec![
            ("the last update", text_at(last, dialect.copies[0])),
            ("the last update", text_at(last, dialect.copies[1])),
            ("the message at its end", text_at(message_end, dialect.copies[0])),
        ];
        if self.kept.len() == self.updates {
            let deltas = kept.iter().map(|update| text_at(Some(update), dialect.delta));
            found.push(("all deltas together", deltas.collect()));
        }
        let text = stream::text(DELTAS);
        let Some((what, found)) = found.iter().find(|(_, found)| *found != text) else { return Ok(()) };
        let end: String =
            others.last().map(Value::to_string).unwrap_or_default().chars().take(SHOWN).collect();
        Err(Failure::new(format!(
            "{}: {what}: {} of {} bytes; the last record is {end}",
            dialect.name,
            found.len(),
            text.len()
        )))
    }
}

/// Returns whether a record refuses the prompt.
fn is_refusal(record: &[u8]) -> bool {
    record.starts_with(b"{\"type\":\"error\"") || memmem::find(record, b"\"success\":false").is_some()
}

fn parse(records: &[Vec<u8>]) -> Result<Vec<Value>, Failure> {
    let parsed = records.iter().map(|record| serde_json::from_slice(record));
    parsed.collect::<Result<_, _>>().map_err(Failure::while_doing("a record of the agent is no JSON"))
}

/// Waits until an agent with a blocked stdout has consumed the whole answer.
fn rest(agent: &Pipe) -> Result<(), Failure> {
    let mut before = Duration::ZERO;
    loop {
        let now = agent.processor_time()?;
        if now == before {
            return Ok(());
        }
        before = now;
        thread::sleep(REST);
    }
}
