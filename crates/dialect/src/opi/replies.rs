//! What answers look like on the wire.

use std::borrow::Cow;

use bowline_core::event::CompactionResult;
use bowline_core::reply::{Answer, RefusalCode, Reply, State};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json;

/// The budget that `medium` stands for, and the least for `high`, in tokens.
const LOW_BUDGET: u32 = 2_048;
const MEDIUM_BUDGET: u32 = 10_000;
const HIGH_BUDGET: u32 = 20_000;

/// The first record. Keys are as opi's source has them, in the order it sends them.
#[derive(Serialize)]
struct Ready {
    mode: &'static str,
    schema_version: u32,
    r#type: &'static str,
    version: &'static str,
}

/// A response; keys in alphabetical order.
#[derive(Serialize)]
struct Response<'reply> {
    command: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data<'reply>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'reply RawValue>,
    success: bool,
    r#type: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'reply> {
    Model { model: String },
    Level { budget_tokens: Option<u32>, enabled: bool, level: String },
    Compacted(SpokenCompaction<'reply>),
    Session { model: String, resources: Resources, session_id: &'reply str },
}

/// What was loaded beside the agent itself. There is nothing of the kind here.
#[derive(Serialize, Default)]
struct Resources {
    diagnostics: [String; 0],
    extensions: [String; 0],
    fragments: [String; 0],
    packages: [String; 0],
    skills: [String; 0],
    themes: [String; 0],
}

/// A compaction that was made.
#[derive(Serialize)]
pub(super) struct SpokenCompaction<'reply> {
    first_kept_entry_id: &'reply str,
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

/// Encodes a response that says yes and no more.
pub(super) fn done(id: Option<&str>, command: &str) -> Vec<u8> {
    respond(id, command, Ok(None))
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
        Answer::Model(model) => Some(Data::Model { model: format!("{}:{}", model.provider, model.id) }),
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
    Data::Level { budget_tokens, enabled: budget_tokens.is_some(), level }
}

fn session(state: &State) -> Data<'_> {
    let model = state.model.as_ref().map(|model| format!("{}:{}", model.provider, model.id));
    Data::Session {
        model: model.unwrap_or_default(),
        resources: Resources::default(),
        session_id: &state.session_id,
    }
}

/// Returns the field of the command that its answer repeats.
fn echoed(reply: &Reply) -> String {
    reply.origin.echo.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
