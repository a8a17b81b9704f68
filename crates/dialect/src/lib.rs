//! The protocols that clients speak. Each is a translation between lines of JSON and the engine's vocabulary: no
//! I/O, no engine logic, one file or folder each, and one line in [`DIALECTS`].

mod command_table;
mod delta_keys;
mod family;
mod fields;
mod json;
mod omp;
mod operator;
mod opi;
mod pi;
mod pi_classic;
mod protocol_info;
mod schema;
mod snapshot;

use bowline_core::SessionTag;
use bowline_core::ask::AskAnswer;
use bowline_core::command::{Origin, Request};
use bowline_core::event::Event;
use bowline_core::policy::Policy;
use bowline_core::reply::Reply;
use bowline_core::session_tag::SessionRequest;
use bowline_wire::{Line, Record};
use schema::Protocol;
use schemars::JsonSchema;
use serde::Serialize;

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

    /// Encodes something that happened in a session, in as many records as it takes.
    fn event(&mut self, session: SessionTag, event: &Event, records: &mut Vec<Record>);

    /// Encodes the reply to a command that was meant for a session.
    fn reply(&mut self, session: SessionTag, reply: &Reply, records: &mut Vec<Record>);
}

/// What a line of the client asks for.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A command for a session.
    Request { session: SessionTag, request: Request },
    /// The user's answer to a question that a session asked.
    Answer { session: SessionTag, answer: AskAnswer },
    /// That a further session is opened under this tag.
    Open { session: SessionTag, origin: Origin, request: SessionRequest },
    /// That a session is closed.
    Close { session: SessionTag, origin: Origin },
    /// That the process ends.
    Quit,
}

impl Incoming {
    /// Returns a command for the session of a connection that has only one.
    fn for_only_session(request: Request) -> Self {
        Self::Request { session: SessionTag::FIRST, request }
    }
}

/// A dialect that can be chosen.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// For whom it is, in a line.
    pub about: &'static str,
    /// What its clients expect of the process before the first line.
    pub start: Start,
    protocol: &'static Protocol,
    make: fn() -> Box<dyn Dialect>,
}

impl Entry {
    /// Returns the dialect, ready to use.
    pub fn make(&self) -> Box<dyn Dialect> {
        (self.make)()
    }

    /// Returns its commands and records as JSON Schema.
    pub fn schema(&self) -> serde_json::Value {
        self.protocol.schema()
    }
}

/// How a dialect's clients expect the process to start.
#[derive(Debug)]
pub struct Start {
    /// The name that errors on stderr begin with.
    pub called: &'static str,
    /// The exit code when it cannot start.
    pub failure_code: u8,
    pub tools: Tools,
    /// Short flags that mean something else than elsewhere, with the long ones they stand for.
    pub short_flags: &'static [(&'static str, &'static str)],
    /// The variable of the environment that names the model.
    pub model_variable: Option<&'static str>,
    /// The variable of the environment that says where sessions are kept.
    pub sessions_variable: Option<&'static str>,
}

/// Which tools are on when nobody chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    Usual,
    /// Those that change nothing, and all once changes were allowed.
    ReadOnlyUnlessAllowed,
}

/// How bowline starts where no dialect says otherwise.
const START: Start = Start {
    called: "bowline",
    failure_code: 1,
    tools: Tools::Usual,
    short_flags: &[],
    model_variable: None,
    sessions_variable: None,
};

/// An agent in whose place bowline can be started, as a link with the agent's name.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// The dialect that it speaks.
    pub dialect: &'static str,
    /// The version of the agent whose protocol that is. Clients ask for it and refuse what they do not know.
    pub version: &'static str,
}

/// Every name that chooses a dialect.
pub const PROGRAMS: &[Program] = &[
    Program { name: "pi", dialect: "pi", version: "1.4.0" },
    Program { name: "omp", dialect: "omp", version: "18.2.3" },
    Program { name: "opi", dialect: "opi", version: opi::VERSION },
];

/// Every dialect there is.
pub const DIALECTS: &[Entry] = &[
    Entry {
        name: pi::PROTOCOL.dialect,
        about: "clients of pi --mode rpc, version 0.84 and later (the default)",
        start: START,
        protocol: &pi::PROTOCOL,
        make: || Box::new(pi::Pi::default()),
    },
    Entry {
        name: pi_classic::PROTOCOL.dialect,
        about: "clients of the first pi --mode rpc: prompt with attachments, abort, and events",
        start: START,
        protocol: &pi_classic::PROTOCOL,
        make: || Box::new(pi_classic::PiClassic::default()),
    },
    Entry {
        name: omp::PROTOCOL.dialect,
        about: "clients of omp --mode rpc",
        start: START,
        protocol: &omp::PROTOCOL,
        make: || Box::new(omp::Omp::default()),
    },
    Entry {
        name: opi::PROTOCOL.dialect,
        about: "clients of opi --rpc, schema version 2 (--rpc means this one)",
        start: Start {
            called: "opi",
            failure_code: 2,
            tools: Tools::ReadOnlyUnlessAllowed,
            short_flags: &[("-m", "--model"), ("-c", "--config"), ("-s", "--system"), ("-v", "--verbose")],
            model_variable: Some("OPI_MODEL"),
            sessions_variable: Some("OPI_SESSIONS_DIR"),
        },
        protocol: &opi::PROTOCOL,
        make: || Box::new(opi::Opi::default()),
    },
    Entry {
        name: operator::PROTOCOL.dialect,
        about: "clients written from operator-use's RPC document: wrapped events, answers on completion",
        start: START,
        protocol: &operator::PROTOCOL,
        make: || Box::new(operator::Operator::new(operator::Form::Document)),
    },
    Entry {
        name: operator::FLAT_PROTOCOL.dialect,
        about: "operator-use's own RPCClient: flat events, prompts acknowledged at once",
        start: START,
        protocol: &operator::FLAT_PROTOCOL,
        make: || Box::new(operator::Operator::new(operator::Form::Code)),
    },
];

