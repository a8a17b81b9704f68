//! Reads what an extension sends, one record after the other. A record takes effect before the next one is read.

use std::sync::Arc;

use bowline_core::extension_info::ExtensionStatus;
use bowline_wire::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::process::connection::{Connection, lock};
use crate::process::displays::Displays;
use crate::process::extension::flags_only;
use crate::process::flood::{Flood, too_many};
use crate::process::lanes::{Arrival, Lanes};
use crate::process::notifications;
use crate::process::pipe::Pipe;
use crate::process::plan::Direction;
use crate::process::requests;
use crate::process::serving_process::{Member, Process};
use crate::protocol::{
    CallResult, ErrorBody, ErrorRecord, Failure, FromExtension, LONGEST_LINE, Log, Registered, Registration,
    Request, ToExtension, VERSION, answered_call,
};

/// How many invalid lines are reported.
const REPORTED_LINES: u32 = 3;

/// How much of an invalid line an error shows, in characters.
const SHOWN_LINE: usize = 100;

/// The most requests of an extension that are open at the same time.
const MOST_REQUESTS: usize = 64;

/// How many records that had to wait are taken before further ones are read.
const TAKEN_AT_ONCE: usize = 64;

/// How much is read at once.
const BUFFER: usize = 64 * 1024;

/// Reads the records of one process.
pub(crate) struct Reader {
    process: Arc<Process>,
    pipe: Arc<Pipe>,
    /// Cancelled once the process has registered.
    registered: CancellationToken,
    flood: Flood,
    displays: Displays,
    /// What extensions have sent too much of, if several share the process.
    lanes: Lanes,
    invalid_lines: u32,
    /// What answers requests; it ends with the process.
    answers: JoinSet<()>,
}

impl Reader {
    pub fn new(process: Arc<Process>, pipe: Arc<Pipe>, registered: CancellationToken) -> Self {
        Self {
            process,
            pipe,
            registered,
            flood: Flood::default(),
            displays: Displays::default(),
            lanes: Lanes::default(),
            invalid_lines: 0,
            answers: JoinSet::new(),
        }
    }

    /// Reads until the end.
    pub async fn read(&mut self, mut input: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(LONGEST_LINE);
        let mut buffer = Vec::with_capacity(BUFFER);
        loop {
            buffer.clear();
            let read = tokio::select! {
                read = input.read_buf(&mut buffer) => read,
                () = self.displays.become_due() => {
                    self.displays.flush(&self.process.link).await;
                    continue;
                }
                () = self.lanes.become_due() => {
                    self.take_waiting().await;
                    continue;
                }
            };
            if !matches!(read, Ok(1..)) {
                break;
            }
            lines.push(&buffer);
            while let Some(line) = lines.next_line() {
                self.take_line(line).await;
            }
        }
        if let Some(line) = lines.finish() {
            self.take_line(line).await;
        }
        while let Some((member, record)) = self.lanes.next(true) {
            self.take(&member, record).await;
        }
        self.displays.flush(&self.process.link).await;
    }

    /// Takes records that had to wait, a few at a time: there may be new ones of other extensions.
    async fn take_waiting(&mut self) {
        for _ in 0..TAKEN_AT_ONCE {
            let Some((member, record)) = self.lanes.next(false) else { return };
            self.take(&member, record).await;
        }
    }

    /// Takes a record in its turn.
    async fn take_in_turn(&mut self, member: &Member, record: FromExtension, size: usize) {
        if !self.process.is_shared() {
            if record.is_unasked() {
                self.slow_down().await;
            }
            return self.take(member, record).await;
        }
        match self.lanes.arrive(member, record, size) {
            Arrival::Taken(record) => self.take(member, record).await,
            Arrival::Held { problem: Some(problem) } => member.extension.fail("flood", problem).await,
            Arrival::Held { problem: None } => {}
        }
    }

