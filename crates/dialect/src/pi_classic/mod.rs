//! The dialect `pi-classic`: the first `pi --mode rpc`.
//!
//! There are two commands and ten events. Nothing is answered: what cannot be done is an `error`, and a prompt ends in
//! exactly one `agent_end` with all messages since its `agent_start`, however often the model had to be asked.

pub(crate) mod attachments;

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::{Command, Draft};
use bowline_core::event::Event;
use bowline_core::message::{AssistantMessage, Message, StopReason};
use bowline_core::policy::{CutOffAnswers, Policy};
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::command_table::Meaning::Engine;
use crate::command_table::{self, Problem, Row};
use crate::family::repeating::{self, Place, Repeating};
use crate::family::{commands, records, responses};
use crate::fields::Field;
use crate::fields::Kind::{Attachments, Text};
use crate::schema::{Answers, Id, Protocol, record, variants};
use crate::{Dialect, ErrorRecord, Incoming, json, protocol_info};

const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        about: "Starts a run with a message of the user. If that cannot be, an `error` says why.",
        fields: &[
            Field::required("message", Text, "What the user says."),
            Field::optional(
                "attachments",
                Attachments,
                "Images, which the model sees, and documents, which it reads.",
            ),
        ],
        answer: None,
        meaning: Engine(|mut fields| {
            let images = attachments::read(&fields.list("attachments"));
            Command::Prompt { message: Draft { text: fields.text("message"), images }, when_busy: None }
        }),
    },
    commands::ABORT,
    protocol_info::ROW,
];

/// What the dialect says of itself.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "pi-classic",
    commands: TABLE,
    id: Id::Anything,
    answers: Answers::ProtocolInfo(responses::shape),
    records,
    capabilities: &["entry_ids", "joined_deltas"],
};

/// The records that only this dialect has.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Spoken<'event> {
    /// The run is over, and nothing follows by itself. One for each run.
    AgentEnd {
        /// What the run added to the conversation.
        messages: &'event [Arc<Message>],
    },
}

fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let has =
        |record: &Schema| TOLD.iter().any(|name| record.as_value()["properties"]["type"]["const"] == *name);
    let mut records = variants::<records::Spoken<'_>>(generator);
    records.retain(has);
    records.extend(variants::<Spoken<'_>>(generator));
    records.push(record::<repeating::Update<'_>>(generator));
    records
}

/// The records of the family that these clients know.
const TOLD: &[&str] = &[
    "agent_start",
    "turn_start",
    "turn_end",
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
];

/// The state of the translation.
#[derive(Debug)]
pub(crate) struct PiClassic {
    updates: Repeating,
    /// The messages of the run so far, while there is one.
    run: Option<Vec<Arc<Message>>>,
}

impl Default for PiClassic {
    fn default() -> Self {
        Self { updates: Repeating::new(Place::BeforeTheStep), run: None }
    }
}

impl Dialect for PiClassic {
    fn policy(&self) -> Policy {
        Policy { cut_off_answers: CutOffAnswers::Kept, ..Policy::default() }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        match command_table::decode(TABLE, line) {
            Ok(meant) => responses::take(meant, &PROTOCOL, records),
            Err(problem) => {
                records.push(error(&word(problem)));
                None
            }
        }
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            // A retry or a message that was queued opens another stretch of what is one run to these clients.
            Event::RunStart if self.run.is_some() => {}
            Event::RunStart => {
                self.run = Some(Vec::new());
                records.extend(shared(event));
            }
            Event::RunEnd { messages, .. } => {
                if let Some(run) = &mut self.run {
                    run.extend(messages.iter().cloned());
                }
            }
            Event::Settled(_) => {
                let messages = self.run.take().unwrap_or_default();
                records.push(Record::Plain(json::to_line(&Spoken::AgentEnd { messages: &messages })));
            }
            Event::MessageStart(message) => match self.updates.start(message) {
                Some(answer) => {
                    records.extend(shared(&Event::MessageStart(Arc::new(begun(answer)))));
                }
                None => records.extend(shared(event)),
            },
            Event::MessageUpdate { usage, update } => records.push(self.updates.encode(usage, update)),
            Event::TurnStart
            | Event::TurnEnd { .. }
            | Event::MessageEnd { .. }
            | Event::ToolStart { .. }
            | Event::ToolEnd { .. } => records.extend(shared(event)),
            // These clients have no words for the rest.
            Event::ToolProgress { .. }
            | Event::Delivering { .. }
            | Event::QueueChanged { .. }
            | Event::RetryStart { .. }
            | Event::RetryEnd { .. }
            | Event::CompactionStart { .. }
            | Event::CompactionEnd { .. }
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::ThinkingLevelChanged { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. }
            | Event::Ask(_)
            | Event::AskResolved { .. } => {}
        }
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        if let Err(refusal) = &reply.result {
            records.push(error(&refusal.message));
        }
    }
}

/// Returns the record of an event that is the same in the whole family.
fn shared(event: &Event) -> Option<Record> {
    let spoken = records::Spoken::of(event)?;
    Some(Record::Plain(json::to_line(&spoken)))
}

/// Returns an answer as it is announced: always without blocks, an error and how long it took, which are told by its
/// end.
fn begun(answer: AssistantMessage) -> Message {
    Message::Assistant(AssistantMessage {
        content: Vec::new(),
        stop_reason: StopReason::Stop,
        error_message: None,
        duration: None,
        time_to_first_piece: None,
        completed_at: None,
        ..answer
    })
}

fn error(text: &str) -> Record {
    ErrorRecord::encode(text, false)
}

fn word(problem: Problem) -> String {
    match problem {
        Problem::Unreadable { reason, .. } => format!("Failed to parse command: {reason}"),
        Problem::UnknownCommand { name: Some(name), .. } => {
            format!("Unknown command: {name}; there are prompt and abort")
        }
        Problem::UnknownCommand { name: None, .. } => {
            r#"The line has no "type"; it must be "prompt" or "abort""#.to_owned()
        }
        Problem::BadField { origin, reason, .. } => format!("{}: {reason}", origin.name),
    }
}
