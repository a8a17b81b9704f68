//! The loop that serves one client.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use bowline_core::SessionTag;
use bowline_core::command::Request;
use bowline_core::policy::EndOfInput;
use bowline_core::reply::{Refusal, Reply};
use bowline_dialect::{Dialect, Incoming};
use bowline_engine::{Agent, Input, OpenedSession, Output, Report, Tagged};
use bowline_wire::{DEFAULT_LINE_LIMIT, Line, Lines, Outbox, Record};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use crate::sessions::{Sessions, unknown_session};

/// How much may be queued while one input is handled. One piece of a stream can hold hundreds of deltas, and in some
/// dialects each repeats the whole message: only an outbox that knows that the reader lags joins them.
const FLUSHED_ABOVE: usize = 256 * 1024;

/// How long a connection may take to end.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(4);

/// How long the two ends of a client that has ended may be closed one after the other.
const BOTH_ENDS: Duration = Duration::from_millis(100);

/// A second request to abort within this time ends the connection.
const ABORT_REPEATED: Duration = Duration::from_secs(2);

/// The limits of a connection.
#[derive(Debug)]
pub struct Limits {
    /// The longest line that is read.
    pub line: usize,
    /// Holds what the client has not read yet.
    pub outbox: Outbox,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: DEFAULT_LINE_LIMIT, outbox: Outbox::default() }
    }
}

/// What interrupts a connection from outside, such as a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The connection ends with an exit code.
    Stop(u8),
    /// What is in progress is aborted, and the connection goes on. It ends with the exit code if nothing is in progress,
    /// or if this is repeated soon.
    Abort { exit_code: u8 },
}

/// One client and the sessions it uses.
pub struct Connection {
    dialect: Box<dyn Dialect>,
    sessions: Sessions,
    lines: Lines,
    /// What the dialect has just encoded; kept only to be reused.
    records: Vec<Record>,
    outbox: Outbox,
    /// When the connection was last asked from outside to abort what is in progress.
    last_abort: Option<Instant>,
    /// The exit code with which an extension or its host wants the connection to end.
    quits_with: Option<u8>,
    /// Whether the client sends nothing any more, and what is in progress is finished all the same.
    has_input_ended: bool,
    /// Called when the first task reports: from then on there is work that the loop could be stuck in.
    when_working: Option<Box<dyn FnOnce() + Send>>,
}

/// What happened to a connection.
enum Happened {
    Read(io::Result<usize>),
    Report(Tagged),
    Written(io::Result<()>),
    Interrupted(Interruption),
}

impl Connection {
    /// Returns a connection without sessions.
    pub fn new(agent: Agent, dialect: Box<dyn Dialect>, limits: Limits) -> Self {
        Self {
            dialect,
            sessions: Sessions::new(agent),
            lines: Lines::new(limits.line),
            records: Vec::new(),
            outbox: limits.outbox,
            last_abort: None,
            quits_with: None,
            has_input_ended: false,
            when_working: None,
        }
    }

    /// Has `hook` called once, when the first task reports. A connection that only answers questions never calls it.
    #[must_use]
    pub fn when_working(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.when_working = Some(Box::new(hook));
        self
    }

    /// Adds the session that the connection starts with.
    pub fn start_with(&mut self, opened: OpenedSession, working_directory: PathBuf) -> Result<(), Refusal> {
        self.sessions.add(SessionTag::FIRST, opened, working_directory)
    }

