//! The protocols of clients. A dialect translates between lines of JSON and the engine's vocabulary: one file or folder
//! and one line in [`DIALECTS`] each. It does no I/O, decides nothing that the engine decides, and reads no clock.
//!
//! A dialect is not stateless. Its state is bounded by the conversation and the model response being streamed, and each
//! kind of state has a named type:
//!
//! | state | dialects | why |
//! |---|---|---|
//! | `snapshot::Snapshot` | pi-classic, omp, opi | every update repeats the message so far; its bytes are kept and shared |
//! | `delta_keys::DeltaKeys` | all | deltas of one block of one message have the same key, by which the outbox joins them |
//! | `family::state_cache::StateCache` | pi, omp | most of a state is the same as in the last response, so its JSON is kept |
//! | `pi::events::UsageCache` | pi | most deltas have the usage of the one before |
//! | `family::run_messages::RunMessages` | pi-classic, omp | a run has one end record, which lists messages of earlier events |
//! | `opi::held_back::HeldBack` | opi | **reorders**: records wait until the outcome of a retry is known |
//! | `opi::conversation_memory::ConversationMemory` | opi | arguments are shown as the model wrote them, which a message does not keep |
//! | `open_questions::OpenQuestions` | pi, pi-classic, omp, operator-flat | an answer has the id of its question on the wire |
//! | `family::host::HostCalls` | pi, omp | a report has the id of its call on the wire |
//! | `operator::message_ids::MessageIds` | operator, operator-flat | messages of one role and millisecond are numbered |
//! | `operator::run_memory::RunMemory` | operator, operator-flat | records repeat turn numbers, arguments and entries of earlier events |
//! | `operator::streamed_answer::StreamedAnswer` | operator, operator-flat | every delta ends with the members of its message |
//!
//! Only opi reorders records. The others encode each event when it occurs; a record that combines several events, such
//! as the end of a run or the tool results of a turn, is written with the last of them.

mod acp;
mod answer_table;
mod approval_text;
mod command_table;
mod decode;
mod delta_keys;
mod envelope;
mod family;
mod fields;
mod json;
mod local_data;
mod omp;
mod open_questions;
mod operator;
mod opi;
mod pi;
mod pi_classic;
mod protocol;
mod protocol_info;
mod sandbox;
mod schema;
mod shown_patch;
mod single_session;
mod snapshot;

use bowline_core::SessionTag;
use bowline_core::ask::AskAnswer;
use bowline_core::command::{Origin, Request};
use bowline_core::event::Event;
use bowline_core::host::HostReport;
use bowline_core::policy::Policy;
use bowline_core::reply::Reply;
use bowline_core::session_tag::SessionRequest;
use bowline_wire::{Line, Record};
pub use json::{to_line, write as write_json};
use protocol::Protocol;
pub use schema::{plain_definitions, published};
use schemars::JsonSchema;
use serde::Serialize;

/// The protocol of a kind of client.
pub trait Dialect: Send {
    /// Returns how the dialect's clients expect the agent to behave.
    fn policy(&self) -> Policy {
        Policy::default()
    }

    /// Encodes the records that a client waits for before it sends anything.
    fn opening(&mut self, _records: &mut Vec<Record>) {}

    /// Decodes one line of the client. Lines that the dialect answers itself, such as invalid ones, are answered in
    /// `records`.
    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming>;

    /// Encodes an event of a session as any number of records.
    fn event(&mut self, session: SessionTag, event: &Event, records: &mut Vec<Record>);

    /// Encodes the reply to a command for a session.
    fn reply(&mut self, session: SessionTag, reply: &Reply, records: &mut Vec<Record>);

    /// Returns what is to be carried out next, in dialects in which one line of the client takes several commands. It is
    /// asked for after each line, event and reply.
    fn follow_up(&mut self) -> Option<Incoming> {
        None
    }
}