    async fn take_line(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong { limit } => {
                return self.reject(format!("a line is longer than {limit} bytes")).await;
            }
            Line::NotUtf8 => return self.reject("a line is not UTF-8".to_owned()).await,
        };
        if let Some(trace) = &self.process.plan.trace {
            trace(&self.process.name, Direction::FromExtension, &text);
        }
        match FromExtension::parse(&text) {
            Ok(Some(FromExtension::Registered(registered))) => self.register(registered).await,
            Ok(Some(record)) => match self.process.member(record.extension()) {
                Some(member) => self.take_in_turn(&member, record, text.len()).await,
                None => self.take_of_nobody(record).await,
            },
            // A later version may have it.
            Ok(None) => {}
            Err(error) => {
                // Whoever waits for this answer would wait in vain.
                if let Some(id) = answered_call(&text) {
                    let message = format!("The extension's answer is invalid: {error}");
                    for member in self.process.running_members() {
                        member.connection.end_call(&id, Err(Failure::new(message.clone())));
                    }
                }
                let shown: String = text.chars().take(SHOWN_LINE).collect();
                let problem = format!(
                    "stdout is for records only (write logs to stderr), and this line is none: {error}: {shown}"
                );
                self.reject(problem).await;
            }
        }
    }

    /// Reports a line that is no record.
    async fn reject(&mut self, problem: String) {
        self.slow_down().await;
        self.invalid_lines += 1;
        if self.invalid_lines < REPORTED_LINES {
            self.process.fail("protocol", problem).await;
        } else if self.invalid_lines == REPORTED_LINES {
            let problem = format!("{problem} (further invalid lines are not reported)");
            self.process.fail("protocol", problem).await;
        }
    }

    async fn take(&mut self, member: &Member, record: FromExtension) {
        let Member { extension, connection } = member;
        match record {
            FromExtension::CallResult(CallResult { id, result, error, .. }) => {
                self.displays.flush(&extension.link).await;
                connection.end_call(&id, error.map_or(Ok(result), Err));
            }
            FromExtension::Update(update) => {
                connection.progress(&update.id, update.partial);
            }
            FromExtension::ChunkRecord(chunk) => connection.chunk(&chunk.id, chunk.event),
            FromExtension::Request(request) => {
                self.displays.flush(&extension.link).await;
                self.answer(member, request).await;
            }
            FromExtension::Notify(notify) => {
                notifications::carry_out(extension, &mut self.displays, notify).await;
            }
            FromExtension::Cancel(cancel) => {
                if let Some(request) = lock(&connection.requests).get(&cancel.id) {
                    request.cancel();
                }
            }
            FromExtension::Registered(_) => {}
            FromExtension::Loading(_) => self.process.loading(extension.id()),
            // What has loaded takes part at once, however long the others take.
            FromExtension::Register(parts)
                if self.process.is_shared() && extension.connection().is_none() =>
            {
                self.process.loaded();
                register(member, parts.parts).await;
            }
            FromExtension::Register(register)
                if self.registered.is_cancelled() || self.process.is_shared() =>
            {
                extension.register(register.parts, false).await;
                send_flags(member).await;
            }
            FromExtension::Register(_) => {
                extension.fail("register", "the first record must be registered").await;
            }
            FromExtension::Unregister(names) => {
                extension.unregister(names).await;
            }
            FromExtension::ErrorRecord(error) => {
                let place = place_of(&error);
                if let Some(stack) = error.stack {
                    (extension.plan.log)(&format!("{}: {stack}", extension.id()));
                }
                extension.fail(&place, error.message).await;
            }
            FromExtension::Log(log) => {
                self.log(extension.id(), &log);
            }
        }
    }

    /// Takes a record of a process that serves several extensions and names none of them: only what concerns no single
    /// one can be.
    async fn take_of_nobody(&mut self, record: FromExtension) {
        self.slow_down().await;
        match record {
            FromExtension::ErrorRecord(error) => {
                let place = place_of(&error);
                self.process.fail(&place, error.message).await;
            }
            FromExtension::Log(log) => self.log(&self.process.name, &log),
            _ => {}
        }
    }

    fn log(&self, name: &str, log: &Log) {
        let level = log.level.as_ref().map(|level| format!("{level}: ")).unwrap_or_default();
        (self.process.plan.log)(&format!("{name}: {level}{}", log.message));
    }

    async fn register(&mut self, registered: Registered) {
        if self.process.is_registered() {
            self.slow_down().await;
            return self.process.fail("register", "it has registered already".to_owned()).await;
        }
        if registered.protocol != VERSION {
            let version = registered.protocol;
            let cause = format!("speaks version {version} of the protocol, but bowline speaks {VERSION}");
            return self.pipe.give_up(cause);
        }
        for error in registered.errors {
            match self.process.member(error.ext.as_deref()) {
                Some(Member { extension, .. }) => {
                    if self.process.is_shared() {
                        extension.set_status(ExtensionStatus::Failed(error.error.clone()));
                    }
                    extension.fail("load", error.error).await;
                }
                None => self.process.fail("load", error.error).await,
            }
        }
        if self.process.is_shared() {
            for parts in registered.extensions {
                if let Some(member) = self.process.member(parts.ext.as_deref()) {
                    register(&member, parts).await;
                }
            }
        } else if let Some(member) = self.process.member(None) {
            let parts = registered.extensions.into_iter().fold(Registration::default(), Registration::and);
            register(&member, parts).await;
        }
        self.registered.cancel();
        self.process.registered();
    }

    /// Answers a request in a task of its own.
    async fn answer(&mut self, member: &Member, request: Request) {
        while self.answers.try_join_next().is_some() {}
        let Request { id, method, params, .. } = request;
        let Member { extension, connection } = member.clone();
        let cancel = CancellationToken::new();
        let refusal = {
            let mut open = lock(&connection.requests);
            if open.contains_key(&id) {
                Some("there is an open request with this id".to_owned())
            } else if open.len() >= MOST_REQUESTS {
                Some(format!("more than {MOST_REQUESTS} requests are open"))
            } else {
                open.insert(id.clone(), cancel.clone());
                None
            }
        };
        if let Some(refusal) = refusal {
            return respond(&connection, &id, &Err(refusal));
        }
        self.answers.spawn(async move {
            let answer = requests::answer(&extension, &connection, &id, &method, params, cancel).await;
            lock(&connection.requests).remove(&id);
            respond(&connection, &id, &answer);
        });
        // The request takes effect before the next record, as far as it is sent to the session at once.
        tokio::task::yield_now().await;
    }

    /// Counts a record that nobody asked for, and waits if there are too many.
    async fn slow_down(&mut self) {
        if self.flood.count() {
            self.process.fail("flood", too_many()).await;
        }
        self.flood.wait().await;
    }
}