    /// Serves the client until it closes its end, quits or cannot be written to, or until an interruption ends it.
    /// Returns the exit code.
    pub async fn serve(
        mut self,
        mut input: bowline_wire::Input,
        mut output: bowline_wire::Output,
        mut interruptions: UnboundedReceiver<Interruption>,
    ) -> u8 {
        let mut buffer = Vec::new();
        self.dialect.opening(&mut self.records);
        self.post();
        let mut has_input = true;
        let code = loop {
            if let Some(code) = self.quits_with {
                break code;
            }
            if !has_input && self.sessions.are_idle() {
                break 0;
            }
            let may_read = has_input && !self.outbox.is_far_over_bound();
            let happened = tokio::select! {
                read = input.read(&mut buffer), if may_read => Happened::Read(read),
                Some(report) = self.sessions.next_report(), if !self.outbox.is_over_bound() => {
                    Happened::Report(report)
                }
                written = write(&mut self.outbox, &mut output) => Happened::Written(written),
                Some(interruption) = interruptions.recv() => Happened::Interrupted(interruption),
            };
            let written = match happened {
                Happened::Read(Ok(0)) => {
                    let last = self.lines.finish().map(|line| self.take_line(line, &mut output));
                    let has_quit = last.is_some_and(|flow| flow.is_break());
                    if has_quit || self.dialect.policy().end_of_input == EndOfInput::Aborts {
                        break 0;
                    }
                    has_input = false;
                    self.end_input(&mut output);
                    self.outbox.flush_now(&mut output)
                }
                Happened::Read(Ok(_)) => {
                    self.lines.push(&buffer);
                    buffer.clear();
                    if self.take_lines(&mut output).is_break() {
                        break 0;
                    }
                    self.outbox.flush_now(&mut output)
                }
                // Whatever broke the input, the client cannot send anything more.
                Happened::Read(Err(error)) => {
                    eprintln!("bowline: reading from the client: {error}");
                    break 0;
                }
                Happened::Report(report) => {
                    if let Some(hook) = self.when_working.take() {
                        hook();
                    }
                    self.take_report(report, &mut output);
                    while !self.outbox.is_over_bound()
                        && let Some(report) = self.sessions.try_report()
                    {
                        self.take_report(report, &mut output);
                    }
                    if self.follow_up(&mut output).is_break() {
                        break 0;
                    }
                    self.outbox.flush_now(&mut output)
                }
                Happened::Written(result) => result,
                Happened::Interrupted(Interruption::Stop(code)) => break code,
                Happened::Interrupted(Interruption::Abort { exit_code }) => {
                    if self.abort_everything(&mut output).is_break() {
                        break exit_code;
                    }
                    self.outbox.flush_now(&mut output)
                }
            };
            if let Err(error) = written {
                // A client that has ended closed both ends. Which of the two is noticed first is up to chance.
                if has_input && ends_soon(&mut input).await {
                    break 0;
                }
                // The client does not read any more: the same as the end of its input, but for the exit code.
                eprintln!("bowline: writing to the client: {error}");
                break 1;
            }
        };
        self.shut_down(code, output).await
    }

    /// Tells every session that nobody answers any more.
    fn end_input(&mut self, output: &mut bowline_wire::Output) {
        self.has_input_ended = true;
        for tag in self.sessions.tags() {
            self.take_input(tag, Input::InputEnded, output);
        }
    }

    /// Aborts what is in progress in every session. Breaks if nothing is, or if this has just been done.
    fn abort_everything(&mut self, output: &mut bowline_wire::Output) -> ControlFlow<()> {
        let now = Instant::now();
        let is_repeated = self.last_abort.is_some_and(|last| now.duration_since(last) < ABORT_REPEATED);
        if is_repeated || self.sessions.are_idle() {
            return ControlFlow::Break(());
        }
        self.last_abort = Some(now);
        for tag in self.sessions.tags() {
            self.take_input(tag, Input::Abort, output);
        }
        ControlFlow::Continue(())
    }

    /// Stops what is in progress, writes what is due and returns the exit code.
    async fn shut_down(mut self, code: u8, mut output: bowline_wire::Output) -> u8 {
        let deadline = Instant::now() + SHUTDOWN_LIMIT;
        for tag in self.sessions.tags() {
            self.take_input(tag, Input::Shutdown, &mut output);
        }
        while !self.sessions.are_idle() {
            match timeout_at(deadline, self.sessions.next_report()).await {
                Ok(Some(report)) => self.take_report(report, &mut output),
                Ok(None) | Err(_) => break,
            }
        }
        while !self.outbox.is_empty() {
            match timeout_at(deadline, self.outbox.drain(&mut output)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return code.max(1),
            }
        }
        let finished = timeout_at(deadline, output.finish()).await;
        if matches!(finished, Ok(Ok(()))) { code } else { code.max(1) }
    }

    /// Carries out the complete lines that have arrived.
    fn take_lines(&mut self, output: &mut bowline_wire::Output) -> ControlFlow<()> {
        while let Some(line) = self.lines.next_line() {
            self.take_line(line, output)?;
        }
        ControlFlow::Continue(())
    }

    /// Carries out a line of the client. Breaks when the client quits.
    fn take_line(&mut self, line: Line, output: &mut bowline_wire::Output) -> ControlFlow<()> {
        let incoming = self.dialect.decode(line, &mut self.records);
        self.post();
        if let Some(incoming) = incoming {
            self.take_incoming(incoming, output)?;
        }
        self.follow_up(output)
    }

