//! A model's answer, independent of the API.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::gate::Gate;

/// How many characters of a tool's arguments one delta has.
const ARGUMENTS_PIECE: usize = 16;

/// An answer of the model, built from left to right.
///
/// Neighbouring texts are deltas of one block, also with a gate between them.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) kind: Kind,
    pub(crate) delay: Duration,
    pub(crate) interrupt_after: Option<usize>,
    pub(crate) hang_after: Option<usize>,
    pub(crate) is_last: bool,
    pub(crate) usage: Usage,
    pub(crate) stop_reason: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A stream of these steps.
    Stream(Vec<Step>),
    /// An answer that is not a stream.
    Status { code: u16, headers: Vec<(String, String)>, body: String },
    /// No answer.
    Mute,
    /// No answer; the connection is closed.
    Closed,
}

/// A step of a stream.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Thinking(String),
    Text(String),
    Tool {
        name: String,
        arguments: Vec<String>,
    },
    Gate(Gate),
    /// An error inside the stream, which ends it.
    Error(String),
}

/// The usage that the model reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request that were not cached.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 10, cache_read: 0, cache_write: 0 }
    }
}

impl Reply {
    /// Creates an answer without content.
    #[expect(clippy::new_without_default, reason = "an answer without content is only a start")]
    pub fn new() -> Self {
        Self::of(Kind::Stream(Vec::new()))
    }

    /// Creates an answer that starts with a text, in one delta.
    pub fn text(text: &str) -> Self {
        Self::new().then_text(text)
    }

    /// Creates an HTTP answer that is not a stream, such as an error.
    pub fn status(code: u16) -> Self {
        Self::of(Kind::Status { code, headers: Vec::new(), body: String::new() })
    }

    /// Creates no answer: the request is read, and nothing is sent.
    pub fn mute() -> Self {
        Self::of(Kind::Mute)
    }

    /// Creates no answer: the request is read, and the connection is closed.
    pub fn closed() -> Self {
        Self::of(Kind::Closed)
    }

    /// Continues with a text, in one delta.
    pub fn then_text(self, text: &str) -> Self {
        self.then(Step::Text(text.to_owned()))
    }

    /// Continues with thinking, in one delta.
    pub fn thinking(self, text: &str) -> Self {
        self.then(Step::Thinking(text.to_owned()))
    }

    /// Continues with a tool call, its arguments split into several deltas.
    pub fn tool(self, name: &str, arguments: Value) -> Self {
        let arguments: Vec<char> = arguments.to_string().chars().collect();
        let arguments = arguments.chunks(ARGUMENTS_PIECE).map(|piece| piece.iter().collect()).collect();
        self.then(Step::Tool { name: name.to_owned(), arguments })
    }

    /// Continues with `count` deltas of `size` characters of text without repetition.
    pub fn deltas(mut self, count: usize, size: usize) -> Self {
        for number in 0..count {
            let mut text = String::with_capacity(size + 8);
            while text.len() < size {
                write!(text, "{number:x}.{:x} ", text.len()).expect("writing to a string");
            }
            text.truncate(size);
            self = self.then_text(&text);
        }
        self
    }

    /// Waits here until the test opens the gate.
    pub fn gate(self, gate: &Gate) -> Self {
        self.then(Step::Gate(gate.clone()))
    }

    /// Ends here with an error inside the stream.
    pub fn stream_error(self, kind: &str) -> Self {
        self.then(Step::Error(kind.to_owned()))
    }

    /// Waits before each delta.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Closes the connection after a number of deltas, without an end.
    pub fn interrupt_after(mut self, deltas: usize) -> Self {
        self.interrupt_after = Some(deltas);
        self
    }

    /// Falls silent after a number of deltas, and keeps the connection.
    pub fn hang_after(mut self, deltas: usize) -> Self {
        self.hang_after = Some(deltas);
        self
    }

    /// Closes the connection after the end without announcing it.
    pub fn then_close(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// Sets the usage.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the stop reason, as the API spells it, instead of the one that follows from the content.
    pub fn stop_reason(mut self, reason: &str) -> Self {
        self.stop_reason = Some(reason.to_owned());
        self
    }

    /// Adds a header to an answer that is not a stream.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.kind {
            Kind::Status { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            kind => panic!("only an answer made with `status` has headers, not {kind:?}"),
        }
        self
    }

    /// Sets the body of an answer that is not a stream.
    pub fn body(mut self, text: &str) -> Self {
        match &mut self.kind {
            Kind::Status { body, .. } => text.clone_into(body),
            kind => panic!("only an answer made with `status` has a body, not {kind:?}"),
        }
        self
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind,
            delay: Duration::ZERO,
            interrupt_after: None,
            hang_after: None,
            is_last: false,
            usage: Usage::default(),
            stop_reason: None,
        }
    }

    fn then(mut self, step: Step) -> Self {
        match &mut self.kind {
            Kind::Stream(steps) => steps.push(step),
            kind => panic!("only a stream has content, not {kind:?}"),
        }
        self
    }
}

/// A frame of a stream, or an event between two frames.
#[derive(Debug)]
pub(crate) enum Frame {
    /// Bytes that are not a delta.
    Plain(String),
    /// A delta: counted, and delayed.
    Delta(String),
    /// A point where the stream waits.
    Gate(Gate),
}

/// Returns a frame's text as a server-sent event.
pub(crate) fn event(name: Option<&str>, data: &Value) -> String {
    name.map_or_else(|| format!("data: {data}\n\n"), |name| format!("event: {name}\ndata: {data}\n\n"))
}
