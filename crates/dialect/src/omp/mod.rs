//! The dialect `omp`: the wire of `omp --mode rpc`.
//!
//! A prompt is acknowledged before anything is known of it, and what goes wrong afterwards is a second response with
//! the same id. Every update repeats the message so far, and the end of all work is one `agent_end`.

mod commands;
mod replies;

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::InterruptMode;
use bowline_core::event::{CompactionReason, Event};
use bowline_core::message::Message;
use bowline_core::policy::{CutOffAnswers, IdleQueue, Policy, PromptAnswer, StateDetail, ToolResults};
use bowline_core::reply::{Refusal, Reply};
use bowline_wire::{Line, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::command_table::{self, Problem};
use crate::family::records::{self, SpokenOutcome};
use crate::family::repeating::{self, Place, Repeating};
use crate::family::responses;
use crate::family::state_parts::StateParts;
use crate::schema::{Answers, Id, Protocol, record, variants};
use crate::{Dialect, Incoming, json};

/// What the dialect says of itself.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "omp",
    commands: commands::TABLE,
    id: Id::Anything,
    answers: Answers::All(responses::shape),
    records,
    capabilities: &["entry_ids", "error_codes", "joined_deltas"],
};

fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<Spoken<'_>>(generator);
    records.extend(variants::<records::Spoken<'_>>(generator));
    records.push(record::<repeating::Update<'_>>(generator));
    records
}

/// The records that only this dialect has.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Spoken<'event> {
    /// The first record: commands can be sent.
    Ready,
    /// All work is done: retries, compaction and queued messages included. One for each run.
    AgentEnd {
        /// What the newest stretch of the run added to the conversation.
        messages: &'event [Arc<Message>],
        /// Always `true`: nothing follows by itself.
        is_terminal: bool,
    },
    /// The conversation is being compacted, without having been asked to.
    AutoCompactionStart {
        /// `threshold` if the model's window is nearly full, `overflow` if the conversation did not fit.
        #[schemars(extend("enum" = ["threshold", "overflow"]))]
        reason: &'static str,
    },
    /// Compacting is over.
    AutoCompactionEnd {
        #[serde(flatten)]
        outcome: SpokenOutcome<'event>,
    },
}

/// The state of the translation.
#[derive(Debug)]
pub(crate) struct Omp {
    updates: Repeating,
    parts: StateParts,
    is_running: bool,
    /// The messages of the newest stretch of the run, which are those that its end tells.
    stretch: Vec<Arc<Message>>,
}

impl Default for Omp {
    fn default() -> Self {
        Self {
            updates: Repeating::new(Place::AfterTheStep),
            parts: StateParts::default(),
            is_running: false,
            stretch: Vec::new(),
        }
    }
}

impl Dialect for Omp {
    fn policy(&self) -> Policy {
        Policy {
            prompt_answer: PromptAnswer::OnReceipt,
            idle_queue: IdleQueue::StartsRun,
            tool_results: ToolResults::AsTheyEnd,
            interrupt_mode: InterruptMode::Immediate,
            state_detail: StateDetail::WithInstructions,
            cut_off_answers: CutOffAnswers::Kept,
            ..Policy::default()
        }
    }

    fn opening(&mut self, records: &mut Vec<Record>) {
        records.push(plain(&Spoken::Ready));
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        match command_table::decode(commands::TABLE, line) {
            Ok(meant) => responses::take(meant, &PROTOCOL, records),
            Err(problem) => {
                records.extend(responses::refuse(&without_id(problem)));
                None
            }
        }
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart => {
                self.is_running = true;
                records.extend(shared(event));
            }
            Event::RunEnd { messages, .. } => self.stretch.clone_from(messages),
            Event::Settled(_) => self.settle(records),
            Event::MessageStart(message) => match self.updates.start(message) {
                Some(answer) => {
                    records.extend(shared(&Event::MessageStart(Arc::new(Message::Assistant(answer)))));
                }
                None => records.extend(shared(event)),
            },
            Event::MessageUpdate { usage, update } => records.push(self.updates.encode(usage, update)),
            // A compaction that was asked for is told by its response alone.
            Event::CompactionStart { reason: CompactionReason::Manual }
            | Event::CompactionEnd { reason: CompactionReason::Manual, .. } => {}
            Event::CompactionStart { reason } => {
                records.push(plain(&Spoken::AutoCompactionStart { reason: reason.as_str() }));
            }
            Event::CompactionEnd { outcome, will_retry, .. } => {
                let outcome = SpokenOutcome::new(outcome, *will_retry);
                records.push(plain(&Spoken::AutoCompactionEnd { outcome }));
            }
            Event::TurnStart
            | Event::TurnEnd { .. }
            | Event::MessageEnd { .. }
            | Event::ToolStart { .. }
            | Event::ToolProgress { .. }
            | Event::ToolEnd { .. }
            | Event::RetryStart { .. }
            | Event::RetryEnd { .. } => records.extend(shared(event)),
            // These clients have no words for the rest.
            Event::QueueChanged { .. }
            | Event::Delivering { .. }
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
        match &reply.result {
            Ok(answer) => {
                let data = replies::data(answer, &mut self.parts);
                records.push(responses::success(&reply.origin, data));
            }
            Err(refusal) => {
                let mut refusal: Refusal = refusal.clone();
                replies::reword(&mut refusal);
                let (id, name) = (reply.origin.id.as_deref(), reply.origin.name);
                records.push(responses::failure(id, Some(name), &refusal.message, refusal.code.as_str()));
            }
        }
    }
}

impl Omp {
    /// Emits the end of all work.
    fn settle(&mut self, records: &mut Vec<Record>) {
        self.is_running = false;
        let messages = std::mem::take(&mut self.stretch);
        records.push(plain(&Spoken::AgentEnd { messages: &messages, is_terminal: true }));
    }
}

fn plain(spoken: &Spoken<'_>) -> Record {
    Record::Plain(json::to_line(spoken))
}

/// Returns the record of an event that is the same in the whole family.
fn shared(event: &Event) -> Option<Record> {
    let spoken = records::Spoken::of(event)?;
    Some(Record::Plain(json::to_line(&spoken)))
}

/// Leaves out the id where omp does: its clients know such a response by its having none.
fn without_id(problem: Problem) -> Problem {
    match problem {
        Problem::Unreadable { reason, .. } => Problem::Unreadable { id: None, reason },
        Problem::UnknownCommand { name, .. } => Problem::UnknownCommand { id: None, name },
        problem @ Problem::BadField { .. } => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_29_commands_of_the_document_are_known() {
        // And the one that tells of the protocol.
        assert_eq!(commands::TABLE.len(), 29 + 1);
    }

    #[test]
    fn every_command_refuses_every_wrong_field_and_is_not_acknowledged() {
        for row in commands::TABLE {
            for field in row.fields {
                let line = format!(r#"{{"type":"{}","{}":{{"not":"it"}}}}"#, row.name, field.name);
                let mut records = Vec::new();
                assert_eq!(Omp::default().decode(Line::Text(line.clone()), &mut records), None);
                let [Record::Plain(bytes)] = &records[..] else { panic!("{line}: {records:?}") };
                assert!(String::from_utf8_lossy(bytes).contains("\"success\":false"), "{line}");
            }
        }
    }
}
