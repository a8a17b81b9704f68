//! What events look like on the wire.

use std::sync::Arc;

use bowline_core::event::{Event, RunOutcome};
use bowline_core::message::Message;
use bowline_core::stream::Update;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Record};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::delta_keys::DeltaKeys;
use crate::family::records::{self, SpokenOutcome};
use crate::family::steps::{Bound, Delta, Step};
use crate::json;

/// Encodes events, and remembers what spares work between the deltas of one answer.
#[derive(Debug, Default)]
pub(super) struct Updates {
    keys: DeltaKeys,
    usage: Usage,
    usage_json: Vec<u8>,
}

/// An event in the words of pi, where they are not those of its whole family.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Spoken<'event> {
    AgentEnd {
        messages: &'event [Arc<Message>],
        will_retry: bool,
    },
    AgentSettled {
        aborted: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'event str>,
    },
    MessageUpdate {
        usage: &'event Usage,
        assistant_message_event: Bound<'event>,
    },
    QueueUpdate {
        steering: &'event [String],
        follow_up: &'event [String],
    },
    CompactionStart {
        reason: &'static str,
    },
    CompactionEnd {
        reason: &'static str,
        #[serde(flatten)]
        outcome: SpokenOutcome<'event>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    SessionInfoChanged {
        name: &'event str,
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    BashExecutionUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'event RawValue>,
        delta: &'event str,
    },
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
        let line = match records::Spoken::of(event, |message| message) {
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
        | Event::RetryEnd { .. } => return None,
    })
}
