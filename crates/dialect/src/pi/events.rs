//! What events look like on the wire.

use std::sync::Arc;

use bowline_core::event::{Event, RunOutcome, SummaryPurpose};
use bowline_core::message::Message;
use bowline_core::stream::Update;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::delta_keys::DeltaKeys;
use crate::family::answers::Entry;
use crate::family::records::{self, SpokenOutcome};
use crate::family::steps::{Bound, Delta, Step};
use crate::json;
use crate::schema::variants;

/// Encodes events, and remembers what spares work between the deltas of one answer.
#[derive(Debug, Default)]
pub(super) struct Updates {
    keys: DeltaKeys,
    usage: Usage,
    usage_json: Vec<u8>,
}

/// An event in the words of pi, where they are not those of its whole family.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Spoken<'event> {
    /// The model has nothing more to say, for now.
    AgentEnd {
        /// What this stretch of the run added to the conversation.
        messages: &'event [Arc<Message>],
        /// Whether the model is asked again by itself: after a failure that passes, or after a compaction.
        will_retry: bool,
    },
    /// The run is over, and nothing follows by itself. One for each run, whatever happened in it.
    AgentSettled {
        /// Whether it was stopped.
        aborted: bool,
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'event str>,
    },
    /// There is more of an answer.
    MessageUpdate {
        /// What the answer cost so far.
        usage: &'event Usage,
        /// What is new.
        #[schemars(with = "Step<'_>")]
        assistant_message_event: Bound<'event>,
    },
    /// Messages were put into the queues or taken out.
    QueueUpdate {
        /// The texts that wait to go into the run.
        steering: &'event [String],
        /// The texts that wait for its end.
        follow_up: &'event [String],
    },
    /// The conversation is being compacted.
    CompactionStart {
        /// Whether a command asked for it, the model's window is nearly full, or the conversation did not fit.
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
    },
    /// Compacting is over.
    CompactionEnd {
        /// As at its start.
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        #[serde(flatten)]
        outcome: SpokenOutcome<'event>,
    },
    /// The request for a summary failed for a passing reason, and is going to be made again.
    SummarizationRetryScheduled {
        /// Which retry it is, from 1 on.
        attempt: u32,
        max_attempts: u32,
        /// How long it is waited for.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
    },
    /// It is made again now.
    SummarizationRetryAttemptStart {
        /// What is summarised.
        #[schemars(extend("enum" = ["compaction", "branchSummary"]))]
        source: &'static str,
        /// Why the conversation is compacted; absent for a branch.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: Option<&'static str>,
    },
    /// Retrying the request for a summary is over, whatever came of it.
    SummarizationRetryFinished,
    /// An entry was written that no other record tells of: one that changes what the model sees.
    EntryAppended {
        /// As it stands in the file.
        #[schemars(with = "Entry")]
        entry: &'event RawValue,
    },
    /// The model thinks harder, or less hard.
    ThinkingLevelChanged {
        level: ThinkingLevel,
        /// The entry that says so; absent if the session is kept in memory only, or nothing was said in it yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// The session was named.
    SessionInfoChanged {
        name: &'event str,
        /// The entry that says so; absent if the session is kept in memory only.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// A command that `bash` runs has written more.
    BashExecutionUpdate {
        /// That of the command; absent if it had none.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'event RawValue>,
        /// What it wrote. The deltas of one command together are all that it wrote.
        delta: &'event str,
    },
}

/// Describes every record that is not an answer.
pub(super) fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<records::Spoken<'_>>(generator);
    records.extend(variants::<Spoken<'_>>(generator));
    records
}

impl Updates {
    /// Encodes an event, if clients are told of it.
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        if let Event::MessageStart(_) = event {
            self.keys.start_message();
        }
        if let Event::MessageUpdate { usage, update } = event {
            return Some(self.update(usage, update));
        }
        let line = match records::Spoken::of(event) {
            Some(spoken) => json::to_line(&spoken),
            None => json::to_line(&own(event)?),
        };
        Some(Record::Plain(line))
    }

    fn update(&mut self, usage: &Usage, update: &Update) -> Record {
        match Step::from(update) {
            Step::Delta(delta) => self.delta(usage, &delta),
            Step::Bound(step) => {
                let spoken = Spoken::MessageUpdate { usage, assistant_message_event: step };
                Record::Plain(json::to_line(&spoken))
            }
        }
    }

    /// Puts a delta together by hand: it is by far the most frequent record, and the outbox joins such records by
    /// their bodies when the client lags.
    fn delta(&mut self, usage: &Usage, delta: &Delta<'_>) -> Record {
        if self.usage_json.is_empty() || self.usage != *usage {
            self.usage = *usage;
            self.usage_json.clear();
            json::write(&mut self.usage_json, usage);
        }
        let mut prefix = Vec::with_capacity(self.usage_json.len() + 128);
        prefix.extend_from_slice(br#"{"type":"message_update","usage":"#);
        prefix.extend_from_slice(&self.usage_json);
        prefix.extend_from_slice(br#","assistantMessageEvent":"#);
        delta.open(&mut prefix);
        let key = self.keys.of_block(delta.content_index);
        let suffix = br#""}}"#.to_vec().into();
        wire::Delta { key, prefix: prefix.into(), body: json::string_body(delta.text), suffix }.into()
    }
}

/// Returns the record of an event that pi words its own way.
fn own(event: &Event) -> Option<Spoken<'_>> {
    Some(match event {
        Event::RunEnd { messages, will_retry, .. } => Spoken::AgentEnd { messages, will_retry: *will_retry },
        Event::Settled(outcome) => Spoken::AgentSettled {
            aborted: *outcome == RunOutcome::Aborted,
            error: if let RunOutcome::Failed(text) = outcome { Some(text) } else { None },
        },
        Event::QueueChanged { steering, follow_up, .. } => Spoken::QueueUpdate { steering, follow_up },
        Event::CompactionStart { reason } => Spoken::CompactionStart { reason: reason.as_str() },
        Event::CompactionEnd { reason, outcome, will_retry } => Spoken::CompactionEnd {
            reason: reason.as_str(),
            outcome: SpokenOutcome::new(outcome, *will_retry),
        },
        Event::SummaryRetryScheduled { attempt, max_attempts, delay, error } => {
            Spoken::SummarizationRetryScheduled {
                attempt: *attempt,
                max_attempts: *max_attempts,
                delay_ms: records::milliseconds(*delay),
                error_message: error,
            }
        }
        Event::SummaryRetryStart(SummaryPurpose::Compaction(reason)) => {
            Spoken::SummarizationRetryAttemptStart { source: "compaction", reason: Some(reason.as_str()) }
        }
        Event::SummaryRetryStart(SummaryPurpose::Branch) => {
            Spoken::SummarizationRetryAttemptStart { source: "branchSummary", reason: None }
        }
        Event::SummaryRetryEnd => Spoken::SummarizationRetryFinished,
        Event::EntryAppended { entry } => Spoken::EntryAppended { entry: serde_json::from_str(entry).ok()? },
        Event::ThinkingLevelChanged { level, entry } => {
            Spoken::ThinkingLevelChanged { level: *level, entry_id: entry.as_deref() }
        }
        Event::SessionNameChanged { name, entry } => {
            Spoken::SessionInfoChanged { name, entry_id: entry.as_deref() }
        }
        Event::ShellOutput { origin, delta } => {
            let id = origin.id.as_deref().and_then(|id| serde_json::from_str(id).ok());
            Spoken::BashExecutionUpdate { id, delta }
        }
        // The change of the queue that follows says the same.
        Event::Delivering { .. }
        // These are the family's.
        | Event::RunStart
        | Event::TurnStart
        | Event::TurnEnd { .. }
        | Event::MessageStart(_)
        | Event::MessageUpdate { .. }
        | Event::MessageEnd { .. }
        | Event::ToolStart { .. }
        | Event::ToolProgress { .. }
        | Event::ToolEnd { .. }
        | Event::RetryStart { .. }
        | Event::RetryEnd { .. }
        // The policy keeps questions away from clients.
        | Event::Ask(_)
        | Event::AskResolved { .. } => return None,
    })
}