    /// Carries out what the dialect wants to be done beside what the client has sent.
    fn follow_up(&mut self, output: &mut bowline_wire::Output) -> ControlFlow<()> {
        while let Some(incoming) = self.dialect.follow_up() {
            self.take_incoming(incoming, output)?;
        }
        ControlFlow::Continue(())
    }

    fn take_incoming(&mut self, incoming: Incoming, output: &mut bowline_wire::Output) -> ControlFlow<()> {
        match incoming {
            Incoming::Request { session, request } => {
                if let Some(Input::Request(Request { origin, .. })) =
                    self.take_input(session, Input::Request(request), output)
                {
                    self.reply(session, &Reply { origin, result: Err(unknown_session()) });
                }
            }
            // An answer to a session that is gone is as late as any other.
            Incoming::Answer { session, answer } => {
                self.take_input(session, Input::Answer(answer), output);
            }
            // As late as any other if the session is gone.
            Incoming::HostReport { session, report } => {
                self.take_input(session, Input::HostReport(report), output);
            }
            Incoming::Open { session, origin, request } => {
                if let Some(reply) = self.sessions.open(session, origin, request) {
                    self.reply(session, &reply);
                }
            }
            Incoming::Close { session, origin } => {
                let reply = match self.sessions.get(session) {
                    Some(open) => open.close(origin),
                    None => Some(Reply { origin, result: Err(unknown_session()) }),
                };
                match reply {
                    Some(reply) => self.reply(session, &reply),
                    None => drop(self.take_input(session, Input::Shutdown, output)),
                }
            }
            Incoming::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn take_report(&mut self, tagged: Tagged, output: &mut bowline_wire::Output) {
        let Tagged { session, report } = tagged;
        match report {
            // A report to a session that is gone is as late as any other.
            Report::Step(step) => drop(self.take_input(session, Input::Step(step), output)),
            Report::Extension { host, input } => {
                drop(self.take_input(session, Input::Extension { host, input }, output));
            }
            Report::HostCall(request) => {
                drop(self.take_input(session, Input::HostCall(request), output));
            }
            Report::HostQuestion(question) => {
                drop(self.take_input(session, Input::HostQuestion(question), output));
            }
            Report::Opened(result) => {
                if let Some(reply) = self.sessions.finish_opening(session, *result) {
                    self.reply(session, &reply);
                }
                if self.has_input_ended {
                    self.take_input(session, Input::InputEnded, output);
                }
            }
        }
    }

    /// Gives a session something to handle, encodes what it emits, and removes it if it is over. Returns the input if the
    /// session is not open.
    fn take_input(
        &mut self,
        session: SessionTag,
        input: Input,
        output: &mut bowline_wire::Output,
    ) -> Option<Input> {
        let Some(open) = self.sessions.get(session) else { return Some(input) };
        open.handle(input);
        while let Some(emitted) = open.next_output() {
            match emitted {
                Output::Event(event) => self.dialect.event(session, &event, &mut self.records),
                Output::Reply(reply) => self.dialect.reply(session, &reply, &mut self.records),
                Output::Quit { has_failed } => self.quits_with = Some(u8::from(has_failed)),
            }
            post(&mut self.records, &mut self.outbox);
            if self.outbox.queued_bytes() > FLUSHED_ABOVE {
                // A broken output is still broken at the next flush, which is where it is handled.
                let _ = self.outbox.flush_now(output);
            }
        }
        if open.is_over()
            && let Some(reply) = self.sessions.remove(session)
        {
            self.reply(session, &reply);
        }
        None
    }

    fn reply(&mut self, session: SessionTag, reply: &Reply) {
        self.dialect.reply(session, reply, &mut self.records);
        self.post();
    }

    fn post(&mut self) {
        post(&mut self.records, &mut self.outbox);
    }
}

/// Puts what the dialect has encoded into the outbox.
fn post(records: &mut Vec<Record>, outbox: &mut Outbox) {
    for record in records.drain(..) {
        outbox.push(record);
    }
}

/// Tells whether nothing more comes from the client, once its output is closed.
async fn ends_soon(input: &mut bowline_wire::Input) -> bool {
    let read = timeout_at(Instant::now() + BOTH_ENDS, async { input.read(&mut Vec::new()).await });
    matches!(read.await, Ok(Ok(0)))
}

/// Writes more of what is due as soon as there is room. When nothing is due, waits for the reader's end.
async fn write(outbox: &mut Outbox, output: &mut bowline_wire::Output) -> io::Result<()> {
    if outbox.is_empty() { output.reader_gone().await } else { outbox.drain(output).await }
}
