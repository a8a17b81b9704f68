//! The dialect `omp`: the protocol of `omp --mode rpc`.
//!
//! A prompt is acknowledged on receipt, and a later error is a second response with the same id. Every update repeats
//! the message so far, and a run ends in a single `agent_end`.

mod commands;
mod other_tools;
mod replies;
mod slash_commands;
mod state;
mod unsupported;

use std::sync::Arc;

use bowline_core::command::InterruptMode;
use bowline_core::event::{CompactionReason, Event, LocalEvent};
use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::policy::{
    HostToolNames, IdleQueue, Policy, PromptAnswer, Questions, SlashCommands, StateDetail, StreamRules,
    Todos, ToolResults, TruncatedAnswers, WhileCompacting,
};
use bowline_core::reply::{Refusal, RefusalCode, Reply};
use bowline_core::{ErrorKind, SessionTag, ThinkingLevel};
use bowline_wire::{Line, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::decode::Problem;
use crate::envelope::flat::Flat;
use crate::family::approvals::ApprovalRecord;
use crate::family::error_code::ErrorCode;
use crate::family::host::{ANSWERS, HostCalls, HostRecord};
use crate::family::records::{CompactionOutcomeRecord, EventRecord};
use crate::family::repeating::{self, Place, Repeating};
use crate::family::responses;
use crate::family::run_messages::RunMessages;
use crate::family::state_cache::StateCache;
use crate::family::subagents::{FROM_BYTE, SubagentRecord, SubagentRecords};
use crate::family::user_interface::{Style, UserInterface};
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::{CommandId, Describe, record, variants};
use crate::{Dialect, Incoming, Options, json, single_session};

pub(crate) use other_tools::OTHER_TOOLS;

/// The version of the protocol, in the first record.
const PROTOCOL_VERSION: u64 = 1;

/// The definition of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "omp",
    envelope: &Flat { response: Describe::new(responses::schema), optional_data: &["prompt"] },
    commands: commands::TABLE,
    answers: ANSWERS,
    id: Id::Anything,
    answered: Answered::All,
    records: Describe::new(records),
    unsupported: unsupported::COMMANDS,
    capabilities: &["entry_ids", "error_codes", "joined_deltas"],
};

fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = variants::<OwnRecord<'_>>(generator);
    records.extend(variants::<EventRecord<'_>>(generator));
    records.extend(variants::<SubagentRecord<'_>>(generator));
    records.push(record::<repeating::Update<'_>>(generator));
    records.push(Style::Omp { titles: true }.schema(generator));
    records.extend(variants::<HostRecord<'_>>(generator));
    records.extend(variants::<ApprovalRecord<'_>>(generator));
    records
}

/// The records that only this dialect has.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum OwnRecord<'event> {
    /// The first record: the agent accepts commands.
    Ready {
        /// The version of the protocol: frames are never split.
        #[schemars(extend("const" = PROTOCOL_VERSION))]
        protocol_version: u64,
        /// The versions that `negotiate_protocol` accepts.
        supported_protocol_versions: &'static [u64],
    },
    /// The run ended, including retries, compaction and queued messages. Emitted once per run.
    AgentEnd {
        /// The messages that the last attempt of the run added to the conversation.
        messages: &'event [Arc<Message>],
        /// Always `true`: nothing follows automatically.
        is_terminal: bool,
        /// Why the run failed or was aborted; absent if it was not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_kind: Option<ErrorKind>,
    },
    /// What a command that a prompt named has to say.
    CommandOutput { text: &'event str },
    /// A command that a prompt named has renamed the session, or started another one.
    SessionInfoUpdate {
        /// Absent if the session has no name.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'event str>,
        session_id: &'event str,
    },
    /// A command that a prompt named has chosen the model.
    ConfigUpdate { model: &'event Model, thinking_level: ThinkingLevel },
    /// A prompt that was acknowledged starts no run: an extension took it, and is done with it.
    PromptResult {
        /// The id of the prompt; absent if it had none.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<CommandId>")]
        id: Option<&'event RawValue>,
        /// Always `false`.
        agent_invoked: bool,
    },
    /// An automatic compaction starts.
    AutoCompactionStart {
        /// `threshold` if the context window is nearly full, `overflow` if the conversation exceeded it.
        #[schemars(extend("enum" = ["threshold", "overflow"]))]
        reason: &'static str,
    },
    /// An automatic compaction ended.
    AutoCompactionEnd {
        #[serde(flatten)]
        outcome: CompactionOutcomeRecord<'event>,
    },
}

/// The dialect, with what it remembers between events and replies.
#[derive(Debug)]
pub(crate) struct Omp {
    updates: Repeating,
    state_cache: StateCache,
    run: RunMessages,
    subagents: SubagentRecords<Self>,
    user_interface: UserInterface,
    host_calls: HostCalls,
}

impl Omp {
    pub fn new(options: &Options) -> Self {
        let style = Style::Omp { titles: options.window_titles };
        Self {
            updates: Repeating::new(Place::AfterTheStep),
            state_cache: StateCache::default(),
            run: RunMessages::default(),
            subagents: SubagentRecords::default(),
            user_interface: UserInterface::new(style),
            host_calls: HostCalls::new(style),
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
            while_compacting: WhileCompacting::MessagesWait,
            state_detail: StateDetail::WithInstructions,
            truncated_answers: TruncatedAnswers::Kept,
            stream_rules: StreamRules::Watched,
            todos: Todos::Kept,
            questions: Questions::Asked,
            host_tool_names: HostToolNames::MustBeNew,
            slash_commands: SlashCommands::CarriedOut,
            ..Policy::default()
        }
    }

    fn opening(&mut self, records: &mut Vec<Record>) {
        records.push(plain(&OwnRecord::Ready {
            protocol_version: PROTOCOL_VERSION,
            supported_protocol_versions: &[PROTOCOL_VERSION],
        }));
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let decoded = PROTOCOL.decode(line).map_err(|problem| refuse(&problem));
        single_session::forward(
            decoded,
            &PROTOCOL,
            responses::local,
            |answer| self.user_interface.decode(answer).or_else(|| self.host_calls.decode(answer)),
            records,
        )
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::Subagent(event) => {
                let encode = |inner: &mut Self, event: &Event, records: &mut Vec<Record>| {
                    inner.event(SessionTag::FIRST, event, records);
                };
                self.subagents.encode(event, || Self::new(&Options::default()), encode, records);
            }
            Event::RunEnd { messages, .. } => self.run.replace(messages),
            Event::Settled { outcome, .. } => {
                let messages = self.run.finish();
                records.push(plain(&OwnRecord::AgentEnd {
                    messages: &messages,
                    is_terminal: true,
                    error_kind: outcome.error_kind(),
                }));
            }
            Event::MessageStart(message) => match self.updates.start(message) {
                Some(answer) => {
                    records.extend(shared(&Event::MessageStart(Arc::new(Message::Assistant(answer)))));
                }
                None => records.extend(shared(event)),
            },
            Event::MessageUpdate { usage, update } => records.push(self.updates.encode(usage, update)),
            // A user-initiated compaction is reported by its response only.
            Event::CompactionStart { reason: CompactionReason::Manual }
            | Event::CompactionEnd { reason: CompactionReason::Manual, .. } => {}
            Event::CompactionStart { reason } => {
                records.push(plain(&OwnRecord::AutoCompactionStart { reason: reason.as_str() }));
            }
            Event::CompactionEnd { outcome, will_retry, .. } => {
                let outcome = CompactionOutcomeRecord::new(outcome, *will_retry);
                records.push(plain(&OwnRecord::AutoCompactionEnd { outcome }));
            }
            Event::Local(event) => records.push(plain(&local(event))),
            Event::RunStart
            | Event::TurnStart
            | Event::TurnEnd { .. }
            | Event::MessageEnd { .. }
            | Event::ToolStart { .. }
            | Event::ToolProgress { .. }
            | Event::ToolEnd { .. }
            | Event::RulesBroken { .. }
            | Event::TodoReminder { .. }
            | Event::OutputChecked { .. }
            | Event::LimitWarning(_)
            | Event::RunChanges(_)
            | Event::FilesRestored(_)
            | Event::PendingChanges(_)
            | Event::RetryStart { .. }
            | Event::RetryEnd { .. }
            | Event::ExtensionFailed(_)
            | Event::ProtectedPathChanged { .. } => records.extend(shared(event)),
            Event::Ask(_) | Event::AskResolved { .. } | Event::Display { .. } => {
                records.extend(self.user_interface.encode(event));
            }
            Event::HostCall(_) | Event::HostCallOver { .. } => {
                records.extend(self.host_calls.encode(event));
            }
            // The protocol has no records for these.
            Event::QueueChanged { .. }
            | Event::Delivering { .. }
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::ThinkingLevelChanged { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. }
            | Event::StorageFailed { .. } => {}
        }
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        match &reply.result {
            Ok(answer) => {
                let data = replies::data(answer, &mut self.state_cache);
                records.push(responses::success(&reply.origin, data));
            }
            Err(refusal) => {
                let mut refusal: Refusal = refusal.clone();
                replies::reword(&mut refusal);
                let (id, name) = (reply.origin.id.as_deref(), reply.origin.name);
                records.push(responses::failure(
                    id,
                    Some(name),
                    &refusal.message,
                    ErrorCode::Refused(refusal.code),
                ));
            }
        }
    }
}

/// Returns the record of what a command did which a prompt named.
fn local(event: &LocalEvent) -> OwnRecord<'_> {
    match event {
        LocalEvent::Output(text) => OwnRecord::CommandOutput { text },
        LocalEvent::SessionInfo { id, name } => {
            OwnRecord::SessionInfoUpdate { title: name.as_deref(), session_id: id }
        }
        LocalEvent::Configuration { model, thinking_level } => {
            OwnRecord::ConfigUpdate { model, thinking_level: *thinking_level }
        }
        LocalEvent::Handled { origin } => OwnRecord::PromptResult {
            id: origin.id.as_deref().and_then(json::verbatim),
            agent_invoked: false,
        },
    }
}

fn plain(record: &OwnRecord<'_>) -> Record {
    Record::Plain(json::to_line(record))
}

/// Returns the record of an event that has the same form in the whole family.
fn shared(event: &Event) -> Option<Record> {
    EventRecord::of(event).map(|record| record.encode())
}

/// Encodes the response to an invalid line. omp leaves the id out for unreadable lines, by which its clients recognise
/// them. It does so for unknown commands too, but there its clients wait for a response with the id until they give up.
fn refuse(problem: &Problem) -> Record {
    match problem {
        Problem::Unreadable { reason, .. } => {
            responses::refuse(&Problem::Unreadable { id: None, reason: reason.clone() })
        }
        Problem::UnknownCommand { id, name: Some(name) } if let Some(reason) = unsupported::reason(name) => {
            let error = format!("{name} is not supported: {reason}");
            responses::failure(id.as_deref(), Some(name), &error, ErrorCode::Unsupported)
        }
        Problem::BadField { origin, value: Some(version), .. } if origin.name == "negotiate_protocol" => {
            let error = format!("Unsupported RPC protocol version: {version}");
            responses::failure(
                origin.id.as_deref(),
                Some(origin.name),
                &error,
                ErrorCode::Refused(RefusalCode::InvalidArgument),
            )
        }
        Problem::BadField { origin, field, .. } if field.name == FROM_BYTE => responses::failure(
            origin.id.as_deref(),
            Some(origin.name),
            "fromByte must be a finite number",
            ErrorCode::Refused(RefusalCode::InvalidArgument),
        ),
        Problem::UnknownCommand { .. } | Problem::BadField { .. } => responses::refuse(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_the_29_commands_of_the_document() {
        // And `get_protocol_info`, `get_messages_page`, `get_available_commands`, `negotiate_protocol`, `set_todos`, two for
        // host tools, three about subagents, two about logins, two about the sandbox, two about limits, two about approvals,
        // three about changes of files, three about pending changes, two for what the client shows and one for completions.
        assert_eq!(commands::TABLE.len(), 29 + 27);
    }

    #[test]
    fn unsupported_commands_are_not_in_the_table() {
        for (name, _) in unsupported::COMMANDS {
            assert!(commands::TABLE.iter().all(|row| row.name != *name), "{name}");
        }
    }

    #[test]
    fn invalid_fields_are_refused_without_acknowledgement() {
        for row in commands::TABLE {
            for field in row.fields {
                let line = format!(r#"{{"type":"{}","{}":{{"not":"it"}}}}"#, row.name, field.name);
                let mut records = Vec::new();
                assert_eq!(
                    Omp::new(&Options::default()).decode(Line::Text(line.clone()), &mut records),
                    None
                );
                let [Record::Plain(bytes)] = &records[..] else { panic!("{line}: {records:?}") };
                assert!(String::from_utf8_lossy(bytes).contains("\"success\":false"), "{line}");
            }
        }
    }
}
