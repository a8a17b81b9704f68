//! The form of responses, and the error texts.

use std::borrow::Cow;
use std::path::Path;

use bowline_core::command::Origin;
use bowline_core::event::{Failure, RunOutcome};
use bowline_core::reply::{Answer, CancelledChange, Refusal, RefusalCode, Reply, State};
use bowline_core::sandbox::{SandboxReport, SandboxSummary};
use bowline_core::thinking::ThinkingLevel;
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Form;
use super::messages::{self, MessageRecord};
use super::records::CompactionRecord;
use crate::json;
use crate::local_data::LocalData;
use crate::schema::{CommandId, variants};

/// The context window that is reported if no model is selected.
const DEFAULT_WINDOW: u64 = 200_000;

/// A response; keys in the order of the document or of the code.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Response<'reply> {
    Document {
        #[schemars(extend("const" = "response"))]
        r#type: &'static str,
        /// The command's type; `parse` for an unreadable line, `unknown` for a line without a type.
        command: &'reply str,
        /// The command's id; absent if it had none.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<CommandId>")]
        id: Option<&'reply RawValue>,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<()>")]
        data: Option<Data<'reply>>,
        /// Why the command failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'reply str>,
    },
    #[schemars(skip)]
    Code {
        r#type: &'static str,
        command: &'reply str,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'reply str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'reply RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Data<'reply>>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'reply> {
    Nothing(Nothing),
    Switched(Switched),
    Forked(Forked<'reply>),
    Messages(Messages<'reply>),
    LastText(LastText<'reply>),
    State(StateRecord<'reply>),
    Statistics(StatisticsRecord<'reply>),
    Model(Model<'reply>),
    Level(Level),
    Enabled(Enabled<'reply>),
    Compacted(CompactionRecord<'reply>),
    Local(LocalData),
    Sandbox(&'reply SandboxReport),
    SandboxChanged(SandboxSummary),
}

/// Always empty.
#[derive(Serialize, JsonSchema)]
pub(super) struct Nothing {}

/// The session was switched.
#[derive(Serialize, JsonSchema)]
pub(super) struct Switched {
    /// Always `false`: nothing can cancel this yet.
    cancelled: bool,
}

/// A session that was forked after an entry.
#[derive(Serialize, JsonSchema)]
pub(super) struct Forked<'reply> {
    /// The entry, as in the command.
    #[schemars(with = "Option<String>")]
    entry_id: Option<&'reply RawValue>,
    /// Always `false`: nothing can cancel this yet.
    cancelled: bool,
}

/// The messages in the context.
#[derive(Serialize, JsonSchema)]
pub(super) struct Messages<'reply> {
    messages: Vec<MessageRecord<'reply>>,
}

/// The newest model response.
#[derive(Serialize, JsonSchema)]
pub(super) struct LastText<'reply> {
    /// `null` if no response has text.
    text: Option<&'reply str>,
}

/// The model that was set.
#[derive(Serialize, JsonSchema)]
pub(super) struct Model<'reply> {
    model_id: &'reply str,
    provider: &'reply str,
}

/// The thinking level in effect.
#[derive(Serialize, JsonSchema)]
pub(super) struct Level {
    /// The level that was set, or the nearest that the model has.
    level: ThinkingLevel,
}

/// The value of the setting.
#[derive(Serialize, JsonSchema)]
pub(super) struct Enabled<'reply> {
    #[schemars(with = "bool")]
    enabled: &'reply RawValue,
}

/// The state of the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "State")]
pub(super) struct StateRecord<'reply> {
    /// The agent's activity.
    #[schemars(extend("enum" = ["idle", "turn", "compaction"]))]
    phase: &'static str,
    /// Whether a run is in progress, including retries.
    is_streaming: bool,
    /// `null` if the session is in memory only. The file may not exist yet.
    session_file: Option<Cow<'reply, str>>,
    session_id: &'reply str,
    session_name: Option<&'reply str>,
    /// The size of the context; 0 until a model has reported its usage.
    context_tokens: u64,
    context_window: u64,
    /// The number of messages in the context.
    message_count: usize,
    /// `null` if no model is selected.
    model_id: Option<&'reply str>,
    provider: Option<&'reply str>,
    #[schemars(with = "ThinkingLevel")]
    thinking_level: &'static str,
    /// The number of messages in both queues.
    pending_message_count: usize,
}

/// Statistics of the session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionStatistics")]
pub(super) struct StatisticsRecord<'reply> {
    session_id: &'reply str,
    session_name: Option<&'reply str>,
    /// The number of messages in the context.
    entry_count: usize,
    /// The size of the context; 0 until a model has reported its usage.
    context_tokens: u64,
    context_window: u64,
}

/// Describes a response.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    variants::<Response<'_>>(generator).into_iter().next().unwrap_or_default()
}

/// Encodes the response to a command that the dialect carries out itself.
pub(super) fn local(form: Form, origin: &Origin, data: Option<LocalData>) -> Record {
    let data = data.map_or(Data::Nothing(Nothing {}), Data::Local);
    respond(form, origin.id.as_deref(), origin.name, Ok(data))
}

/// Encodes the response to a command.
pub(super) fn encode(form: Form, reply: &Reply) -> Record {
    let id = reply.origin.id.as_deref();
    match &reply.result {
        Ok(Answer::RunOver(RunOutcome::Failed(Failure { text, .. }))) => {
            failure(form, id, reply.origin.name, text)
        }
        Ok(Answer::RunOver(RunOutcome::Aborted)) => {
            failure(form, id, reply.origin.name, "the run was aborted")
        }
        Ok(answer) => {
            let data = data(reply, answer);
            respond(form, id, reply.origin.name, Ok(data))
        }
        Err(refusal) => failure(form, id, reply.origin.name, &error_text(&reply.origin, refusal)),
    }
}

/// Encodes a failure response.
pub(super) fn failure(form: Form, id: Option<&str>, command: &str, error: &str) -> Record {
    respond(form, id, command, Err(error))
}

fn respond(form: Form, id: Option<&str>, command: &str, result: Result<Data<'_>, &str>) -> Record {
    let id = id.filter(|id| *id != "null").and_then(json::verbatim);
    let (success, error) = (result.is_ok(), result.as_ref().err().copied());
    let r#type = "response";
    Record::Plain(json::to_line(&match form {
        Form::Document => Response::Document { r#type, command, id, success, data: result.ok(), error },
        Form::Code => {
            let data = result.ok().filter(|data| !matches!(data, Data::Nothing(_)));
            Response::Code { r#type, command, success, error, id, data }
        }
    }))
}

/// Returns the code's error text for a refusal, where it has one.
fn error_text<'a>(origin: &Origin, refusal: &'a Refusal) -> Cow<'a, str> {
    match (refusal.code, origin.name) {
        (RefusalCode::Busy, _) => "Agent is busy (phase=turn)".into(),
        (RefusalCode::Compacting, _) => "Agent is busy (phase=compaction)".into(),
        // A name of blanks is no name.
        (RefusalCode::InvalidArgument, "set_session_name") => "'name' is required".into(),
        _ => match refusal.message.strip_prefix("Entry not found: ") {
            // The quotes are part of the text that the code writes.
            Some(entry) => format!("\"Entry '{entry}' not found in session.\"").into(),
            None => (&*refusal.message).into(),
        },
    }
}

fn data<'reply>(reply: &'reply Reply, answer: &'reply Answer) -> Data<'reply> {
    let echo = || reply.origin.echo.as_deref().and_then(json::verbatim);
    match answer {
        Answer::SessionSwitched => Data::Switched(Switched { cancelled: false }),
        Answer::Cancelled(CancelledChange::Fork) => {
            Data::Forked(Forked { entry_id: echo(), cancelled: true })
        }
        Answer::Cancelled(_) => Data::Switched(Switched { cancelled: true }),
        Answer::Forked { .. } => Data::Forked(Forked { entry_id: echo(), cancelled: false }),
        Answer::Messages(messages) => Data::Messages(Messages { messages: messages::conversation(messages) }),
        Answer::LastAssistantText(text) => Data::LastText(LastText { text: text.as_deref() }),
        Answer::State(state) if reply.origin.name == "get_session_stats" => {
            Data::Statistics(statistics(state))
        }
        Answer::State(state) => Data::State(state_record(state)),
        Answer::Model(model) => Data::Model(Model { model_id: &model.id, provider: &model.provider }),
        Answer::Sandbox(report) => Data::Sandbox(report),
        Answer::SandboxChanged(summary) => Data::SandboxChanged(*summary),
        Answer::Compacted(result) => Data::Compacted((&**result).into()),
        Answer::ThinkingLevelSet(thinking) => Data::Level(Level { level: thinking.level }),
        Answer::Done => match (reply.origin.name, echo()) {
            ("set_auto_compaction", Some(enabled)) => Data::Enabled(Enabled { enabled }),
            _ => Data::Nothing(Nothing {}),
        },
        Answer::Accepted(_) | Answer::RunOver(_) => Data::Nothing(Nothing {}),
        // No command of this dialect has these answers.
        Answer::SessionOpened { .. }
        | Answer::Cleared { .. }
        | Answer::MessagesPage(_)
        | Answer::Commands(_)
        | Answer::CycledModel(_)
        | Answer::Models(_)
        | Answer::CycledThinkingLevel(_)
        | Answer::ThinkingLevels(_)
        | Answer::Shell(_)
        | Answer::Statistics(_)
        | Answer::ForkMessages(_)
        | Answer::Entries { .. }
        | Answer::Tree { .. }
        | Answer::FlatTree { .. }
        | Answer::Navigated(_)
        | Answer::Written { .. }
        | Answer::Sessions(_)
        | Answer::Exported { .. }
        | Answer::HostTools(_)
        | Answer::UriSchemes(_)
        | Answer::Completions(_)
        | Answer::LoginProviders(_)
        | Answer::LoggedIn { .. }
        | Answer::Limits(_)
        | Answer::Todos(_)
        | Answer::Changes(_)
        | Answer::FilesRestored(_)
        | Answer::PendingChanges(_)
        | Answer::ChangesAccepted(_)
        | Answer::ChangesDiscarded(_)
        | Answer::SubagentSubscription(_)
        | Answer::Subagents(_)
        | Answer::SubagentMessages(_) => Data::Nothing(Nothing {}),
    }
}

fn state_record(state: &State) -> StateRecord<'_> {
    let phase = match (state.is_compacting, state.is_streaming) {
        (true, _) => "compaction",
        (false, true) => "turn",
        (false, false) => "idle",
    };
    StateRecord {
        phase,
        is_streaming: state.is_streaming,
        session_file: state.session_file.as_deref().map(Path::to_string_lossy),
        session_id: &state.session_id,
        session_name: state.session_name.as_deref(),
        context_tokens: context_tokens(state),
        context_window: context_window(state),
        message_count: state.message_count,
        model_id: state.model.as_ref().map(|model| model.id.as_str()),
        provider: state.model.as_ref().map(|model| model.provider.as_str()),
        thinking_level: state.thinking_level.as_str(),
        pending_message_count: state.pending_message_count,
    }
}

fn statistics(state: &State) -> StatisticsRecord<'_> {
    StatisticsRecord {
        session_id: &state.session_id,
        session_name: state.session_name.as_deref(),
        entry_count: state.message_count,
        context_tokens: context_tokens(state),
        context_window: context_window(state),
    }
}

fn context_tokens(state: &State) -> u64 {
    state.context.and_then(|context| context.tokens).unwrap_or_default()
}

fn context_window(state: &State) -> u64 {
    state.context.map_or(DEFAULT_WINDOW, |context| context.window)
}
