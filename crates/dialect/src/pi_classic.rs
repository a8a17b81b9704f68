//! The dialect `pi-classic`: the first `pi --mode rpc`.
//!
//! It has two commands and ten events. Commands get no response: a command that fails emits an `error`, and a prompt ends
//! in exactly one `agent_end` with all messages since its `agent_start`, whatever the number of attempts.

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::Command;
use bowline_core::event::Event;
use bowline_core::message::{AssistantMessage, Message, StopReason};
use bowline_core::policy::{Advice, Approvals, Policy, TruncatedAnswers};
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::decode::Problem;
use crate::envelope::flat::Flat;
use crate::family::records::EventRecord;
use crate::family::repeating::{self, Place, Repeating};
use crate::family::run_messages::RunMessages;
use crate::family::user_interface::{self, Style, UserInterface};
use crate::family::{commands, responses};
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::{Describe, record, variants};
use crate::{Dialect, ErrorRecord, Incoming, Severity, json, protocol_info, single_session};

const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        about: "Starts a run with a user message. If it cannot be started, an `error` says why.",
        fields: commands::MESSAGE,
        result: None,
        action: Engine(|fields| Command::Prompt { message: commands::draft(fields), when_busy: None }),
    },
    commands::ABORT,
    protocol_info::ROW,
];

/// The definition of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "pi-classic",
    envelope: &Flat { response: Describe::new(responses::schema), optional_data: &[] },
    commands: TABLE,
    answers: &[user_interface::RESPONSE],
    id: Id::Anything,
    answered: Answered::ProtocolInfoOnly,
    records: Describe::new(records),
    unsupported: &[],
    capabilities: &["entry_ids", "joined_deltas"],
};

/// The records of the family that this protocol has. Both the encoder and the schema follow this list.
const FAMILY_RECORDS: &[&str] = &[
    "agent_start",
    "turn_start",
    "turn_end",
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
];

/// The records that only this dialect has.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OwnRecord<'event> {
    /// The run ended and nothing follows automatically. Emitted once per run.
    AgentEnd {
        /// The messages that the run added to the conversation.
        messages: &'event [Arc<Message>],
    },
}

fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let is_emitted = |record: &Schema| {
        FAMILY_RECORDS.iter().any(|name| record.as_value()["properties"]["type"]["const"] == *name)
    };
    let mut records = variants::<EventRecord<'_>>(generator);
    records.retain(is_emitted);
    records.extend(variants::<OwnRecord<'_>>(generator));
    records.push(record::<repeating::Update<'_>>(generator));
    records.push(Style::Pi.approval_schema(generator));
    records
}

/// The dialect, with what it remembers between events.
#[derive(Debug)]
pub(crate) struct PiClassic {
    updates: Repeating,
    run: RunMessages,
    user_interface: UserInterface,
}

impl Default for PiClassic {
    fn default() -> Self {
        Self {
            updates: Repeating::new(Place::BeforeTheStep),
            run: RunMessages::default(),
            user_interface: UserInterface::new(Style::Pi),
        }
    }
}

impl Dialect for PiClassic {
    fn policy(&self) -> Policy {
        Policy {
            truncated_answers: TruncatedAnswers::Kept,
            advice: Advice::WithoutCommands,
            // Only users who turn them on have them.
            approvals: Approvals::Asked,
            ..Policy::default()
        }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let decoded = PROTOCOL.decode(line).map_err(|problem| error(&error_text(problem)));
        single_session::forward(
            decoded,
            &PROTOCOL,
            responses::local,
            |answer| self.user_interface.decode(answer),
            records,
        )
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart => {
                if self.run.start() {
                    records.extend(shared(event));
                }
            }
            Event::RunEnd { messages, .. } => self.run.add(messages),
            Event::Settled { .. } => {
                let messages = self.run.finish();
                records.push(Record::Plain(json::to_line(&OwnRecord::AgentEnd { messages: &messages })));
            }
            Event::MessageStart(message) => match self.updates.start(message) {
                Some(answer) => {
                    records.extend(shared(&Event::MessageStart(Arc::new(started(answer)))));
                }
                None => records.extend(shared(event)),
            },
            Event::MessageUpdate { usage, update } => records.push(self.updates.encode(usage, update)),
            Event::TurnStart
            | Event::TurnEnd { .. }
            | Event::MessageEnd { .. }
            | Event::ToolStart { .. }
            | Event::ToolProgress { .. }
            | Event::ToolEnd { .. }
            | Event::RetryStart { .. }
            | Event::RetryEnd { .. } => records.extend(shared(event)),
            Event::Ask(_) | Event::AskResolved { .. } => records.extend(self.user_interface.encode(event)),
            // The protocol has no records for these.
            Event::Delivering { .. }
            | Event::QueueChanged { .. }
            | Event::CompactionStart { .. }
            | Event::CompactionEnd { .. }
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::ThinkingLevelChanged { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. }
            | Event::RulesBroken { .. }
            | Event::TodoReminder { .. }
            | Event::OutputChecked { .. }
            | Event::LimitWarning(_)
            | Event::RunChanges(_)
            | Event::FilesRestored(_)
            | Event::PendingChanges(_)
            | Event::StorageFailed { .. }
            | Event::Local(_)
            | Event::Display { .. }
            | Event::HostCall(_)
            | Event::HostCallOver { .. }
            | Event::ExtensionFailed(_)
            | Event::ProtectedPathChanged { .. }
            | Event::Subagent(_) => {}
        }
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        if let Err(refusal) = &reply.result {
            records.push(error(&refusal.message));
        }
    }
}

