//! The Rust client beside bare pipes to the same program.

use std::time::Instant;

use bowline_client::{Client, Event, Step};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::agent;
use crate::deltas::DELTAS;
use crate::failure::Failure;
use crate::figure::{Figure, Goal, Unit};
use crate::home::Home;
use crate::measures::Subject;
use crate::pipe::Pipe;
use crate::statistics::Samples;

/// How many blocks are taken, alternating with the floor's.
const BLOCKS: usize = 40;

/// How many round trips a block has.
const BLOCK: usize = 250;

/// How many answers are taken, alternating with the floor's.
const ANSWERS: usize = 15;

/// Measures `get_state`, and answers of 8,000 deltas, through the client and through bare pipes.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(Failure::while_doing("a runtime"))?;
    let (home, burst) = Home::empty().with_file("burst.json", &script(0));
    let (home, steady) = home.with_file("steady.json", &script(1));
    let [burst, steady] = [burst, steady].map(|script| format!("scripted/{}", script.display()));
    let mut pipe = subject.agent(&home, &burst)?;
    let client = start(subject, &home, &runtime, &burst)?;
    let figures = vec![
        round_trips(subject, &runtime, &mut pipe, &client)?,
        answers(subject, &runtime, &mut pipe, &client)?,
        merged(&runtime, &start(subject, &home, &runtime, &steady)?)?,
    ];
    pipe.finish()?;
    runtime.block_on(client.stop());
    Ok(figures)
}

fn script(delay: u64) -> String {
    json!({ "cycle": true, "steps": [{ "text": "a few words of text ", "repeat": DELTAS, "delayMs": delay }] }).to_string()
}

fn start(subject: &Subject, home: &Home, runtime: &Runtime, model: &str) -> Result<Client, Failure> {
    let mut builder = Client::builder().program(&subject.binary).clear_environment().model(model);
    for (name, value) in home.command(&subject.binary).get_envs() {
        builder = builder.variable(name, value.unwrap_or_default());
    }
    let starting = builder.working_directory(home.folder()).start();
    runtime.block_on(starting).map_err(Failure::while_doing("starting a client"))
}

fn round_trips(
    subject: &Subject,
    runtime: &Runtime,
    pipe: &mut Pipe,
    client: &Client,
) -> Result<Figure, Failure> {
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for _ in 0..subject.samples(BLOCKS) {
        for _ in 0..BLOCK {
            let started = Instant::now();
            agent::ask_for_state(pipe)?;
            floor.push(started.elapsed().as_secs_f64() * 1e6);
        }
        runtime.block_on(async {
            for _ in 0..BLOCK {
                let started = Instant::now();
                client.get_state().await.map_err(Failure::while_doing("get_state"))?;
                bowline.push(started.elapsed().as_secs_f64() * 1e6);
            }
            Ok::<_, Failure>(())
        })?;
    }
    let what = "get_state through the Rust client".to_owned();
    Ok(Figure { what, unit: Unit::Microseconds, bowline, floor: Some(floor), goal: Goal::None })
}

fn answers(
    subject: &Subject,
    runtime: &Runtime,
    pipe: &mut Pipe,
    client: &Client,
) -> Result<Figure, Failure> {
    let (mut bowline, mut floor) = (Samples::default(), Samples::default());
    for _ in 0..subject.samples(ANSWERS) {
        let started = Instant::now();
        agent::run(pipe, "Go on.")?;
        floor.push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        runtime.block_on(deltas(client))?;
        bowline.push(started.elapsed().as_secs_f64() * 1e3);
        // Otherwise the conversation would become longer with each sample.
        pipe.send(b"{\"type\":\"new_session\"}\n")?;
        pipe.line()?;
        runtime.block_on(client.new_session()).map_err(Failure::while_doing("new_session"))?;
    }
    let what = "8,000 deltas through the Rust client, at once".to_owned();
    Ok(Figure { what, unit: Unit::Milliseconds, bowline, floor: Some(floor), goal: Goal::TimesFloor(2.0) })
}

/// Counts the deltas that were merged because the client lagged, at one each millisecond.
fn merged(runtime: &Runtime, client: &Client) -> Result<Figure, Failure> {
    let mut bowline = Samples::default();
    bowline.push((DELTAS - runtime.block_on(deltas(client))?) as f64);
    let what = "8,000 deltas through the Rust client, one each ms: merged".to_owned();
    Ok(Figure { what, unit: Unit::Count, bowline, floor: None, goal: Goal::AtMost(0.0) })
}

/// Has a run, and returns how many records its text came in.
async fn deltas(client: &Client) -> Result<usize, Failure> {
    let failed = || Failure::while_doing("a run of the client");
    let mut run = client.run("Go on.").await.map_err(failed())?;
    let mut count = 0;
    while let Some(event) = run.next().await.map_err(failed())? {
        if let Event::MessageUpdate(update) = event
            && let Step::TextDelta(_) = update.assistant_message_event
        {
            count += 1;
        }
    }
    Ok(count)
}
