//! The records of events.

use std::sync::Arc;

use bowline_core::ErrorKind;
use bowline_core::event::{Event, RunOutcome, SummaryPurpose};
use bowline_core::message::Message;
use bowline_core::output::OutputProblem;
use bowline_core::stream::Update;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::delta_keys::DeltaKeys;
use crate::family::answers::Entry;
use crate::family::host::HostRecord;
use crate::family::records::{CompactionOutcomeRecord, EventRecord};
use crate::family::steps::{Bound, Delta, Step};
use crate::family::user_interface::Style;
use crate::json::{self, milliseconds};
use crate::schema::{CommandId, compaction_reasons, variants};

/// Encodes events.
#[derive(Debug, Default)]
pub(super) struct Events {
    keys: DeltaKeys,
    usage: UsageCache,
}

/// The usage in the last delta with its JSON: it seldom changes between the deltas of one model response.
#[derive(Debug, Default)]
struct UsageCache {
    usage: Usage,
    json: Vec<u8>,
}

impl UsageCache {
    fn json(&mut self, usage: &Usage) -> &[u8] {
        if self.json.is_empty() || self.usage != *usage {
            self.usage = *usage;
            self.json.clear();
            json::write(&mut self.json, usage);
        }
        &self.json
    }
}

/// The record of an event in a form that only pi has.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum OwnRecord<'event> {
    /// An attempt of the run ended. `agent_settled` ends the run.
    AgentEnd {
        /// The messages that this attempt added to the conversation.
        messages: &'event [Arc<Message>],
        /// Whether the model is called again automatically: after a transient error, a compaction, a broken stream rule,
        /// with a reminder of its tasks or because its output is not what the prompt asked for.
        will_retry: bool,
    },
    /// The run ended and nothing follows automatically. Emitted exactly once per run, whatever happened in it.
    AgentSettled {
        /// Whether the run was aborted.
        aborted: bool,
        /// Why the run failed; absent if it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'event str>,
        /// The same for programs; `aborted` if the run was aborted.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_kind: Option<ErrorKind>,
        /// The JSON value that the last prompt of the run asked for with `outputSchema`; absent if it asked for none, or if
        /// the run was aborted or failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'event Value>,
    },
    /// The answer to a prompt with `outputSchema` was checked. If it is wrong and attempts are left, the model is told of
    /// the problems and goes on.
    OutputChecked {
        valid: bool,
        /// The JSON value, if it is valid.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'event Value>,
        /// What is wrong with the answer, if it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        problems: Option<Vec<ProblemRecord<'event>>>,
        /// The number of the answer, starting at 1.
        attempt: u32,
        /// How many answers the prompt allows.
        max_attempts: u32,
    },
    /// More of a model response has arrived.
    MessageUpdate {
        /// The usage of the response so far.
        usage: &'event Usage,
        /// What is new.
        #[schemars(with = "Step<'_>")]
        assistant_message_event: Bound<'event>,
    },
    /// The queues changed.
    QueueUpdate {
        /// The texts in the steering queue.
        steering: &'event [String],
        /// The texts in the follow-up queue.
        follow_up: &'event [String],
    },
    /// A compaction starts.
    CompactionStart {
        /// `manual` if a command requested it, `threshold` if the context window is nearly full, `overflow` if the
        /// conversation exceeded it.
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
    },
    /// A compaction ended.
    CompactionEnd {
        /// The same as in `compaction_start`.
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: &'static str,
        #[serde(flatten)]
        outcome: CompactionOutcomeRecord<'event>,
    },
    /// The request for a summary failed with a transient error and will be retried.
    SummarizationRetryScheduled {
        /// The number of the retry, starting at 1.
        attempt: u32,
        max_attempts: u32,
        /// The delay before the retry.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
    },
    /// The retry of a request for a summary starts.
    SummarizationRetryAttemptStart {
        /// What is summarised.
        #[schemars(extend("enum" = ["compaction", "branchSummary"]))]
        source: &'static str,
        /// The reason for the compaction; absent for a branch.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = compaction_reasons()))]
        reason: Option<&'static str>,
    },
    /// Retrying the request for a summary ended, successfully or not.
    SummarizationRetryFinished,
    /// An entry that changes the context was appended to the session file, and no other record reports it.
    EntryAppended {
        /// The entry, as in the file.
        #[schemars(with = "Entry")]
        entry: &'event RawValue,
    },
    /// The thinking level changed.
    ThinkingLevelChanged {
        level: ThinkingLevel,
        /// The entry that records the change; absent if it follows from the model alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// The session was renamed.
    SessionInfoChanged {
        name: &'event str,
        /// The entry that records the change; absent if the session is in memory only.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// A command started with `bash` has new output.
    BashExecutionUpdate {
        /// The id of the `bash` command; absent if it had none.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<CommandId>")]
        id: Option<&'event RawValue>,
        /// The new output. The deltas of one command add up to its whole output.
        delta: &'event str,
    },
}

/// Why an answer is not what a prompt asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OutputProblem")]
struct ProblemRecord<'event> {
    /// Where in the output, as a JSON Pointer; empty for the output as a whole.
    path: &'event str,
    reason: &'event str,
}

impl<'event> From<&'event OutputProblem> for ProblemRecord<'event> {
    fn from(problem: &'event OutputProblem) -> Self {
        Self { path: &problem.path, reason: &problem.reason }
    }
}

