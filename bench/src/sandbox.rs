//! What the sandbox costs: turns inside beside turns without it, and its start.

use std::time::Instant;

use serde_json::{Value, json};

use crate::agent;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;
use crate::tool_turns::{script, time_turns};

const SAMPLES: usize = 15;

/// Measures 100 calls of the bash tool inside, beside as many of the same agent without a sandbox, and the first command,
/// which waits for the sandbox to be made and to prove that it holds.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let (home, script) = Home::empty().with_file("script.json", &script().to_string());
    let model = format!("scripted/{}", script.display());
    let (mut inside, mut without, mut first) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..subject.samples(SAMPLES) {
        let (agent, _) = start(subject, &home, &model, &[])?;
        without.push(time_turns(agent)?);
        let (agent, elapsed) = start(subject, &home, &model, &["--sandbox", "workspace-write"])?;
        first.push(elapsed);
        inside.push(time_turns(agent)?);
    }
    let turns = Figure {
        what: "100 turns of the bash tool in the sandbox".to_owned(),
        unit: Unit::Milliseconds,
        bowline: inside,
        floor: Some(without),
        goal: Goal::TimesFloor(1.1),
    };
    let start = Figure {
        what: "First command in the sandbox".to_owned(),
        unit: Unit::Milliseconds,
        bowline: first,
        floor: None,
        goal: Goal::AtMost(20.0),
    };
    Ok(vec![turns, start])
}

/// Starts the agent, runs a first command, and returns how many milliseconds that took.
fn start(subject: &Subject, home: &Home, model: &str, flags: &[&str]) -> Result<(Pipe, f64), Failure> {
    let mut agent = Pipe::start(subject.command(home, model).args(flags))?;
    agent::ask_for_state(&mut agent)?;
    let command = json!({ "id": "first", "type": "bash", "command": "true" });
    let started = Instant::now();
    agent.send(format!("{command}\n").as_bytes())?;
    loop {
        let record: Value = serde_json::from_slice(agent.line()?)
            .map_err(Failure::while_doing("a line of the agent is no JSON"))?;
        if record["id"] == "first" {
            let elapsed = started.elapsed();
            return match record["success"] == true && record["data"]["exitCode"] == 0 {
                true => Ok((agent, elapsed.as_secs_f64() * 1e3)),
                false => Err(Failure::new(format!("the first command has failed: {record}"))),
            };
        }
    }
}