/// Takes what an extension of a process that has just started offers.
async fn register(member: &Member, parts: Registration) {
    let Member { extension, connection } = member;
    extension.set_connection(Some(Arc::clone(connection)));
    extension.set_status(ExtensionStatus::Running);
    extension.register(parts, true).await;
    send_flags(member).await;
    extension.tell_all(connection);
}

/// Sends the values of the flags that an extension knows.
async fn send_flags(member: &Member) {
    let Member { extension, connection } = member;
    let mut problems = Vec::new();
    let flags = extension.flag_values(&mut problems);
    if !flags.is_empty() {
        connection.send(&ToExtension::State { patch: flags_only(&flags), entries: Vec::new() });
    }
    for problem in problems {
        (extension.plan.report)(&problem);
        extension.fail("load", problem).await;
    }
}

/// Returns what an extension was doing when an error occurred.
fn place_of(error: &ErrorRecord) -> String {
    error.place.clone().filter(|place| place.len() <= SHOWN_LINE).unwrap_or_else(|| "process".to_owned())
}

/// Sends the answer to a request.
fn respond(connection: &Connection, id: &str, answer: &Result<serde_json::Value, String>) {
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(message) => (None, Some(ErrorBody { message })),
    };
    let message = format!("the answer is longer than {LONGEST_LINE} bytes; ask for less");
    let too_long = ToExtension::Response { id, result: None, error: Some(ErrorBody { message: &message }) };
    connection.send_within(LONGEST_LINE, &ToExtension::Response { id, result, error }, &too_long);
}