/// Returns the dialect with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    DIALECTS.iter().find(|entry| entry.name == name)
}

/// Returns the record of an error that keeps the process from starting, the same in every dialect: a client that
/// never got to speak must still be able to tell why.
pub fn fatal(message: &str) -> Record {
    ErrorRecord::encode(message, true)
}

/// Something is wrong.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorRecord<'message> {
    #[schemars(extend("const" = "error"))]
    r#type: &'static str,
    /// A sentence for people.
    error: &'message str,
    /// Whether the process ends; absent if it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fatal: bool,
}

impl ErrorRecord<'_> {
    pub fn encode(error: &str, fatal: bool) -> Record {
        Record::Plain(json::to_line(&ErrorRecord { r#type: "error", error, fatal }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// A line with every kind of thing in it, in the words of each dialect.
    const LINE: &str =
        r#"{"id":"a\u2028","type":"prompt","message":"m","text":"é","options":{"n":[1,-2.5e3,null,true]}}"#;

    #[test]
    fn whatever_a_line_is_it_is_taken_or_answered() {
        let broken = LINE.char_indices().skip(1).flat_map(|(at, _)| {
            let (head, tail) = LINE.split_at(at);
            [head.to_owned(), tail.to_owned(), format!("{head}\"{tail}"), format!("{head}]{tail}")]
        });
        let lines: Vec<_> =
            broken.map(Line::Text).chain([Line::NotUtf8, Line::TooLong { limit: 1 }]).collect();
        for entry in DIALECTS {
            for line in &lines {
                let mut records = Vec::new();
                let incoming = entry.make().decode(line.clone(), &mut records);
                let answers = records.len();
                assert!(answers <= 1 && (incoming.is_some() || answers == 1), "{}: {line:?}", entry.name);
            }
        }
    }

    /// Any JSON, with the names in it that mean something.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let name = prop_oneof!["type|id|message|text|images|mode|level|enabled|data|mimeType", ".{0,5}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..4)
                    .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    /// A command of a dialect whose fields may hold anything.
    fn any_command() -> impl Strategy<Value = (usize, Value)> {
        (0..DIALECTS.len()).prop_flat_map(|index| {
            let rows = DIALECTS[index].protocol.commands;
            (Just(index), 0..rows.len(), prop::collection::vec(any_json(), 4)).prop_map(
                move |(index, row, values)| {
                    let row = &rows[row];
                    let mut line = serde_json::json!({ "id": 1, "type": row.name });
                    for (field, value) in row.fields.iter().zip(values) {
                        line[field.name] = value;
                    }
                    (index, line)
                },
            )
        })
    }

    /// Fails unless a line is taken, or refused in one record that is JSON.
    #[track_caller]
    fn check_line(entry: &Entry, line: &str) {
        let mut records = Vec::new();
        let incoming = entry.make().decode(Line::Text(line.to_owned()), &mut records);
        assert!(records.len() <= 1, "{}: {line}: {records:?}", entry.name);
        for record in &records {
            let Record::Plain(bytes) = record else { panic!("{record:?}") };
            serde_json::from_slice::<Value>(bytes).unwrap();
            assert!(!bytes.contains(&b'\n'));
        }
        let needs_none = line.contains("extension_ui_response");
        assert!(incoming.is_some() || records.len() == 1 || needs_none, "{}: {line}", entry.name);
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_answered_once(line in ".{0,80}") {
            DIALECTS.iter().for_each(|entry| check_line(entry, &line));
        }

        #[test]
        fn any_json_is_taken_or_answered_once(line in any_json()) {
            DIALECTS.iter().for_each(|entry| check_line(entry, &line.to_string()));
        }

        #[test]
        fn a_command_with_any_fields_is_taken_or_answered_once((index, line) in any_command()) {
            check_line(&DIALECTS[index], &line.to_string());
        }
    }

    #[test]
    fn every_dialect_says_its_own_name() {
        for entry in DIALECTS {
            assert_eq!(entry.protocol.dialect, entry.name);
            assert!(
                entry.protocol.commands.iter().any(|row| row.name == "get_protocol_info"),
                "{}",
                entry.name
            );
            let names = entry.protocol.record_names();
            assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
        }
    }
}
