//! Reads what an extension sends, one record after the other. A record takes effect before the next one is read.

use std::sync::Arc;

use bowline_core::extension_info::ExtensionStatus;
use bowline_wire::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::process::connection::{Connection, lock};
use crate::process::displays::Displays;
use crate::process::extension::{ProcessExtension, flags_only};
use crate::process::flood::Flood;
use crate::process::notifications;
use crate::process::plan::Direction;
use crate::process::requests;
use crate::protocol::{
    CallResult, ErrorBody, Failure, FromExtension, LONGEST_LINE, Registered, Registration, Request,
    ToExtension, VERSION, answered_call,
};

/// How many invalid lines are reported.
const REPORTED_LINES: u32 = 3;

/// How much of an invalid line an error shows, in characters.
const SHOWN_LINE: usize = 100;

/// The most requests of an extension that are open at the same time.
const MOST_REQUESTS: usize = 64;

/// How much is read at once.
const BUFFER: usize = 64 * 1024;

/// Reads the records of one process.
pub(crate) struct Reader {
    extension: Arc<ProcessExtension>,
    connection: Arc<Connection>,
    /// Cancelled once the process has registered.
    registered: CancellationToken,
    flood: Flood,
    displays: Displays,
    invalid_lines: u32,
    /// What answers requests; it ends with the process.
    answers: JoinSet<()>,
}

impl Reader {
    pub fn new(
        extension: Arc<ProcessExtension>,
        connection: Arc<Connection>,
        registered: CancellationToken,
    ) -> Self {
        Self {
            extension,
            connection,
            registered,
            flood: Flood::default(),
            displays: Displays::default(),
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
                    self.displays.flush(&self.extension.link).await;
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
        self.displays.flush(&self.extension.link).await;
    }

    async fn take_line(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong { limit } => {
                return self.reject(format!("a line is longer than {limit} bytes")).await;
            }
            Line::NotUtf8 => return self.reject("a line is not UTF-8".to_owned()).await,
        };
        if let Some(trace) = &self.extension.plan.trace {
            trace(self.extension.id(), Direction::FromExtension, &text);
        }
        match FromExtension::parse(&text) {
            Ok(Some(record)) => self.take(record).await,
            // A later version may have it.
            Ok(None) => {}
            Err(error) => {
                // Whoever waits for this answer would wait in vain.
                if let Some(id) = answered_call(&text) {
                    let message = format!("The extension's answer is invalid: {error}");
                    self.connection.end_call(&id, Err(Failure::new(message)));
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
            self.extension.fail("protocol", problem).await;
        } else if self.invalid_lines == REPORTED_LINES {
            let problem = format!("{problem} (further invalid lines are not reported)");
            self.extension.fail("protocol", problem).await;
        }
    }

    async fn take(&mut self, record: FromExtension) {
        match record {
            FromExtension::CallResult(CallResult { id, result, error }) => {
                self.displays.flush(&self.extension.link).await;
                self.connection.end_call(&id, error.map_or(Ok(result), Err));
            }
            FromExtension::Update(update) => {
                self.slow_down().await;
                self.connection.progress(&update.id, update.partial);
            }
            FromExtension::ChunkRecord(chunk) => self.connection.chunk(&chunk.id, chunk.event),
            FromExtension::Request(request) => {
                self.displays.flush(&self.extension.link).await;
                self.answer(request).await;
            }
            FromExtension::Notify(notify) => {
                self.slow_down().await;
                notifications::carry_out(&self.extension, &mut self.displays, notify).await;
            }
            FromExtension::Cancel(cancel) => {
                if let Some(request) = lock(&self.connection.requests).get(&cancel.id) {
                    request.cancel();
                }
            }
            FromExtension::Registered(registered) => self.register(registered).await,
            FromExtension::Register(register) if self.registered.is_cancelled() => {
                self.slow_down().await;
                self.extension.register(register.parts, false).await;
                self.send_flags().await;
            }
            FromExtension::Register(_) => {
                self.slow_down().await;
                self.extension.fail("register", "the first record must be registered").await;
            }
            FromExtension::Unregister(names) => {
                self.slow_down().await;
                self.extension.unregister(names).await;
            }
            FromExtension::ErrorRecord(error) => {
                self.slow_down().await;
                let place = error.place.filter(|place| place.len() <= SHOWN_LINE);
                if let Some(stack) = error.stack {
                    (self.extension.plan.log)(&format!("{}: {stack}", self.extension.id()));
                }
                self.extension.fail(place.as_deref().unwrap_or("process"), error.message).await;
            }
            FromExtension::Log(log) => {
                self.slow_down().await;
                let level = log.level.map(|level| format!("{level}: ")).unwrap_or_default();
                (self.extension.plan.log)(&format!("{}: {level}{}", self.extension.id(), log.message));
            }
        }
    }

    async fn register(&mut self, registered: Registered) {
        if self.registered.is_cancelled() {
            self.slow_down().await;
            return self.extension.fail("register", "it has registered already").await;
        }
        if registered.protocol != VERSION {
            let version = registered.protocol;
            let cause = format!("speaks version {version} of the protocol, but bowline speaks {VERSION}");
            return self.connection.give_up(cause);
        }
        for error in registered.errors {
            self.extension.fail("load", error.error).await;
        }
        self.extension.set_connection(Some(Arc::clone(&self.connection)));
        self.extension.set_status(ExtensionStatus::Running);
        let parts = registered.extensions.into_iter().fold(Registration::default(), Registration::and);
        self.extension.register(parts, true).await;
        self.send_flags().await;
        self.extension.tell_all(&self.connection);
        self.registered.cancel();
    }

    /// Sends the values of the flags that the extension knows.
    async fn send_flags(&self) {
        let mut problems = Vec::new();
        let flags = self.extension.flag_values(&mut problems);
        if !flags.is_empty() {
            self.connection.send(&ToExtension::State { patch: flags_only(&flags), entries: Vec::new() });
        }
        for problem in problems {
            (self.extension.plan.report)(&problem);
            self.extension.fail("load", problem).await;
        }
    }

    /// Answers a request in a task of its own.
    async fn answer(&mut self, request: Request) {
        while self.answers.try_join_next().is_some() {}
        let Request { id, method, params } = request;
        let cancel = CancellationToken::new();
        let refusal = {
            let mut open = lock(&self.connection.requests);
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
            return respond(&self.connection, &id, &Err(refusal));
        }
        let (extension, connection) = (Arc::clone(&self.extension), Arc::clone(&self.connection));
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
            let most = crate::process::flood::MOST_PER_SECOND;
            let error = format!("it sends more than {most} records a second and is slowed down");
            self.extension.fail("flood", error).await;
        }
        self.flood.wait().await;
    }
}

/// Sends the answer to a request.
fn respond(connection: &Connection, id: &str, answer: &Result<serde_json::Value, String>) {
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(message) => (None, Some(ErrorBody { message })),
    };
    connection.send(&ToExtension::Response { id, result, error });
}