/// A line of the client that is not answered by the dialect itself.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A command for a session.
    Request { session: SessionTag, request: Request },
    /// The user's answer to a question that a session asked.
    Answer { session: SessionTag, answer: AskAnswer },
    /// What the client says about something that a session asked it to do.
    HostReport { session: SessionTag, report: Box<HostReport> },
    /// Opens another session under this tag.
    Open { session: SessionTag, origin: Origin, request: SessionRequest },
    /// Closes a session.
    Close { session: SessionTag, origin: Origin },
    /// Ends the process.
    Quit,
}

/// A dialect that can be chosen.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// Which clients it is for, in one line.
    pub about: &'static str,
    /// How its clients expect the process to start.
    pub start: Start,
    protocol: &'static Protocol,
    make: fn(&Options) -> Box<dyn Dialect>,
}

impl Entry {
    /// Creates the dialect.
    pub fn make(&self) -> Box<dyn Dialect> {
        self.make_with(&Options::default())
    }

    /// Creates the dialect as the user wants it.
    pub fn make_with(&self, options: &Options) -> Box<dyn Dialect> {
        (self.make)(options)
    }

    /// Tells whether sessions ask about tool calls unless the user has chosen something else.
    pub fn asks_by_default(&self) -> bool {
        self.protocol.dialect == acp::PROTOCOL.dialect
    }

    /// Generates the JSON Schema of the dialect's commands and records; `None` in a build without the feature `schema`.
    /// The finished one, which every build has, is [`published`].
    pub fn generated_schema(&self) -> Option<serde_json::Value> {
        schema::IS_GENERATED.then(|| self.protocol.schema())
    }
}

/// What users can choose about a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether clients of omp are sent the titles that extensions set.
    pub window_titles: bool,
    /// Whether the user has chosen when to be asked about tool calls.
    pub has_chosen_approvals: bool,
    /// Whether sessions are in memory only, so that none of before can be opened.
    pub has_no_store: bool,
}

/// How a dialect's clients expect the process to start.
#[derive(Debug)]
pub struct Start {
    /// The name that errors on stderr begin with.
    pub called: &'static str,
    /// The exit code when it cannot start.
    pub failure_code: u8,
    /// Whether a failure to start is also a record on stdout. Where every line has to be a message of JSON-RPC, it is on
    /// stderr only.
    pub has_fatal_record: bool,
    pub tools: Tools,
    /// Tools that are enabled by default beside the usual ones.
    pub further_tools: &'static [&'static str],
    /// The tools of the emulated agent that bowline does not have. Clients may name them.
    pub other_tools: &'static [OtherTool],
    /// Short flags that only this dialect has, or that differ in it, each with its long flag.
    pub short_flags: &'static [(&'static str, &'static str)],
    /// The environment variable that names the model.
    pub model_variable: Option<&'static str>,
    /// The environment variable that names the folder of sessions.
    pub sessions_variable: Option<&'static str>,
}

/// Which tools are enabled by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    Usual,
    /// Read-only tools, or all tools if the user allows changes.
    ReadOnlyUnlessAllowed,
}

/// A tool that the emulated agent has and bowline does not.
#[derive(Debug)]
pub struct OtherTool {
    pub name: &'static str,
    /// The tool of bowline that does the same.
    pub instead: Option<&'static str>,
}

/// How the process starts in dialects without other expectations.
const START: Start = Start {
    called: "bowline",
    failure_code: 1,
    has_fatal_record: true,
    tools: Tools::Usual,
    further_tools: &[],
    other_tools: &[],
    short_flags: &[],
    model_variable: None,
    sessions_variable: None,
};

/// An agent that bowline emulates when started through a link with the agent's name.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// The dialect of its clients.
    pub dialect: &'static str,
    /// The emulated version. Clients ask for it and refuse versions that they do not know.
    pub version: &'static str,
}

/// Every program name that chooses a dialect.
pub const PROGRAMS: &[Program] = &[
    Program { name: "pi", dialect: "pi", version: "1.4.0" },
    Program { name: "omp", dialect: "omp", version: "18.2.3" },
    Program { name: "opi", dialect: "opi", version: opi::VERSION },
];

