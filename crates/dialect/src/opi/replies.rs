//! The form of responses, and opi's error texts.

use std::borrow::Cow;

use bowline_core::command::Origin;
use bowline_core::event::CompactionResult;
use bowline_core::reply::{Answer, RefusalCode, Reply, State};
use bowline_core::sandbox::{SandboxReport, SandboxSummary};
use bowline_core::thinking::ThinkingLevel;
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json;
use crate::local_data::LocalData;

/// The first record, with the keys of opi's source in its order.
#[derive(Serialize, JsonSchema)]
#[schemars(description = "The first record: the agent accepts commands.")]
pub(super) struct Ready {
    #[schemars(extend("const" = "rpc"))]
    mode: &'static str,
    /// The version of the protocol.
    schema_version: u32,
    #[schemars(extend("const" = "rpc_ready"))]
    r#type: &'static str,
    /// The emulated version of opi.
    version: &'static str,
}

/// A response; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
struct Response<'reply, D> {
    /// The command's type; `parse` for an unreadable line.
    command: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    /// Why the command failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    /// The command's id; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    id: Option<&'reply RawValue>,
    success: bool,
    #[schemars(extend("const" = "response"))]
    r#type: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'reply> {
    Model(Model),
    Level(Level),
    Compacted(CompactionRecord<'reply>),
    Session(Session<'reply>),
    Local(LocalData),
    Sandbox(&'reply SandboxReport),
    SandboxChanged(SandboxSummary),
}

/// The model that was set.
#[derive(Serialize, JsonSchema)]
pub(super) struct Model {
    /// The model, as `provider:model`.
    model: String,
}

/// How the model thinks from the next request on.
#[derive(Serialize, JsonSchema)]
pub(super) struct Level {
    /// The token budget that is sent; `null` if thinking is off or the model's API takes no budget.
    budget_tokens: Option<u64>,
    /// Whether the model thinks.
    enabled: bool,
    /// The level that was set, or the nearest that the model has.
    level: ThinkingLevel,
}

/// The session and the model.
#[derive(Serialize, JsonSchema)]
pub(super) struct Session<'reply> {
    /// The model, as `provider:model`; empty if no model is selected.
    model: String,
    resources: Resources<'reply>,
    session_id: &'reply str,
}

/// The resources that were loaded. Lists of kinds that bowline does not have are empty.
#[derive(Serialize, Default, JsonSchema)]
struct Resources<'reply> {
    #[schemars(with = "Vec<String>")]
    diagnostics: [String; 0],
    #[schemars(with = "Vec<String>")]
    extensions: [String; 0],
    /// The files that the system prompt contains, such as `AGENTS.md`, with their paths.
    fragments: Vec<Cow<'reply, str>>,
    #[schemars(with = "Vec<String>")]
    packages: [String; 0],
    #[schemars(with = "Vec<String>")]
    skills: [String; 0],
    #[schemars(with = "Vec<String>")]
    themes: [String; 0],
}

/// The result of a compaction.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Compaction")]
pub(super) struct CompactionRecord<'reply> {
    /// The first entry that stays in the context unchanged.
    first_kept_entry_id: &'reply str,
    /// The summary that replaces all earlier messages.
    summary: &'reply str,
    tokens_after: u64,
    tokens_before: u64,
}

impl<'reply> From<&'reply CompactionResult> for CompactionRecord<'reply> {
    fn from(result: &'reply CompactionResult) -> Self {
        Self {
            first_kept_entry_id: &result.first_kept_entry,
            summary: &result.summary,
            tokens_after: result.estimated_tokens_after,
            tokens_before: result.tokens_before,
        }
    }
}

