//! What goes along with the answers to commands, as `pi` has it; a dialect may have something else for some of them.

use std::borrow::Cow;
use std::path::Path;

use bowline_core::model::Model;
use bowline_core::reply::{
    Answer, ContextUsage, Disposition, ForkMessage, ModelUsage, SessionStatistics, SessionSummary,
    ShellResult, SlashCommand, State,
};
use serde::Serialize;

use super::answers::{
    Accepted, Commands, CommonState, CycledModel, Entries, Exported, ForkMessages, Forked, LastText, Level,
    Levels, Messages, Models, Navigated, Queues, Sessions, SpokenCommand, SpokenContext, SpokenForkMessage,
    SpokenModelUsage, SpokenSession, SpokenShell, SpokenState, SpokenStatistics, SpokenTokens, Switched,
    Tree, Written,
};
use super::records::SpokenCompaction;
use super::state_parts::StateParts;

/// What goes along with an answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Data<'reply> {
    Nothing,
    Accepted(Accepted),
    Queues(Queues<'reply>),
    State(SpokenState<'reply>),
    Messages(Messages<'reply>),
    Commands(Commands<'reply>),
    Model(&'reply Model),
    CycledModel(CycledModel<'reply>),
    Models(Models<'reply>),
    Level(Level),
    Levels(Levels<'reply>),
    Shell(SpokenShell<'reply>),
    Switched(Switched),
    Statistics(SpokenStatistics<'reply>),
    LastText(LastText<'reply>),
    Compacted(SpokenCompaction<'reply>),
    Forked(Forked<'reply>),
    ForkMessages(ForkMessages<'reply>),
    Entries(Entries<'reply>),
    Tree(Tree<'reply>),
    Navigated(Navigated<'reply>),
    Written(Written<'reply>),
    Sessions(Sessions<'reply>),
    Exported(Exported<'reply>),
}

/// Returns what goes along with an answer: nothing at all, or `null`, or an object, as pi has it.
pub(crate) fn data<'reply>(answer: &'reply Answer, parts: &'reply mut StateParts) -> Option<Data<'reply>> {
    Some(match answer {
        Answer::Done => return None,
        Answer::Accepted(disposition) => Data::Accepted(Accepted {
            disposition: match disposition {
                Disposition::Started => "started",
                Disposition::Queued => "queued",
            },
        }),
        // Only a dialect with several sessions, or with prompts that are answered late, is given these.
        Answer::RunOver(_) | Answer::SessionOpened { .. } => return None,
        Answer::Cleared { steering, follow_up } => Data::Queues(Queues { steering, follow_up }),
        Answer::State(state) => Data::State(spoken_state(state, parts)),
        Answer::Messages(messages) => Data::Messages(Messages { messages }),
        Answer::Commands(commands) => {
            Data::Commands(Commands { commands: commands.iter().map(spoken_command).collect() })
        }
        Answer::Model(model) => Data::Model(model),
        Answer::CycledModel(None) | Answer::CycledThinkingLevel(None) => Data::Nothing,
        Answer::CycledModel(Some(cycled)) => Data::CycledModel(CycledModel {
            model: &cycled.model,
            thinking_level: cycled.thinking_level,
            is_scoped: cycled.is_scoped,
        }),
        Answer::Models(models) => Data::Models(Models { models }),
        Answer::CycledThinkingLevel(Some(level)) => Data::Level(Level { level: *level }),
        Answer::ThinkingLevels(levels) => Data::Levels(Levels { levels }),
        Answer::Shell(result) => Data::Shell(spoken_shell(result)),
        Answer::SessionSwitched => Data::Switched(Switched { cancelled: false }),
        Answer::Statistics(statistics) => Data::Statistics(spoken_statistics(statistics)),
        Answer::LastAssistantText(text) => Data::LastText(LastText { text: text.as_deref() }),
        Answer::Compacted(result) => Data::Compacted((&**result).into()),
        Answer::Forked { text } => Data::Forked(Forked { text, cancelled: false }),
        Answer::ForkMessages(messages) => {
            Data::ForkMessages(ForkMessages { messages: messages.iter().map(spoken_fork_message).collect() })
        }
        Answer::Entries { entries, leaf } => Data::Entries(Entries { entries, leaf_id: leaf.as_deref() }),
        Answer::Tree { roots, leaf } => Data::Tree(Tree { tree: roots, leaf_id: leaf.as_deref() }),
        Answer::Navigated(navigated) => Data::Navigated(Navigated {
            leaf_id: navigated.leaf.as_deref(),
            text: navigated.text.as_deref(),
            summary_entry_id: navigated.summary_entry.as_deref(),
            cancelled: false,
        }),
        Answer::Written { entry } => Data::Written(Written { entry_id: entry }),
        Answer::Sessions(page) => Data::Sessions(Sessions {
            sessions: page.sessions.iter().map(spoken_session).collect(),
            next_cursor: page.next_cursor.as_deref(),
        }),
        Answer::Exported { path } => Data::Exported(Exported { path: path.to_string_lossy() }),
    })
}

fn spoken_command(command: &SlashCommand) -> SpokenCommand<'_> {
    SpokenCommand { name: &command.name, description: command.description.as_deref(), source: command.source }
}

fn spoken_fork_message(message: &ForkMessage) -> SpokenForkMessage<'_> {
    SpokenForkMessage { entry_id: &message.entry, text: &message.text }
}

impl<'reply> CommonState<'reply> {
    pub fn new(state: &'reply State, parts: &'reply StateParts) -> Self {
        Self {
            model: parts.model(),
            thinking_level: state.thinking_level,
            is_streaming: state.is_streaming,
            is_compacting: state.is_compacting,
            steering_mode: state.steering_mode.as_str(),
            follow_up_mode: state.follow_up_mode.as_str(),
            session_file: parts.session_file(),
            session_id: &state.session_id,
            session_name: state.session_name.as_deref(),
            auto_compaction_enabled: state.auto_compaction,
            message_count: state.message_count,
        }
    }
}

fn spoken_state<'reply>(state: &'reply State, parts: &'reply mut StateParts) -> SpokenState<'reply> {
    let parts = parts.follow(state);
    SpokenState {
        common: CommonState::new(state, parts),
        pending_message_count: state.pending_message_count,
        auto_retry_enabled: state.auto_retry,
        tools: parts.tools(),
        cwd: parts.working_directory(),
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