/// Every dialect.
pub const DIALECTS: &[Entry] = &[
    Entry {
        name: pi::PROTOCOL.dialect,
        about: "clients of pi --mode rpc, version 0.84 and later (the default)",
        start: START,
        protocol: &pi::PROTOCOL,
        make: |_| Box::new(pi::Pi::default()),
    },
    Entry {
        name: pi_classic::PROTOCOL.dialect,
        about: "clients of the first pi --mode rpc: prompt with attachments, abort, and events",
        start: START,
        protocol: &pi_classic::PROTOCOL,
        make: |_| Box::new(pi_classic::PiClassic::default()),
    },
    Entry {
        name: omp::PROTOCOL.dialect,
        about: "clients of omp --mode rpc",
        start: Start { further_tools: &["task"], other_tools: omp::OTHER_TOOLS, ..START },
        protocol: &omp::PROTOCOL,
        make: |options| Box::new(omp::Omp::new(options)),
    },
    Entry {
        name: opi::PROTOCOL.dialect,
        about: "clients of opi --rpc, schema version 2 (--rpc means this one)",
        start: Start {
            called: "opi",
            failure_code: 2,
            has_fatal_record: true,
            tools: Tools::ReadOnlyUnlessAllowed,
            further_tools: &[],
            other_tools: opi::OTHER_TOOLS,
            short_flags: &[("-m", "--model"), ("-c", "--config"), ("-s", "--system"), ("-v", "--verbose")],
            model_variable: Some("OPI_MODEL"),
            sessions_variable: Some("OPI_SESSIONS_DIR"),
        },
        protocol: &opi::PROTOCOL,
        make: |_| Box::new(opi::Opi::default()),
    },
    Entry {
        name: operator::PROTOCOL.dialect,
        about: "clients written from operator-use's RPC document: wrapped events, responses on completion",
        start: START,
        protocol: &operator::PROTOCOL,
        make: |_| Box::new(operator::Operator::new(operator::Form::Document)),
    },
    Entry {
        name: operator::FLAT_PROTOCOL.dialect,
        about: "operator-use's own RPCClient: flat events, prompts acknowledged at once",
        start: START,
        protocol: &operator::FLAT_PROTOCOL,
        make: |_| Box::new(operator::Operator::new(operator::Form::Code)),
    },
    Entry {
        name: acp::PROTOCOL.dialect,
        about: "editors and other clients of the Agent Client Protocol (bowline acp)",
        start: Start { has_fatal_record: false, ..START },
        protocol: &acp::PROTOCOL,
        make: |options| Box::new(acp::Acp::new(options)),
    },
];

/// Returns the dialect with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    DIALECTS.iter().find(|entry| entry.name == name)
}

/// Returns the record of an error that keeps the process from starting. It is the same in every dialect, because the
/// error may be that the dialect is not known.
pub fn fatal(message: &str) -> Record {
    ErrorRecord::encode(message, Severity::Fatal)
}

/// An error that is not the response to a command.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorRecord<'message> {
    #[schemars(extend("const" = "error"))]
    r#type: &'static str,
    /// The error, as a sentence for people.
    error: &'message str,
    /// `true` if the process ends; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fatal: bool,
}