/// Encodes the first record.
pub(super) fn ready(schema_version: u32, version: &'static str) -> Record {
    Record::Plain(json::to_line(&Ready { mode: "rpc", schema_version, r#type: "rpc_ready", version }))
}

/// Describes a response.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    Response::<()>::json_schema(generator)
}

/// Encodes the response to a command that the dialect carries out itself.
pub(super) fn local(origin: &Origin, data: Option<LocalData>) -> Record {
    respond(origin.id.as_deref(), origin.name, Ok(data.map(Data::Local)))
}

/// Encodes a failure response.
pub(super) fn failure(id: Option<&str>, command: &str, error: &str) -> Record {
    respond(id, command, Err(error))
}

/// Encodes the response to a command.
pub(super) fn encode(reply: &Reply) -> Record {
    let id = reply.origin.id.as_deref();
    match &reply.result {
        Ok(answer) => respond(id, reply.origin.name, Ok(data(answer))),
        Err(refusal) => {
            let error = error_text(reply, refusal.code, &refusal.message);
            failure(id, reply.origin.name, &error)
        }
    }
}

fn respond(id: Option<&str>, command: &str, result: Result<Option<Data<'_>>, &str>) -> Record {
    Record::Plain(json::to_line(&Response {
        command,
        error: result.as_ref().err().copied(),
        id: id.and_then(json::verbatim),
        success: result.is_ok(),
        data: result.ok().flatten(),
        r#type: "response",
    }))
}

/// Returns opi's error text for a command that was refused.
fn error_text<'a>(reply: &'a Reply, code: RefusalCode, message: &'a str) -> Cow<'a, str> {
    match (code, reply.origin.name) {
        (RefusalCode::Busy, "set_model") => "cannot change model while agent is running".into(),
        (RefusalCode::Busy, "set_thinking_level") => {
            "cannot change thinking level while agent is running".into()
        }
        (RefusalCode::Busy, "compact") => "cannot compact while agent is running".into(),
        (RefusalCode::Busy, "session_info") => "cannot query session info while agent is running".into(),
        (RefusalCode::Busy, _) => "agent is already running; use steer or follow_up to queue messages".into(),
        (RefusalCode::ModelNotFound, "set_model") => {
            let spec = echoed(reply);
            let (provider, id) = spec.split_once(':').unwrap_or_default();
            format!("unknown model '{id}' for provider '{provider}'").into()
        }
        (RefusalCode::NothingToDo, "compact") => "compaction produced no output".into(),
        (_, "compact") => format!("compaction failed: {message}").into(),
        _ => message.into(),
    }
}

fn data(answer: &Answer) -> Option<Data<'_>> {
    match answer {
        Answer::Model(model) => {
            Some(Data::Model(Model { model: format!("{}:{}", model.provider, model.id) }))
        }
        Answer::Sandbox(report) => Some(Data::Sandbox(report)),
        Answer::SandboxChanged(summary) => Some(Data::SandboxChanged(*summary)),
        Answer::Compacted(result) => Some(Data::Compacted((&**result).into())),
        Answer::State(state) => Some(session(state)),
        Answer::ThinkingLevelSet(thinking) => Some(Data::Level(Level {
            budget_tokens: thinking.budget_tokens,
            enabled: thinking.level != ThinkingLevel::Off,
            level: thinking.level,
        })),
        Answer::Done | Answer::Accepted(_) => None,
        // No command of this dialect has these answers.
        Answer::RunOver(_)
        | Answer::SessionOpened { .. }
        | Answer::Cleared { .. }
        | Answer::Messages(_)
        | Answer::MessagesPage(_)
        | Answer::Commands(_)
        | Answer::CycledModel(_)
        | Answer::Models(_)
        | Answer::CycledThinkingLevel(_)
        | Answer::ThinkingLevels(_)
        | Answer::Shell(_)
        | Answer::SessionSwitched
        | Answer::Cancelled(_)
        | Answer::Statistics(_)
        | Answer::LastAssistantText(_)
        | Answer::Forked { .. }
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
        | Answer::SubagentMessages(_) => None,
    }
}

fn session(state: &State) -> Data<'_> {
    let model = state.model.as_ref().map(|model| format!("{}:{}", model.provider, model.id));
    let files = state.instructions.iter().flat_map(|instructions| instructions.context_files.iter());
    let fragments = files.map(|path| path.to_string_lossy());
    Data::Session(Session {
        model: model.unwrap_or_default(),
        resources: Resources { fragments: fragments.collect(), ..Resources::default() },
        session_id: &state.session_id,
    })
}

/// Returns the field of the command that its response repeats.
fn echoed(reply: &Reply) -> String {
    reply.origin.echo.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
