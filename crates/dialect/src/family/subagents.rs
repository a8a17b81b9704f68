//! Commands and records about subagents, which `omp` has and `pi` here too.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::command::{Command, SubagentName};
use bowline_core::event::Event;
use bowline_core::message::Message;
use bowline_core::reply::SubagentMessages;
use bowline_core::subagent::{
    AgentSource, Subagent, SubagentEvent, SubagentProgress, SubagentStatus, Subscription,
};
use bowline_wire::{Pieces, Record};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::answers::Entry;
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{Number, OneOf, Text};
use crate::json;
use crate::schema::schema_of;

/// The field that omp has an error text of its own for.
pub(crate) const FROM_BYTE: &str = "fromByte";

pub(crate) const SET_SUBAGENT_SUBSCRIPTION: Row = Row {
    name: "set_subagent_subscription",
    about: "Sets which records about subagents are sent, also about those that are running. Without it there are none: the \
            tool `task` only reports its progress, as every tool does.",
    fields: &[Field::required(
        "level",
        OneOf(Subscription::NAMES),
        "`progress` for `subagent_lifecycle` and `subagent_progress`, `events` for `subagent_event` too, `off` for none.",
    )],
    result: Some(schema_of::<SubscriptionRecord>()),
    action: Engine(|mut fields| Command::SetSubagentSubscription {
        level: Subscription::parse(&fields.text("level")).unwrap_or_default(),
    }),
};

pub(crate) const GET_SUBAGENTS: Row = Row {
    name: "get_subagents",
    about: "Returns the subagents that are running, subagents of subagents among them.",
    fields: &[],
    result: Some(schema_of::<Subagents<'_>>()),
    action: Engine(|_| Command::GetSubagents),
};

pub(crate) const GET_SUBAGENT_MESSAGES: Row = Row {
    name: "get_subagent_messages",
    about: "Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It works while the \
            subagent is running and for the last 256 that have ended.",
    fields: &[
        Field::optional("subagentId", Text, "The subagent."),
        Field::optional("sessionFile", Text, "Its session file, in place of the id."),
        Field::optional(FROM_BYTE, Number, "Where to begin: `nextByte` of the response before (default: 0)."),
    ],
    result: Some(schema_of::<SubagentMessagesRecord<'_>>()),
    action: Engine(|mut fields| Command::GetSubagentMessages {
        subagent: SubagentName {
            id: fields.optional_text("subagentId").filter(|id| !id.is_empty()),
            session_file: fields.optional_text("sessionFile").map(Into::into),
        },
        from_byte: fields.offset(FROM_BYTE),
    }),
};

/// The level that was set.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SubagentSubscription")]
pub(crate) struct SubscriptionRecord {
    #[schemars(extend("enum" = Subscription::NAMES))]
    pub level: &'static str,
}

/// The subagents that are running.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Subagents<'reply> {
    pub subagents: Vec<SnapshotRecord<'reply>>,
}

/// A subagent that is running.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subagent")]
pub(crate) struct SnapshotRecord<'reply> {
    id: &'reply str,
    /// Its place among the tasks of its call, starting at 0.
    index: usize,
    /// The agent whose instructions it has.
    agent: &'reply str,
    agent_source: AgentSource,
    status: SubagentStatus,
    /// The beginning of its task.
    task: &'reply str,
    /// Absent if the session is in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'reply, str>>,
    /// When it last changed, in milliseconds since the Unix epoch.
    last_update: u64,
    progress: &'reply SubagentProgress,
    /// The call of `task` that started it.
    parent_tool_call_id: &'reply str,
}

/// A part of a subagent's session file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SubagentMessages")]
pub(crate) struct SubagentMessagesRecord<'reply> {
    session_file: Cow<'reply, str>,
    /// Where the part begins.
    from_byte: u64,
    /// Where the next part begins. There is none yet if it is the same as `fromByte`.
    next_byte: u64,
    /// Whether the file is shorter than the requested offset, so that the part begins at the start of the file.
    reset: bool,
    /// The lines of the file, its header among them.
    #[schemars(with = "Vec<FileLine>")]
    entries: &'reply [Box<RawValue>],
    /// The messages in them.
    #[schemars(with = "Vec<Message>")]
    messages: &'reply [Box<RawValue>],
}

/// A line of a session file: its header or an entry.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "lines are forwarded as raw JSON; this only describes them")]
enum FileLine {
    Header(Header),
    Entry(Entry),
}

/// The header of a session file.
#[derive(JsonSchema)]
#[schemars(rename = "SessionHeader", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "lines are forwarded as raw JSON; this only describes them")]
struct Header {
    #[schemars(extend("const" = "session"))]
    r#type: &'static str,
    id: String,
}

