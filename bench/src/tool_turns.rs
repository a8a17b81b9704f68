//! Turns of the agent in which the model runs a command that does nothing.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::agent;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;

const SAMPLES: usize = 15;

const TURNS: usize = 100;

/// Measures 100 calls of the bash tool, one per turn, beside 100 starts of bash.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let (home, script) = Home::empty().with_file("script.json", &script().to_string());
    let model = format!("scripted/{}", script.display());
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for _ in 0..subject.samples(SAMPLES) {
        floor.push(time_bash(&home)?);
        bowline.push(time_agent(subject, &home, &model)?);
    }
    Ok(vec![Figure {
        what: "100 turns of the bash tool".to_owned(),
        unit: Unit::Milliseconds,
        bowline,
        floor: Some(floor),
        goal: Goal::TimesFloor(2.0),
    }])
}

fn time_bash(home: &Home) -> Result<f64, Failure> {
    let started = Instant::now();
    for _ in 0..TURNS {
        run_bash(home).map_err(Failure::while_doing("running bash"))?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

fn run_bash(home: &Home) -> io::Result<()> {
    // An absolute path, because a search in PATH keeps the standard library from its fastest way to start a program.
    let mut command = home.command(Path::new("/bin/bash"));
    let mut bash = command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdout) = bash.stdout.take() {
        io::copy(&mut stdout, &mut io::sink())?;
    }
    bash.wait().map(|_| ())
}

fn time_agent(subject: &Subject, home: &Home, model: &str) -> Result<f64, Failure> {
    time_turns(subject.agent(home, model)?)
}

/// Measures the turns of an agent that is ready, and ends it.
pub(crate) fn time_turns(mut agent: Pipe) -> Result<f64, Failure> {
    let started = Instant::now();
    let records = agent::run(&mut agent, "Run it.")?;
    let elapsed = started.elapsed();
    agent.finish()?;
    let ended = |record: &&Value| record["type"] == "tool_execution_end" && record["isError"] == false;
    let count = records.parse()?.iter().filter(ended).count();
    if count != TURNS {
        return Err(Failure::new(format!("{count} of {TURNS} tool calls have succeeded")));
    }
    Ok(elapsed.as_secs_f64() * 1e3)
}

/// Returns the script of the model.
pub(crate) fn script() -> Value {
    let call = json!({ "toolCalls": [{ "name": "bash", "arguments": { "command": "true" } }] });
    let mut steps = vec![call; TURNS];
    steps.push(json!({ "text": "Done." }));
    json!({ "steps": steps })
}