/// Describes every record that is not a response.
pub(super) fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<EventRecord<'_>>(generator);
    records.extend(variants::<OwnRecord<'_>>(generator));
    records.push(Style::Pi.schema(generator));
    records.extend(variants::<HostRecord<'_>>(generator));
    records
}

impl Events {
    /// Encodes an event, if it has a record.
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        if let Event::MessageStart(_) = event {
            self.keys.start_message();
        }
        if let Event::MessageUpdate { usage, update } = event {
            return Some(self.update(usage, update));
        }
        match EventRecord::of(event) {
            Some(record) => Some(record.encode()),
            None => Some(Record::Plain(json::to_line(&own(event)?))),
        }
    }

    fn update(&mut self, usage: &Usage, update: &Update) -> Record {
        match Step::from(update) {
            Step::Delta(delta) => self.delta(usage, &delta),
            Step::Bound(step) => {
                let record = OwnRecord::MessageUpdate { usage, assistant_message_event: step };
                Record::Plain(json::to_line(&record))
            }
        }
    }

    /// Assembles a delta from bytes: it is by far the most frequent record, and the outbox joins deltas by their bodies
    /// when the client lags.
    fn delta(&mut self, usage: &Usage, delta: &Delta<'_>) -> Record {
        let usage = self.usage.json(usage);
        let mut prefix = Vec::with_capacity(usage.len() + 128);
        prefix.extend_from_slice(br#"{"type":"message_update","usage":"#);
        prefix.extend_from_slice(usage);
        prefix.extend_from_slice(br#","assistantMessageEvent":"#);
        delta.open(&mut prefix);
        let key = self.keys.of_block(delta.content_index);
        let suffix = br#""}}"#.to_vec().into();
        wire::Delta { key, prefix: prefix.into(), body: json::string_body(delta.text), suffix }.into()
    }
}

/// Returns the record of an event that is specific to pi.
fn own(event: &Event) -> Option<OwnRecord<'_>> {
    Some(match event {
        Event::RunEnd { messages, will_retry, .. } => OwnRecord::AgentEnd { messages, will_retry: *will_retry },
        Event::Settled { outcome, output } => OwnRecord::AgentSettled {
            aborted: *outcome == RunOutcome::Aborted,
            error: outcome.error_text(),
            error_kind: outcome.error_kind(),
            output: output.as_deref(),
        },
        Event::OutputChecked { attempt, max_attempts, result } => OwnRecord::OutputChecked {
            valid: result.is_ok(),
            output: result.as_deref().ok(),
            problems: result.as_ref().err().map(|problems| problems.iter().map(ProblemRecord::from).collect()),
            attempt: *attempt,
            max_attempts: *max_attempts,
        },
        Event::QueueChanged { steering, follow_up, .. } => OwnRecord::QueueUpdate { steering, follow_up },
        Event::CompactionStart { reason } => OwnRecord::CompactionStart { reason: reason.as_str() },
        Event::CompactionEnd { reason, outcome, will_retry } => OwnRecord::CompactionEnd {
            reason: reason.as_str(),
            outcome: CompactionOutcomeRecord::new(outcome, *will_retry),
        },
        Event::SummaryRetryScheduled { attempt, max_attempts, delay, error } => {
            OwnRecord::SummarizationRetryScheduled {
                attempt: *attempt,
                max_attempts: *max_attempts,
                delay_ms: milliseconds(*delay),
                error_message: error,
            }
        }
        Event::SummaryRetryStart(SummaryPurpose::Compaction(reason)) => {
            OwnRecord::SummarizationRetryAttemptStart { source: "compaction", reason: Some(reason.as_str()) }
        }
        Event::SummaryRetryStart(SummaryPurpose::Branch) => {
            OwnRecord::SummarizationRetryAttemptStart { source: "branchSummary", reason: None }
        }
        Event::SummaryRetryEnd => OwnRecord::SummarizationRetryFinished,
        Event::EntryAppended { entry } => OwnRecord::EntryAppended { entry: json::verbatim(entry)? },
        Event::ThinkingLevelChanged { level, entry } => {
            OwnRecord::ThinkingLevelChanged { level: *level, entry_id: entry.as_deref() }
        }
        Event::SessionNameChanged { name, entry } => {
            OwnRecord::SessionInfoChanged { name, entry_id: entry.as_deref() }
        }
        Event::ShellOutput { origin, delta } => {
            let id = origin.id.as_deref().and_then(json::verbatim);
            OwnRecord::BashExecutionUpdate { id, delta }
        }
        // Reported by the queue change that follows.
        Event::Delivering { .. }
        // In the family's form.
        | Event::RunStart
        | Event::TurnStart
        | Event::TurnEnd { .. }
        | Event::MessageStart(_)
        | Event::MessageUpdate { .. }
        | Event::MessageEnd { .. }
        | Event::ToolStart { .. }
        | Event::ToolProgress { .. }
        | Event::ToolEnd { .. }
        | Event::RulesBroken { .. }
        | Event::TodoReminder { .. }
        | Event::LimitWarning(_)
        | Event::RunChanges(_)
        | Event::FilesRestored(_)
        | Event::PendingChanges(_)
        | Event::RetryStart { .. }
        | Event::RetryEnd { .. }
        | Event::ExtensionFailed(_)
        | Event::ProtectedPathChanged { .. }
        // Asked of the client.
        | Event::Ask(_)
        | Event::AskResolved { .. }
        | Event::HostCall(_)
        | Event::HostCallOver { .. }
        | Event::Display { .. }
        | Event::Local(_)
        // Encoded with what is remembered of each subagent.
        | Event::Subagent(_)
        // Reported by the end of the run.
        | Event::StorageFailed { .. } => return None,
    })
}
