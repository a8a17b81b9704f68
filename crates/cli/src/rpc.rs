//! The RPC mode: lines in, the engine, records out, on one thread.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use bowline_core::SessionTag;
use bowline_dialect::{Dialect, Entry, Incoming};
use bowline_engine::{Engine, Input, Output};
use bowline_wire::{DEFAULT_LINE_LIMIT, DEFAULT_OUTBOX_BOUND, Line, Lines, Outbox, Record};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::home::Surroundings;
use crate::signals::Signals;
use crate::startup;

/// How many inputs from tasks may wait for the engine. Small, so that a stream feels it soon when clients lag.
const INPUT_CAPACITY: usize = 64;

/// How much may be queued while one input is followed to its end. One piece of a stream can hold hundreds of deltas,
/// and in some dialects each repeats the whole message: only an outbox that has been told that the reader lags joins
/// them.
const FLUSHED_ABOVE: usize = 256 * 1024;

/// How long the process may take to end once it was told to.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// Runs the RPC mode until stdin ends, stdout breaks or a signal comes.
pub(crate) fn main(arguments: &Arguments, entry: &Entry) -> Result<ExitCode, Failure> {
    for warning in &arguments.warnings {
        eprintln!("{}: {warning}", entry.start.called);
    }
    let dialect = entry.make();
    let surroundings = Surroundings::read()?;
    let parts = startup::prepare(arguments, &surroundings, &entry.start, dialect.policy())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let outbox = match &arguments.clock {
        // How fast the client reads must not show in what it reads.
        Some(bowline_session::Clock::Fixed(_)) => Outbox::new(DEFAULT_OUTBOX_BOUND).without_joining(),
        _ => Outbox::new(DEFAULT_OUTBOX_BOUND),
    };
    let line_limit = arguments.line_limit.unwrap_or(DEFAULT_LINE_LIMIT);
    let code = runtime.block_on(async {
        let (inputs, tasks) = mpsc::channel(INPUT_CAPACITY);
        let engine = Engine::new(parts, inputs)?;
        let signals = Signals::listen().map_err(Failure::io("listening for signals"))?;
        let (input, output) =
            bowline_wire::take_over().map_err(Failure::io("taking over stdin and stdout"))?;
        let connection = Connection {
            dialect,
            engine,
            tasks,
            lines: Lines::new(line_limit),
            records: Vec::new(),
            outbox,
            output,
        };
        Ok::<_, Failure>(connection.serve(input, signals).await)
    })?;
    // A tool that blocks a thread must not keep the process from ending.
    runtime.shutdown_background();
    Ok(ExitCode::from(code))
}

/// One client and the engine it talks to.
struct Connection {
    dialect: Box<dyn Dialect>,
    engine: Engine,
    /// What the engine's tasks send back.
    tasks: mpsc::Receiver<Input>,
    lines: Lines,
    /// What the dialect has just written down; kept only to be used again.
    records: Vec<Record>,
    outbox: Outbox,
    output: bowline_wire::Output,
}

/// Writes more of what is due as soon as there is room. When nothing is due, waits for the reader's end.
async fn write(outbox: &mut Outbox, output: &mut bowline_wire::Output) -> std::io::Result<()> {
    if outbox.is_empty() { output.reader_gone().await } else { outbox.drain(output).await }
}

/// What happened to a connection.
enum Happened {
    Read(std::io::Result<usize>),
    Task(Input),
    Written(std::io::Result<()>),
    Signal(u8),
}

impl Connection {
    /// Serves the client and returns the exit code.
    async fn serve(mut self, mut input: bowline_wire::Input, mut signals: Signals) -> u8 {
        let mut buffer = Vec::new();
        self.dialect.opening(&mut self.records);
        self.post();
        let code = loop {
            let happened = tokio::select! {
                read = input.read(&mut buffer), if !self.outbox.is_far_over_bound() => Happened::Read(read),
                Some(task) = self.tasks.recv(), if !self.outbox.is_over_bound() => Happened::Task(task),
                written = write(&mut self.outbox, &mut self.output) => Happened::Written(written),
                code = signals.next() => Happened::Signal(code),
            };
            let written = match happened {
                Happened::Read(Ok(0)) => {
                    if let Some(line) = self.lines.finish() {
                        let _ = self.take_line(line);
                    }
                    break 0;
                }
                Happened::Read(Ok(_)) => {
                    self.lines.push(&buffer);
                    buffer.clear();
                    if self.take_lines().is_break() {
                        break 0;
                    }
                    self.outbox.flush_now(&mut self.output)
                }
                // Whatever broke stdin, the client can say nothing more.
                Happened::Read(Err(error)) => {
                    eprintln!("bowline: reading stdin: {error}");
                    break 0;
                }
                Happened::Task(task) => {
                    self.take_input(task);
                    while !self.outbox.is_over_bound()
                        && let Ok(task) = self.tasks.try_recv()
                    {
                        self.take_input(task);
                    }
                    self.outbox.flush_now(&mut self.output)
                }
                Happened::Written(result) => result,
                Happened::Signal(code) => break code,
            };
            if let Err(error) = written {
                // Nobody reads any more: the same as if stdin had ended, but for the exit code.
                eprintln!("bowline: writing stdout: {error}");
                break 1;
            }
        };
        self.shut_down(code).await
    }

    /// Stops what is under way, writes what is due and returns the exit code.
    async fn shut_down(mut self, code: u8) -> u8 {
        let deadline = Instant::now() + SHUTDOWN_LIMIT;
        self.take_input(Input::Shutdown);
        while !self.engine.is_idle() {
            match timeout_at(deadline, self.tasks.recv()).await {
                Ok(Some(task)) => self.take_input(task),
                Ok(None) | Err(_) => break,
            }
        }
        while !self.outbox.is_empty() {
            match timeout_at(deadline, self.outbox.drain(&mut self.output)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return code.max(1),
            }
        }
        let finished = timeout_at(deadline, self.output.finish()).await;
        if matches!(finished, Ok(Ok(()))) { code } else { code.max(1) }
    }

    /// Carries out a line of the client. Breaks when the client wants the process to end.
    fn take_line(&mut self, line: Line) -> ControlFlow<()> {
        let incoming = self.dialect.decode(line, &mut self.records);
        self.post();
        match incoming {
            Some(Incoming::Request { request, .. }) => self.take_input(Input::Request(request)),
            Some(Incoming::Quit) => return ControlFlow::Break(()),
            Some(Incoming::Answer { .. } | Incoming::Open { .. } | Incoming::Close { .. }) | None => {}
        }
        ControlFlow::Continue(())
    }

    /// Carries out the whole lines that have arrived.
    fn take_lines(&mut self) -> ControlFlow<()> {
        while let Some(line) = self.lines.next_line() {
            self.take_line(line)?;
        }
        ControlFlow::Continue(())
    }

    /// Puts what the dialect has written down on its way.
    fn post(&mut self) {
        for record in self.records.drain(..) {
            self.outbox.push(record);
        }
    }

    /// Gives the engine something to do and writes down what it has to say about it.
    fn take_input(&mut self, input: Input) {
        self.engine.handle(input);
        while let Some(output) = self.engine.next_output() {
            match output {
                Output::Event(event) => self.dialect.event(SessionTag::FIRST, &event, &mut self.records),
                Output::Reply(reply) => self.dialect.reply(SessionTag::FIRST, &reply, &mut self.records),
            }
            self.post();
            if self.outbox.queued_bytes() > FLUSHED_ABOVE {
                // An output that is broken is still so at the next flush, which is where it is dealt with.
                let _ = self.outbox.flush_now(&mut self.output);
            }
        }
    }
}