/// A record about a subagent.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum SubagentRecord<'event> {
    /// A subagent started or ended. Only sent to clients that asked for it: see `set_subagent_subscription`.
    #[serde(rename = "subagent_lifecycle")]
    Lifecycle { payload: Lifecycle<'event> },
    /// A subagent has made progress. Only sent to clients that asked for it: see `set_subagent_subscription`.
    #[serde(rename = "subagent_progress")]
    Progress { payload: ProgressPayload<'event> },
    /// Something happened in the session of a subagent. Only sent to clients that asked for it: see
    /// `set_subagent_subscription`.
    #[expect(dead_code, reason = "it is assembled from bytes; this only describes it")]
    #[serde(rename = "subagent_event")]
    Event { payload: EventPayload<'event> },
}

/// The start or the end of a subagent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SubagentLifecycle")]
pub(crate) struct Lifecycle<'event> {
    /// Unique in the session. The id of a subagent's own subagent begins with that of the former and a dot.
    id: &'event str,
    agent: &'event str,
    agent_source: AgentSource,
    #[schemars(extend("enum" = ["started", "completed", "failed", "aborted"]))]
    status: &'static str,
    /// Absent if the session is in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'event, str>>,
    parent_tool_call_id: &'event str,
    index: usize,
}

/// The progress of a subagent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SubagentProgressReport")]
pub(crate) struct ProgressPayload<'event> {
    index: usize,
    agent: &'event str,
    agent_source: AgentSource,
    task: &'event str,
    parent_tool_call_id: &'event str,
    progress: &'event SubagentProgress,
    /// Absent if the session is in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'event, str>>,
}

/// An event of a subagent's session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SubagentEventReport")]
pub(crate) struct EventPayload<'event> {
    /// The subagent.
    id: &'event str,
    event: InnerRecord,
}

/// The record of the event, as it is for the session of the client.
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct InnerRecord {
    r#type: &'static str,
}

/// Encodes events of subagents. Each has an encoder of its own, because what is encoded depends on what was before.
#[derive(Debug)]
pub(crate) struct SubagentRecords<E> {
    encoders: BTreeMap<Arc<str>, E>,
}

impl<E> Default for SubagentRecords<E> {
    fn default() -> Self {
        Self { encoders: BTreeMap::new() }
    }
}

impl<E> SubagentRecords<E> {
    /// Encodes what happened to a subagent. `make` makes an encoder, which `encode` uses for an event of its session.
    pub fn encode(
        &mut self,
        event: &SubagentEvent,
        make: impl FnOnce() -> E,
        encode: impl FnOnce(&mut E, &Event, &mut Vec<Record>),
        records: &mut Vec<Record>,
    ) {
        match event {
            SubagentEvent::Started(subagent) => records.push(lifecycle(subagent, "started")),
            SubagentEvent::Progress(subagent) => records.push(progress(subagent)),
            SubagentEvent::Ended(subagent) => {
                self.encoders.remove(&*subagent.progress.id);
                let status = match subagent.progress.status {
                    SubagentStatus::Completed => "completed",
                    SubagentStatus::Aborted => "aborted",
                    SubagentStatus::Pending | SubagentStatus::Running | SubagentStatus::Failed => "failed",
                };
                records.push(lifecycle(subagent, status));
            }
            SubagentEvent::Inner { id, event } => {
                let mut inner = Vec::new();
                encode(self.encoders.entry(Arc::clone(id)).or_insert_with(make), event, &mut inner);
                records.extend(inner.into_iter().map(|record| wrapped(id, record)));
            }
        }
    }
}

/// Returns the record of an event around the record of the event itself. Its deltas do not join with others.
fn wrapped(id: &str, record: Record) -> Record {
    let mut out = Pieces::default();
    out.extend(br#"{"type":"subagent_event","payload":{"id":"#);
    out.extend(&json::to_line(&id));
    out.extend(br#","event":"#);
    match record {
        Record::Plain(bytes) => out.extend(&bytes),
        Record::Pieces(pieces) => out.append(*pieces),
        Record::Delta(delta) => {
            out.append(delta.prefix);
            out.extend(&delta.body);
            out.append(delta.suffix);
        }
    }
    out.extend(b"}}");
    out.into()
}

fn lifecycle(subagent: &Subagent, status: &'static str) -> Record {
    let Subagent { session_file, parent_call_id, progress, .. } = subagent;
    Record::Plain(json::to_line(&SubagentRecord::Lifecycle {
        payload: Lifecycle {
            id: &progress.id,
            agent: &progress.agent,
            agent_source: progress.agent_source,
            status,
            session_file: session_file.as_deref().map(Path::to_string_lossy),
            parent_tool_call_id: parent_call_id,
            index: progress.index,
        },
    }))
}

fn progress(subagent: &Subagent) -> Record {
    let Subagent { session_file, parent_call_id, progress, .. } = subagent;
    Record::Plain(json::to_line(&SubagentRecord::Progress {
        payload: ProgressPayload {
            index: progress.index,
            agent: &progress.agent,
            agent_source: progress.agent_source,
            task: &progress.task,
            parent_tool_call_id: parent_call_id,
            progress,
            session_file: session_file.as_deref().map(Path::to_string_lossy),
        },
    }))
}

impl<'reply> From<&'reply Subagent> for SnapshotRecord<'reply> {
    fn from(subagent: &'reply Subagent) -> Self {
        let Subagent { session_file, parent_call_id, last_update, progress } = subagent;
        Self {
            id: &progress.id,
            index: progress.index,
            agent: &progress.agent,
            agent_source: progress.agent_source,
            status: progress.status,
            task: &progress.task,
            session_file: session_file.as_deref().map(Path::to_string_lossy),
            last_update: *last_update,
            progress,
            parent_tool_call_id: parent_call_id,
        }
    }
}

impl<'reply> From<&'reply SubagentMessages> for SubagentMessagesRecord<'reply> {
    fn from(part: &'reply SubagentMessages) -> Self {
        Self {
            session_file: part.session_file.to_string_lossy(),
            from_byte: part.from_byte,
            next_byte: part.next_byte,
            reset: part.is_reset,
            entries: &part.entries,
            messages: &part.messages,
        }
    }
}