/// Returns the record of an event in the family's form, if this protocol has it.
fn shared(event: &Event) -> Option<Record> {
    let record = EventRecord::of(event)?;
    FAMILY_RECORDS.contains(&record.name()).then(|| record.encode())
}

/// Returns a model response as its start reports it: without blocks, error and timings, which its end reports.
fn started(answer: AssistantMessage) -> Message {
    Message::Assistant(AssistantMessage {
        content: Vec::new(),
        stop_reason: StopReason::Stop,
        error_message: None,
        error_kind: None,
        duration: None,
        time_to_first_piece: None,
        completed_at: None,
        ..answer
    })
}

fn error(text: &str) -> Record {
    ErrorRecord::encode(text, Severity::Recoverable)
}

fn error_text(problem: Problem) -> String {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_core::event::RunOutcome;

    use super::*;

    #[test]
    fn only_listed_records_of_the_family_are_emitted() {
        let retry =
            Event::RetryStart { attempt: 1, max_attempts: 2, delay: Duration::ZERO, error: String::new() };
        for (event, count) in [(Event::TurnStart, 1), (retry, 0)] {
            let mut records = Vec::new();
            PiClassic::default().event(SessionTag::FIRST, &event, &mut records);
            assert_eq!(records.len(), count, "{event:?}");
        }
    }

    #[test]
    fn attempts_of_a_run_have_one_start_and_one_end_with_all_messages() {
        let message = Arc::new(Message::user("", Vec::new(), 0));
        let attempt = |will_retry| {
            let messages = vec![Arc::clone(&message)];
            [Event::RunStart, Event::RunEnd { messages, conversation: Vec::new(), will_retry }]
        };
        let events = [
            &attempt(true)[..],
            &attempt(false),
            &[Event::Settled { outcome: RunOutcome::Done, output: None }],
        ]
        .concat();
        let (mut dialect, mut records) = (PiClassic::default(), Vec::new());
        events.iter().for_each(|event| dialect.event(SessionTag::FIRST, event, &mut records));
        let lines = records.iter().map(|record| match record {
            Record::Plain(bytes) => serde_json::from_slice::<serde_json::Value>(bytes).unwrap(),
            other => panic!("{other:?}"),
        });
        let [start, end] = &lines.collect::<Vec<_>>()[..] else { panic!("{records:?}") };
        assert_eq!((&start["type"], &end["type"]), (&"agent_start".into(), &"agent_end".into()));
        assert_eq!(end["messages"].as_array().map(Vec::len), Some(2));
    }
}
