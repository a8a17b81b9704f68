//! What answers look like on the wire.

use std::borrow::Cow;

use bowline_core::command::Origin;
use bowline_core::event::CompactionResult;
use bowline_core::reply::{Answer, RefusalCode, Reply, State};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json;
use crate::protocol_info::ProtocolInfo;
use crate::schema::Protocol;

/// The budget that `medium` stands for, and the least for `high`, in tokens.
const LOW_BUDGET: u32 = 2_048;
const MEDIUM_BUDGET: u32 = 10_000;
const HIGH_BUDGET: u32 = 20_000;

/// The first record. Keys are as opi's source has them, in the order it sends them.
#[derive(Serialize, JsonSchema)]
#[schemars(description = "The first record: commands can be sent.")]
pub(super) struct Ready {
    #[schemars(extend("const" = "rpc"))]
    mode: &'static str,
    /// The version of the protocol.
    schema_version: u32,
    #[schemars(extend("const" = "rpc_ready"))]
    r#type: &'static str,
    /// The version of opi whose protocol this is.
    version: &'static str,
}

/// A response; keys in alphabetical order.
#[derive(Serialize, JsonSchema)]
struct Response<'reply, D> {
    /// The command's type; `parse` for a line that cannot be read.
    command: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    /// That of the command; absent if it had none.
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
    Compacted(SpokenCompaction<'reply>),
    Session(Session<'reply>),
    ProtocolInfo(Box<ProtocolInfo>),
}

/// The model that was chosen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Model {
    /// As `provider:model`.
    model: String,
}

/// The thinking level that was chosen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Level {
    /// How many tokens the level stands for; `null` if the model is not to think.
    budget_tokens: Option<u32>,
    /// Whether the model is to think.
    enabled: bool,
    level: String,
}

/// The session and the model.
#[derive(Serialize, JsonSchema)]
pub(super) struct Session<'reply> {
    /// As `provider:model`; empty if none is chosen.
    model: String,
    resources: Resources,
    session_id: &'reply str,
}

/// What was loaded beside the agent itself. There is nothing of the kind here.
#[derive(Serialize, Default, JsonSchema)]
struct Resources {
    #[schemars(with = "Vec<String>")]
    diagnostics: [String; 0],
    #[schemars(with = "Vec<String>")]
    extensions: [String; 0],
    #[schemars(with = "Vec<String>")]
    fragments: [String; 0],
    #[schemars(with = "Vec<String>")]
    packages: [String; 0],
    #[schemars(with = "Vec<String>")]
    skills: [String; 0],
    #[schemars(with = "Vec<String>")]
    themes: [String; 0],
}

/// A compaction that was made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Compaction")]
pub(super) struct SpokenCompaction<'reply> {
    /// The first entry that the model still sees as it was.
    first_kept_entry_id: &'reply str,
    /// What stands for all that came before.
    summary: &'reply str,
    tokens_after: u64,
    tokens_before: u64,
}

impl<'reply> From<&'reply CompactionResult> for SpokenCompaction<'reply> {
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
pub(super) fn ready(schema_version: u32, version: &'static str) -> Vec<u8> {
    json::to_line(&Ready { mode: "rpc", schema_version, r#type: "rpc_ready", version })
}

/// Describes a response.
pub(super) fn shape(generator: &mut SchemaGenerator) -> Schema {
    Response::<()>::json_schema(generator)
}

/// Encodes a response that says yes and no more.
pub(super) fn done(origin: &Origin) -> Vec<u8> {
    respond(origin.id.as_deref(), origin.name, Ok(None))
}

/// Encodes what the dialect says of itself.
pub(super) fn protocol_info(origin: &Origin, protocol: &Protocol) -> Vec<u8> {
    let info = Data::ProtocolInfo(Box::new(protocol.into()));
    respond(origin.id.as_deref(), origin.name, Ok(Some(info)))
}

/// Encodes a response that says no.
pub(super) fn failure(id: Option<&str>, command: &str, error: &str) -> Vec<u8> {
    respond(id, command, Err(error))
}

/// Encodes the answer to a command.
pub(super) fn encode(reply: &Reply) -> Vec<u8> {
    let id = reply.origin.id.as_deref();
    match &reply.result {
        Ok(answer) => respond(id, reply.origin.name, Ok(data(reply, answer))),
        Err(refusal) => {
            let error = worded(reply, refusal.code, &refusal.message);
            failure(id, reply.origin.name, &error)
        }
    }
}

fn respond(id: Option<&str>, command: &str, result: Result<Option<Data<'_>>, &str>) -> Vec<u8> {
    json::to_line(&Response {
        command,
        error: result.as_ref().err().copied(),
        id: id.and_then(|id| serde_json::from_str(id).ok()),
        success: result.is_ok(),
        data: result.ok().flatten(),
        r#type: "response",
    })
}

/// Words a refusal as opi does, by the command that was refused.
fn worded<'a>(reply: &'a Reply, code: RefusalCode, message: &'a str) -> Cow<'a, str> {
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

fn data<'reply>(reply: &'reply Reply, answer: &'reply Answer) -> Option<Data<'reply>> {
    match answer {
        Answer::Model(model) => {
            Some(Data::Model(Model { model: format!("{}:{}", model.provider, model.id) }))
        }
        Answer::Compacted(result) => Some(Data::Compacted((&**result).into())),
        Answer::State(state) => Some(session(state)),
        Answer::Done if reply.origin.name == "set_thinking_level" => Some(level(echoed(reply))),
        _ => None,
    }
}

fn level(level: String) -> Data<'static> {
    let budget_tokens = match level.as_str() {
        "low" => Some(LOW_BUDGET),
        "medium" => Some(MEDIUM_BUDGET),
        "high" => Some(HIGH_BUDGET),
        _ => None,
    };
    Data::Level(Level { budget_tokens, enabled: budget_tokens.is_some(), level })
}

fn session(state: &State) -> Data<'_> {
    let model = state.model.as_ref().map(|model| format!("{}:{}", model.provider, model.id));
    Data::Session(Session {
        model: model.unwrap_or_default(),
        resources: Resources::default(),
        session_id: &state.session_id,
    })
}

/// Returns the field of the command that its answer repeats.
fn echoed(reply: &Reply) -> String {
    reply.origin.echo.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