impl ErrorRecord<'_> {
    pub fn encode(error: &str, severity: Severity) -> Record {
        let fatal = severity == Severity::Fatal;
        Record::Plain(json::to_line(&ErrorRecord { r#type: "error", error, fatal }))
    }
}

/// Whether the process survives an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Recoverable,
    Fatal,
}

#[cfg(test)]
mod tests {
    use bowline_core::policy::Questions;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// A line with every kind of JSON value, and a field of each dialect.
    const LINE: &str =
        r#"{"id":"a\u2028","type":"prompt","message":"m","text":"é","options":{"n":[1,-2.5e3,null,true]}}"#;

    #[test]
    fn broken_lines_are_decoded_or_answered_once() {
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

    /// Any JSON, often with the names of fields.
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

    /// The dialects whose lines name their command by `type`.
    fn flat_dialects() -> impl Iterator<Item = &'static Entry> {
        DIALECTS.iter().filter(|entry| entry.protocol.envelope.name_member() == "type")
    }

    /// A command of a dialect with any values in its fields.
    fn any_command() -> impl Strategy<Value = (usize, Value)> {
        (0..DIALECTS.len()).prop_flat_map(|index| {
            let rows = DIALECTS[index].protocol.commands;
            (Just(index), 0..rows.len(), prop::collection::vec(any_json(), 4)).prop_map(
                move |(index, row, values)| {
                    let row = &rows[row];
                    let name_member = DIALECTS[index].protocol.envelope.name_member();
                    let mut line = serde_json::json!({ "id": 1, name_member: row.name });
                    let is_flat = name_member == "type";
                    for (field, value) in row.fields.iter().zip(values) {
                        if is_flat {
                            line[field.name] = value;
                        } else {
                            line["params"][field.name] = value;
                        }
                    }
                    (index, line)
                },
            )
        })
    }

    /// Fails unless a line is decoded, or refused in one record that is JSON.
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
        // A notification of JSON-RPC gets no response, and an answer to nothing is ignored.
        let is_json_rpc = entry.protocol.envelope.name_member() == "method";
        let may_be_ignored = is_json_rpc || entry.protocol.answers.iter().any(|row| line.contains(row.name));
        assert!(incoming.is_some() || records.len() == 1 || may_be_ignored, "{}: {line}", entry.name);
    }

    proptest! {
        #[test]
        fn any_text_is_decoded_or_answered_once(line in ".{0,80}") {
            DIALECTS.iter().for_each(|entry| check_line(entry, &line));
        }

        #[test]
        fn any_json_is_decoded_or_answered_once(line in any_json()) {
            DIALECTS.iter().for_each(|entry| check_line(entry, &line.to_string()));
        }

        #[test]
        fn commands_with_any_fields_are_decoded_or_answered_once((index, line) in any_command()) {
            check_line(&DIALECTS[index], &line.to_string());
        }
    }

    #[test]
    fn dialects_with_words_for_questions_ask_them() {
        for entry in flat_dialects() {
            let mut dialect = entry.make();
            // The first pi, opi and operator-use's document have no requests to the user; the first pi has questions about
            // calls, for users who turn them on.
            let asks = !["pi-classic", "opi", "operator"].contains(&entry.name);
            let questions = if asks { Questions::Asked } else { Questions::Assumed };
            assert_eq!(dialect.policy().questions, questions, "{}", entry.name);
            let line = r#"{"type":"extension_ui_response","id":"1","value":"x"}"#;
            let mut records = Vec::new();
            assert_eq!(dialect.decode(Line::Text(line.to_owned()), &mut records), None);
            let policy = dialect.policy();
            assert_eq!(
                policy.asks_about_calls(),
                !["opi", "operator"].contains(&entry.name),
                "{}",
                entry.name
            );
            // An answer to nothing is ignored by those that ask, and unknown to the others.
            assert_eq!(records.len(), usize::from(!policy.asks_about_calls()), "{}", entry.name);
        }
    }

    #[test]
    fn separators_in_an_id_come_back_escaped() {
        for entry in flat_dialects() {
            let mut records = Vec::new();
            let line = Line::Text("{\"id\":\"\u{2028}\",\"type\":\"get_protocol_info\"}".to_owned());
            entry.make().decode(line, &mut records);
            let [Record::Plain(bytes)] = &records[..] else { panic!("{records:?}") };
            let text = String::from_utf8_lossy(bytes);
            assert!(text.contains(r#""id":"\u2028""#) && !text.contains('\u{2028}'), "{text}");
        }
    }

    #[test]
    fn every_dialect_describes_itself() {
        for entry in DIALECTS {
            assert_eq!(entry.protocol.dialect, entry.name);
            let describes = if entry.name == "acp" { "initialize" } else { "get_protocol_info" };
            assert!(entry.protocol.commands.iter().any(|row| row.name == describes), "{}", entry.name);
            let names = entry.protocol.record_names();
            assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
        }
    }
}
