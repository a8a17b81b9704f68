//! What goes along with the answers to commands, as `pi` has it; a dialect may have something else for some of them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::reply::{
    Answer, ContextUsage, CycledModel, Disposition, ModelUsage, SessionStatistics, SessionSummary,
    ShellResult, State,
};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::{Usage, plain_number};
use serde::Serialize;
use serde_json::value::RawValue;

use super::records::SpokenCompaction;

/// What goes along with an answer.
#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum Data<'reply> {
    Nothing,
    Accepted {
        disposition: &'static str,
    },
    Queues {
        steering: &'reply [String],
        follow_up: &'reply [String],
    },
    State(SpokenState<'reply>),
    Messages {
        messages: &'reply [Arc<Message>],
    },
    Commands {
        commands: Vec<SpokenCommand<'reply>>,
    },
    Model(&'reply Model),
    CycledModel {
        model: &'reply Model,
        thinking_level: ThinkingLevel,
        is_scoped: bool,
    },
    Models {
        models: &'reply [Arc<Model>],
    },
    Level {
        level: ThinkingLevel,
    },
    Levels {
        levels: &'reply [ThinkingLevel],
    },
    Shell(SpokenShell<'reply>),
    Switched {
        cancelled: bool,
    },
    Statistics(SpokenStatistics<'reply>),
    LastText {
        text: Option<&'reply str>,
    },
    Compacted(SpokenCompaction<'reply>),
    Forked {
        text: &'reply str,
        cancelled: bool,
    },
    ForkMessages {
        messages: Vec<SpokenForkMessage<'reply>>,
    },
    Entries {
        entries: &'reply [Box<RawValue>],
        leaf_id: Option<&'reply str>,
    },
    Tree {
        tree: &'reply RawValue,
        leaf_id: Option<&'reply str>,
    },
    Navigated {
        leaf_id: Option<&'reply str>,
        text: Option<&'reply str>,
        summary_entry_id: Option<&'reply str>,
        cancelled: bool,
    },
    Written {
        entry_id: &'reply str,
    },
    Sessions {
        sessions: Vec<SpokenSession<'reply>>,
        next_cursor: Option<&'reply str>,
    },
    Exported {
        path: Cow<'reply, str>,
    },
}

/// What every dialect tells of the state.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommonState<'reply> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'reply RawValue>,
    thinking_level: ThinkingLevel,
    is_streaming: bool,
    is_compacting: bool,
    steering_mode: &'static str,
    follow_up_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'reply, str>>,
    session_id: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<&'reply str>,
    auto_compaction_enabled: bool,
    message_count: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenState<'reply> {
    #[serde(flatten)]
    common: CommonState<'reply>,
    pending_message_count: usize,
    auto_retry_enabled: bool,
    tools: &'reply [String],
    cwd: Cow<'reply, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<SpokenContext>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenForkMessage<'reply> {
    entry_id: &'reply str,
    text: &'reply str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenSession<'reply> {
    id: &'reply str,
    path: Cow<'reply, str>,
    cwd: Cow<'reply, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'reply str>,
    first_message: &'reply str,
    message_count: u64,
    created: &'reply str,
    modified: u64,
}

#[derive(Serialize)]
pub(crate) struct SpokenCommand<'reply> {
    name: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'reply str>,
    source: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenShell<'reply> {
    pub output: Cow<'reply, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_path: Option<&'reply str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenStatistics<'reply> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<Cow<'reply, str>>,
    session_id: &'reply str,
    user_messages: u64,
    assistant_messages: u64,
    tool_calls: u64,
    tool_results: u64,
    total_messages: u64,
    tokens: SpokenTokens,
    #[serde(serialize_with = "plain_number")]
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<SpokenContext>,
    by_model: Vec<SpokenModelUsage<'reply>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenModelUsage<'reply> {
    provider: &'reply str,
    model: &'reply str,
    assistant_messages: u64,
    usage: &'reply Usage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenTokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenContext {
    tokens: Option<u64>,
    context_window: u64,
    percent: Option<f64>,
}

/// Returns what goes along with an answer: nothing at all, or `null`, or an object, as pi has it.
pub(crate) fn data<'reply>(
    answer: &'reply Answer,
    written: &'reply mut WrittenModel,
) -> Option<Data<'reply>> {
    Some(match answer {
        Answer::Done => return None,
        Answer::Accepted(disposition) => Data::Accepted {
            disposition: match disposition {
                Disposition::Started => "started",
                Disposition::Queued => "queued",
            },
        },
        Answer::Cleared { steering, follow_up } => Data::Queues { steering, follow_up },
        Answer::State(state) => Data::State(spoken_state(state, written)),
        Answer::Messages(messages) => Data::Messages { messages },
        Answer::Commands(commands) => {
            let spoken = commands.iter().map(|command| SpokenCommand {
                name: &command.name,
                description: command.description.as_deref(),
                source: command.source,
            });
            Data::Commands { commands: spoken.collect() }
        }
        Answer::Model(model) => Data::Model(model),
        Answer::CycledModel(None) | Answer::CycledThinkingLevel(None) => Data::Nothing,
        Answer::CycledModel(Some(CycledModel { model, thinking_level, is_scoped })) => {
            Data::CycledModel { model, thinking_level: *thinking_level, is_scoped: *is_scoped }
        }
        Answer::Models(models) => Data::Models { models },
        Answer::CycledThinkingLevel(Some(level)) => Data::Level { level: *level },
        Answer::ThinkingLevels(levels) => Data::Levels { levels },
        Answer::Shell(result) => Data::Shell(spoken_shell(result)),
        Answer::SessionSwitched => Data::Switched { cancelled: false },
        Answer::Statistics(statistics) => Data::Statistics(spoken_statistics(statistics)),
        Answer::LastAssistantText(text) => Data::LastText { text: text.as_deref() },
        Answer::Compacted(result) => Data::Compacted((&**result).into()),
        Answer::Forked { text } => Data::Forked { text, cancelled: false },
        Answer::ForkMessages(messages) => {
            let spoken = messages
                .iter()
                .map(|message| SpokenForkMessage { entry_id: &message.entry, text: &message.text });
            Data::ForkMessages { messages: spoken.collect() }
        }
        Answer::Entries { entries, leaf } => Data::Entries { entries, leaf_id: leaf.as_deref() },
        Answer::Tree { roots, leaf } => Data::Tree { tree: roots, leaf_id: leaf.as_deref() },
        Answer::Navigated(navigated) => Data::Navigated {
            leaf_id: navigated.leaf.as_deref(),
            text: navigated.text.as_deref(),
            summary_entry_id: navigated.summary_entry.as_deref(),
            cancelled: false,
        },
        Answer::Written { entry } => Data::Written { entry_id: entry },
        Answer::Sessions(page) => Data::Sessions {
            sessions: page.sessions.iter().map(spoken_session).collect(),
            next_cursor: page.next_cursor.as_deref(),
        },
        Answer::Exported { path } => Data::Exported { path: path.to_string_lossy() },
    })
}

/// The model that was written down last. It is a good part of every state, and seldom another one.
#[derive(Debug, Default)]
pub(crate) struct WrittenModel(Option<(Arc<Model>, Box<RawValue>)>);

impl WrittenModel {
    fn json(&mut self, model: &Arc<Model>) -> Option<&RawValue> {
        if !self.0.as_ref().is_some_and(|(written, _)| Arc::ptr_eq(written, model)) {
            self.0 = serde_json::value::to_raw_value(&**model).ok().map(|json| (Arc::clone(model), json));
        }
        self.0.as_ref().map(|(_, json)| &**json)
    }
}

impl<'reply> CommonState<'reply> {
    pub fn new(state: &'reply State, written: &'reply mut WrittenModel) -> Self {
        Self {
            model: state.model.as_ref().and_then(|model| written.json(model)),
            thinking_level: state.thinking_level,
            is_streaming: state.is_streaming,
            is_compacting: state.is_compacting,
            steering_mode: state.steering_mode.as_str(),
            follow_up_mode: state.follow_up_mode.as_str(),
            session_file: state.session_file.as_deref().map(Path::to_string_lossy),
            session_id: &state.session_id,
            session_name: state.session_name.as_deref(),
            auto_compaction_enabled: state.auto_compaction,
            message_count: state.message_count,
        }
    }
}

fn spoken_state<'reply>(state: &'reply State, written: &'reply mut WrittenModel) -> SpokenState<'reply> {
    SpokenState {
        common: CommonState::new(state, written),
        pending_message_count: state.pending_message_count,
        auto_retry_enabled: state.auto_retry,
        tools: &state.tools,
        cwd: state.working_directory.to_string_lossy(),
        context_usage: state.context.as_ref().map(spoken_context),
    }
}

fn spoken_session(session: &SessionSummary) -> SpokenSession<'_> {
    SpokenSession {
        id: &session.id,
        path: session.path.to_string_lossy(),
        cwd: session.working_directory.to_string_lossy(),
        name: session.name.as_deref(),
        first_message: &session.first_message,
        message_count: session.message_count,
        created: &session.created,
        modified: session.modified,
    }
}

pub(crate) fn spoken_shell(result: &ShellResult) -> SpokenShell<'_> {
    SpokenShell {
        output: Cow::Borrowed(&result.output),
        exit_code: result.exit_code,
        cancelled: result.cancelled,
        truncated: result.truncated,
        full_output_path: result.full_output_path.as_deref(),
    }
}

fn spoken_statistics(statistics: &SessionStatistics) -> SpokenStatistics<'_> {
    let usage = &statistics.usage;
    SpokenStatistics {
        session_file: statistics.session_file.as_deref().map(Path::to_string_lossy),
        session_id: &statistics.session_id,
        user_messages: statistics.user_messages,
        assistant_messages: statistics.assistant_messages,
        tool_calls: statistics.tool_calls,
        tool_results: statistics.tool_results,
        total_messages: statistics.total_messages,
        tokens: SpokenTokens {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.input + usage.output + usage.cache_read + usage.cache_write,
        },
        cost: usage.cost.total,
        context_usage: statistics.context.as_ref().map(spoken_context),
        by_model: statistics.by_model.iter().map(spoken_model_usage).collect(),
    }
}

fn spoken_model_usage(figures: &ModelUsage) -> SpokenModelUsage<'_> {
    SpokenModelUsage {
        provider: &figures.provider,
        model: &figures.model,
        assistant_messages: figures.answers,
        usage: &figures.usage,
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(crate) fn spoken_context(context: &ContextUsage) -> SpokenContext {
    let percent = context.tokens.map(|tokens| tokens as f64 * 100.0 / context.window.max(1) as f64);
    SpokenContext { tokens: context.tokens, context_window: context.window, percent }
}
