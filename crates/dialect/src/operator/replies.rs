//! What answers look like on the wire.

use std::borrow::Cow;
use std::path::Path;

use bowline_core::reply::{Answer, Refusal, RefusalCode, Reply, State};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Form;
use super::events::SpokenCompaction;
use super::messages::{self, Spoken};
use crate::json;

/// What the window of a model is taken for when there is no model.
const DEFAULT_WINDOW: u64 = 200_000;

/// A response; keys in the order of the document, or in that of the code.
#[derive(Serialize)]
#[serde(untagged)]
enum Response<'reply> {
    Document {
        r#type: &'static str,
        command: &'reply str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'reply RawValue>,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Data<'reply>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'reply str>,
    },
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
    Nothing {},
    Switched { cancelled: bool },
    Forked { entry_id: Option<&'reply RawValue>, cancelled: bool },
    Messages { messages: Vec<Spoken<'reply>> },
    LastText { text: Option<&'reply str> },
    State(SpokenState<'reply>),
    Statistics(SpokenStatistics<'reply>),
    Model { model_id: &'reply str, provider: &'reply str },
    Level { level: &'reply RawValue },
    Enabled { enabled: &'reply RawValue },
    Compacted(SpokenCompaction<'reply>),
}

#[derive(Serialize)]
struct SpokenState<'reply> {
    phase: &'static str,
    is_streaming: bool,
    session_file: Option<Cow<'reply, str>>,
    session_id: &'reply str,
    session_name: Option<&'reply str>,
    context_tokens: u64,
    context_window: u64,
    message_count: usize,
    model_id: Option<&'reply str>,
    provider: Option<&'reply str>,
    thinking_level: &'static str,
    pending_message_count: usize,
}

#[derive(Serialize)]
struct SpokenStatistics<'reply> {
    session_id: &'reply str,
    session_name: Option<&'reply str>,
    entry_count: usize,
    context_tokens: u64,
    context_window: u64,
}

/// Encodes the answer to a command.
pub(super) fn encode(form: Form, reply: &Reply) -> Vec<u8> {
    let id = reply.origin.id.as_deref();
    match &reply.result {
        Ok(answer) => {
            let data = data(reply, answer);
            respond(form, id, reply.origin.name, Ok(data))
        }
        Err(refusal) => failure(form, id, reply.origin.name, &worded(refusal)),
    }
}

/// Encodes a response that says no.
pub(super) fn failure(form: Form, id: Option<&str>, command: &str, error: &str) -> Vec<u8> {
    respond(form, id, command, Err(error))
}

fn respond(form: Form, id: Option<&str>, command: &str, result: Result<Data<'_>, &str>) -> Vec<u8> {
    let id = id.filter(|id| *id != "null").and_then(|id| serde_json::from_str(id).ok());
    let (success, error) = (result.is_ok(), result.as_ref().err().copied());
    let r#type = "response";
    json::to_line(&match form {
        Form::Document => Response::Document { r#type, command, id, success, data: result.ok(), error },
        Form::Code => {
            let data = result.ok().filter(|data| !matches!(data, Data::Nothing {}));
            Response::Code { r#type, command, success, error, id, data }
        }
    })
}

/// Words a refusal as the code does, where it has words for it.
fn worded(refusal: &Refusal) -> Cow<'_, str> {
    match refusal.code {
        RefusalCode::Busy => "Agent is busy (phase=turn)".into(),
        RefusalCode::Compacting => "Agent is busy (phase=compaction)".into(),
        _ => (&*refusal.message).into(),
    }
}

fn data<'reply>(reply: &'reply Reply, answer: &'reply Answer) -> Data<'reply> {
    let echo = || reply.origin.echo.as_deref().and_then(|text| serde_json::from_str(text).ok());
    match answer {
        Answer::SessionSwitched => Data::Switched { cancelled: false },
        Answer::Forked { .. } => Data::Forked { entry_id: echo(), cancelled: false },
        Answer::Messages(messages) => Data::Messages { messages: messages::conversation(messages) },
        Answer::LastAssistantText(text) => Data::LastText { text: text.as_deref() },
        Answer::State(state) if reply.origin.name == "get_session_stats" => {
            Data::Statistics(statistics(state))
        }
        Answer::State(state) => Data::State(spoken_state(state)),
        Answer::Model(model) => Data::Model { model_id: &model.id, provider: &model.provider },
        Answer::Compacted(result) => Data::Compacted((&**result).into()),
        Answer::Done => match (reply.origin.name, echo()) {
            ("set_thinking_level", Some(level)) => Data::Level { level },
            ("set_auto_compaction", Some(enabled)) => Data::Enabled { enabled },
            _ => Data::Nothing {},
        },
        // What no command of this dialect asks for.
        _ => Data::Nothing {},
    }
}

fn spoken_state(state: &State) -> SpokenState<'_> {
    let phase = match (state.is_compacting, state.is_streaming) {
        (true, _) => "compaction",
        (false, true) => "turn",
        (false, false) => "idle",
    };
    SpokenState {
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

fn statistics(state: &State) -> SpokenStatistics<'_> {
    SpokenStatistics {
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
