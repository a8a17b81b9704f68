//! The protocols that clients speak. Each is a translation between lines of JSON and the engine's vocabulary: no
//! I/O, no engine logic, one file or folder each, and one line in [`DIALECTS`].

mod command_table;
mod delta_keys;
mod family;
mod fields;
mod json;
mod omp;
mod pi;
mod pi_classic;
mod snapshot;

use bowline_core::command::Request;
use bowline_core::event::Event;
use bowline_core::policy::Policy;
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};

/// A protocol of a client.
pub trait Dialect {
    /// Returns how the dialect's clients expect the agent to behave.
    fn policy(&self) -> Policy {
        Policy::default()
    }

    /// Writes down what a client waits for before it says anything.
    fn opening(&mut self, _records: &mut Vec<Record>) {}

    /// Reads one line of the client. What is to be answered at once, a refusal or an acknowledgement, is written down
    /// here.
    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming>;

    /// Writes down something that happened, in as many records as it takes.
    fn event(&mut self, event: &Event, records: &mut Vec<Record>);

    /// Writes down the answer to a command.
    fn reply(&mut self, reply: &Reply, records: &mut Vec<Record>);
}

/// What a line of the client asks for.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A command for the engine.
    Request(Request),
    /// That the process ends.
    Quit,
}

/// A dialect that can be chosen.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// For whom it is, in a line.
    pub about: &'static str,
    make: fn() -> Box<dyn Dialect>,
}

/// Every dialect there is.
pub const DIALECTS: &[Entry] = &[
    Entry {
        name: "pi",
        about: "clients of pi --mode rpc, version 0.84 and later (the default)",
        make: || Box::new(pi::Pi::default()),
    },
    Entry {
        name: "pi-classic",
        about: "clients of the first pi --mode rpc: prompt with attachments, abort, and events",
        make: || Box::new(pi_classic::PiClassic::default()),
    },
    Entry { name: "omp", about: "clients of omp --mode rpc", make: || Box::new(omp::Omp::default()) },
];

/// Returns the dialect with this name, ready to use.
pub fn find(name: &str) -> Option<Box<dyn Dialect>> {
    DIALECTS.iter().find(|entry| entry.name == name).map(|entry| (entry.make)())
}

/// Returns the record of an error that keeps the process from starting, the same in every dialect: a client that
/// never got to speak must still be able to tell why.
pub fn fatal(message: &str) -> Record {
    Record::Plain(json::to_line(&serde_json::json!({ "type": "error", "error": message, "fatal": true })))
}
